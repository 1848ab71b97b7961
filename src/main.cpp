#include "driver/driver.h"

int main(int argc, char** argv) {
  return tang::driver::run(std::vector<std::string>(argv + (argc > 0), argv + argc));
}
