#include "driver/toolchain.h"
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <poll.h>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

namespace tang::driver {

namespace {

/// How sources of one kind become a program. `flags` come before the files, `libraries` behind.
struct Toolchain {
  std::string_view extension;
  std::vector<std::string_view> compilers, flags, libraries;
};

const Toolchain* toolchain_of(const targets::Target& target) {
  static const Toolchain rows[] = {
      {".c", {"cc", "gcc", "clang"}, {"-std=c11", "-O2"}, {"-lm"}},
      {".cu", {"nvcc"}, {"-std=c++17", "-O2"}, {}},
      {".cl", {"cc", "gcc", "clang"}, {"-std=c11", "-O2"}, {"-lOpenCL", "-lm"}},
  };
  for (const Toolchain& row : rows)
    if (row.extension == target.extension) return &row;
  return nullptr;
}

bool is_program(const std::string& path) {
  return ::access(path.c_str(), X_OK) == 0 && !std::filesystem::is_directory(path);
}

bool can_run(std::string_view name) {
  if (name.find('/') != name.npos) return is_program(std::string(name));
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (is_program((folder.empty() ? "." : folder) + "/" + std::string(name))) return true;
  return false;
}

/// The signal that wants to end the process while a temporary folder lives; 0 for none.
volatile std::sig_atomic_t ending = 0;

extern "C" void on_end(int signal) {
  ending = signal;
}

/// Whether there is something to read, which a signal may keep from coming.
bool wait_for_output(int fd) {
  constexpr int milliseconds = 100;
  pollfd wanted{fd, POLLIN, 0};
  while (ending == 0)
    if (::poll(&wanted, 1, milliseconds) > 0) return true;
  return false;
}

[[noreturn]] void become(const std::vector<std::string>& words, const std::string& folder,
                         int out) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(out, STDERR_FILENO);
  ::signal(SIGPIPE, SIG_DFL);
  ::setpgid(0, 0); // so that what a compiler starts is stopped with it
  if (::chdir(folder.c_str()) == 0) ::execvp(arguments[0], arguments.data());
  ::_exit(127);
}

} // namespace

Finished run_program(const std::vector<std::string>& words, const std::string& folder) {
  Finished result;
  if (ending != 0) return result;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return result;
  pid_t child = ::fork();
  if (child == 0) become(words, folder, ends[1]);
  ::close(ends[1]);
  char buffer[4096];
  while (child > 0 && wait_for_output(ends[0])) {
    ssize_t n = ::read(ends[0], buffer, sizeof buffer);
    if (n > 0)
      result.output.append(buffer, static_cast<size_t>(n));
    else if (n == 0 || errno != EINTR)
      break;
  }
  ::close(ends[0]);
  if (child > 0 && ending != 0) ::kill(-child, SIGKILL), ::kill(child, SIGKILL);
  int status = 0;
  pid_t ended = -1;
  while (child > 0 && (ended = ::waitpid(child, &status, 0)) < 0 && errno == EINTR) {
  }
  if (ended != child) return result;
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

std::vector<std::string> build_command(const targets::Target& target, const std::string& compiler,
                                       const std::vector<std::string>& sources,
                                       const std::string& program, std::string& missing) {
  const Toolchain* row = toolchain_of(target);
  if (!row) {
    missing = fmt::format("a compiler for `{}` files", target.extension);
    return {};
  }
  std::vector<std::string_view> candidates = row->compilers;
  if (!compiler.empty()) candidates = {compiler};
  std::string_view found;
  for (std::string_view name : candidates)
    if (found.empty() && can_run(name)) found = name;
  if (found.empty()) {
    missing = fmt::format("`{}`", fmt::join(candidates, "`, `"));
    return {};
  }
  std::vector<std::string> words{std::string(found)};
  words.insert(words.end(), row->flags.begin(), row->flags.end());
  std::istringstream flags(target.compile_flags);
  for (std::string flag; flags >> flag;) words.push_back(flag);
  words.insert(words.end(), sources.begin(), sources.end());
  words.insert(words.end(), {"-o", program});
  words.insert(words.end(), row->libraries.begin(), row->libraries.end());
  return words;
}

TemporaryFolder::TemporaryFolder() {
  struct sigaction action {};
  action.sa_handler = on_end;
  for (size_t i = 0; i < std::size(signals); ++i) {
    ::sigaction(signals[i], nullptr, &before_[i]);
    // What is ignored stays so: nohup.
    if (before_[i].sa_handler != SIG_IGN) ::sigaction(signals[i], &action, nullptr);
  }
  const char* base = std::getenv("TMPDIR");
  std::string pattern = fmt::format("{}/tangc-XXXXXX", base && *base ? base : "/tmp");
  if (::mkdtemp(pattern.data())) path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  for (size_t i = 0; i < std::size(signals); ++i) ::sigaction(signals[i], &before_[i], nullptr);
  if (ending != 0) ::raise(ending);
}

} // namespace tang::driver
