#include "driver/files.h"
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace tang::driver {

namespace {

/// What a program, a response file or a schedule may take; a device may never end.
constexpr size_t most_bytes = size_t{64} << 20;

/// Reads to the end. False (errno is set) on failure.
bool read_all(int fd, std::string& text) {
  char buffer[1 << 16];
  while (true) {
    ssize_t n = ::read(fd, buffer, sizeof buffer);
    if (n == 0) return true;
    if (n > 0 && text.size() + static_cast<size_t>(n) > most_bytes) {
      errno = EFBIG;
      return false;
    }
    if (n > 0)
      text.append(buffer, static_cast<size_t>(n));
    else if (errno != EINTR)
      return false;
  }
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    text.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

/// Beside the file, hidden, and of this process alone.
std::string temporary_name(const std::string& path) {
  static std::atomic<unsigned> count = 0;
  size_t slash = path.rfind('/') + 1; // npos + 1 is 0
  return path.substr(0, slash) + "." + path.substr(slash).substr(0, 200) + ".tangc-" +
         std::to_string(::getpid()) + "-" + std::to_string(count++);
}

} // namespace

bool is_there(const std::string& path) {
  return ::access(path.c_str(), F_OK) == 0;
}

std::string last_error() {
  return std::strerror(errno);
}

std::optional<std::string> read_file(const std::string& path) {
  std::string text;
  if (path == "-") return read_all(STDIN_FILENO, text) ? std::optional(text) : std::nullopt;
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  bool good = read_all(fd, text);
  int error = errno;
  ::close(fd);
  errno = error;
  return good ? std::optional(std::move(text)) : std::nullopt;
}

std::string resolve_links(const std::string& path) {
  std::error_code error;
  std::filesystem::path at = path;
  for (int i = 0; i < 40 && std::filesystem::is_symlink(at, error); ++i) {
    auto to = std::filesystem::read_symlink(at, error);
    if (error) break;
    at = to.is_absolute() ? to : at.parent_path() / to;
  }
  return at.string();
}

std::optional<PendingFile> PendingFile::write(const std::string& path, std::string_view text) {
  PendingFile file;
  file.path_ = resolve_links(path);
  size_t slash = file.path_.rfind('/');
  std::string folder = slash == file.path_.npos ? "." : file.path_.substr(0, slash + 1);
  file.fd_ = ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  if (file.fd_ < 0) {
    file.temporary_ = temporary_name(file.path_);
    file.fd_ = ::open(file.temporary_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
    if (file.fd_ < 0) {
      file.temporary_.clear();
      return std::nullopt;
    }
  }
  if (!write_all(file.fd_, text)) return std::nullopt;
  return file;
}

PendingFile::PendingFile(PendingFile&& other) noexcept
    : path_(std::move(other.path_)), temporary_(std::exchange(other.temporary_, {})),
      fd_(std::exchange(other.fd_, -1)) {}

PendingFile::~PendingFile() {
  int error = errno;
  if (fd_ >= 0) ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  errno = error;
}

bool PendingFile::commit() {
  if (temporary_.empty()) {
    // A link cannot replace a file, so an unnamed one gets a temporary name for a moment.
    std::string name = temporary_name(path_), self = "/proc/self/fd/" + std::to_string(fd_);
    if (::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) != 0)
      return false;
    temporary_ = name;
  }
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) return false;
  temporary_.clear();
  return true;
}

bool make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path.empty() ? "." : path, error);
  if (error && !std::filesystem::is_directory(path)) {
    errno = error.value();
    return false;
  }
  return true;
}

void write_dump(const std::string& path, std::string_view text) {
  make_folder(std::filesystem::path(path).parent_path().string());
  if (auto file = PendingFile::write(path, text); file && file->commit()) return;
  write_stderr("tangc: cannot write the dump " + path + ": " + last_error() + "\n");
}

bool write_in_place(const std::string& path, std::string_view text) {
  int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  bool good = write_all(fd, text);
  int error = errno;
  ::close(fd);
  errno = error;
  return good;
}

bool write_stdout(std::string_view text) {
  return write_all(STDOUT_FILENO, text);
}

void write_stderr(std::string_view text) {
  write_all(STDERR_FILENO, text);
}

} // namespace tang::driver
