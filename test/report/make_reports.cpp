// make_reports OUT_DIR TARGET FILE...: writes the report of each file; of small programs with a
// variant for one size of their first free dim. For validate.py.
#include "compile.h"
#include "rewrite/specialize.h"
#include <cstdio>
#include <fstream>
#include <sstream>

int main(int count, char** words) {
  if (count < 4) return 2;
  std::string folder = words[1], target = words[2];
  for (int i = 3; i < count; ++i) {
    std::string path = words[i];
    std::ifstream in(path);
    std::ostringstream text;
    text << in.rdbuf();
    std::string name = path.substr(path.find_last_of('/') + 1), messages;
    auto compiled = tang::report::test::compile(name, text.str(), target, messages);
    if (!compiled) {
      std::fprintf(stderr, "%s: %s\n", path.c_str(), messages.c_str());
      return 1;
    }
    std::vector<tang::report::ReportInput> variants;
    tang::report::test::Compiled special;
    auto dims = compiled->elaborated.dims;
    if (!dims.empty() && compiled->elaborated.nodes.size() < 10) {
      dims[0].lo = dims[0].hi;
      special.sources = compiled->sources, special.target = compiled->target;
      special.elaborated = tang::rewrite::specialize(compiled->elaborated, dims);
      tang::report::test::compile(special, 2);
      variants.push_back(special.input());
    }
    variants.push_back(compiled->input());
    std::ofstream(folder + "/" + name + "." + target + ".sol.json")
        << tang::report::report_json(variants);
  }
}
