#pragma once
// Whole files in and out. Nothing here reports: callers know what a failure means.
#include <optional>
#include <string>
#include <string_view>

namespace tang::driver {

/// The bytes of a file, or of standard input for `-`. Empty when it cannot be read (`last_error`);
/// a folder cannot.
std::optional<std::string> read_file(const std::string& path);

/// Why the last call of this header failed, in the system's words.
std::string last_error();
/// Whether a file or folder of this name exists.
bool is_there(const std::string& path);

/// What a path names after following symbolic links, also where the last one leads to nothing yet.
std::string resolve_links(const std::string& path);

/// A file with a complete text that has no name yet. Where the file system cannot hold files
/// without one, it has a temporary name in the same folder until then.
class PendingFile {
public:
  /// Empty (`last_error`) when it cannot be written.
  static std::optional<PendingFile> write(const std::string& path, std::string_view text);
  PendingFile(PendingFile&& other) noexcept;
  PendingFile& operator=(PendingFile&&) = delete;
  ~PendingFile();
  /// Gives it its name, replacing what has it; false (`last_error`) on failure.
  bool commit();

private:
  PendingFile() = default;
  std::string path_, temporary_;
  int fd_ = -1;
};

/// Makes a folder and those above it; false (`last_error`) on failure.
bool make_folder(const std::string& path);

/// For dumps: makes the folder, and writes what it can.
void write_dump(const std::string& path, std::string_view text);

/// Opens what is there, such as a device or a pipe, and writes to it.
bool write_in_place(const std::string& path, std::string_view text);

/// Writes all bytes to standard output; false when they could not be written.
bool write_stdout(std::string_view text);
void write_stderr(std::string_view text);

} // namespace tang::driver
