#include "run_c.h"
#include "driver/files.h"
#include "driver/toolchain.h"
#include <csetjmp>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>
#ifdef TANGC_TINYCC
#include <libtcc.h>
#endif

namespace tang::fuzz {

namespace {

constexpr size_t alignment = 16, before = 64;
constexpr uint8_t watch = 0xa5;

class SharedObject : public CompiledC {
public:
  explicit SharedObject(void* handle) : handle_(handle) {}
  ~SharedObject() override { dlclose(handle_); }
  void* symbol(const std::string& name) override { return dlsym(handle_, name.c_str()); }

private:
  void* handle_;
};

#ifdef TANGC_TINYCC
class InMemory : public CompiledC {
public:
  InMemory() : state_(tcc_new()) {}
  ~InMemory() override { tcc_delete(state_); }
  bool compile(const std::string& source, std::string& error) {
    tcc_set_error_func(state_, &error, [](void* text, const char* message) {
      *static_cast<std::string*>(text) += std::string(message) + "\n";
    });
    tcc_set_options(state_, "-std=c11 -w");
    tcc_set_output_type(state_, TCC_OUTPUT_MEMORY);
    return tcc_compile_string(state_, source.c_str()) == 0 && tcc_add_library(state_, "m") == 0 &&
           tcc_relocate(state_, TCC_RELOCATE_AUTO) == 0;
  }
  void* symbol(const std::string& name) override { return tcc_get_symbol(state_, name.c_str()); }

private:
  TCCState* state_;
};
#endif

sigjmp_buf after_signal;

extern "C" void leave_call(int) {
  siglongjmp(after_signal, 1);
}

} // namespace

std::unique_ptr<CompiledC> CompiledC::compile(const std::string& source, std::string& error) {
#ifdef TANGC_TINYCC
  auto unit = std::make_unique<InMemory>();
  if (!unit->compile(source, error)) return nullptr;
  return unit;
#else
  return compile_with_cc(source, error);
#endif
}

std::unique_ptr<CompiledC> CompiledC::compile_with_cc(const std::string& source,
                                                      std::string& error) {
  driver::TemporaryFolder folder;
  std::FILE* file = std::fopen((folder.path() + "/a.c").c_str(), "w");
  if (!file) {
    error = "cannot write to " + folder.path();
    return nullptr;
  }
  std::fputs(source.c_str(), file);
  std::fclose(file);
  auto done = driver::run_program(
      {"cc", "-std=c11", "-O2", "-w", "-shared", "-fPIC", "a.c", "-o", "a.so", "-lm"},
      folder.path());
  error = done.output;
  if (done.code != 0) return nullptr;
  void* handle = dlopen((folder.path() + "/a.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) error = dlerror();
  return handle ? std::make_unique<SharedObject>(handle) : nullptr;
}

GuardedBuffer::GuardedBuffer(size_t bytes) : bytes_(bytes) {
  size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  size_t aligned = (bytes + alignment - 1) / alignment * alignment;
  size_t inner = (before + aligned + page - 1) / page * page;
  mapped_ = inner + 2 * page;
  void* pages = mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) std::abort();
  pages_ = static_cast<uint8_t*>(pages);
  mprotect(pages_ + page, inner, PROT_READ | PROT_WRITE);
  data_ = pages_ + page + inner - aligned;
  std::memset(data_ - before, watch, before + aligned);
}

GuardedBuffer::~GuardedBuffer() {
  munmap(pages_, mapped_);
}

bool GuardedBuffer::intact() const {
  size_t behind = (alignment - bytes_ % alignment) % alignment;
  for (size_t i = 1; i <= before; ++i)
    if (data_[-static_cast<std::ptrdiff_t>(i)] != watch) return false;
  for (size_t i = 0; i < behind; ++i)
    if (data_[bytes_ + i] != watch) return false;
  return true;
}

bool call_guarded(void (*f)(void*), void* context) {
  constexpr int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGVTALRM};
  struct sigaction handler {
  }, old[4];
  handler.sa_handler = leave_call;
  handler.sa_flags = SA_NODEFER;
  for (int i = 0; i < 4; ++i) sigaction(signals[i], &handler, &old[i]);
  const itimerval limit{{0, 0}, {5, 0}}, off{};
  volatile bool ok = false;
  if (sigsetjmp(after_signal, 1) == 0) {
    setitimer(ITIMER_VIRTUAL, &limit, nullptr);
    f(context);
    ok = true;
  }
  setitimer(ITIMER_VIRTUAL, &off, nullptr);
  for (int i = 0; i < 4; ++i) sigaction(signals[i], &old[i], nullptr);
  return ok;
}

} // namespace tang::fuzz
