#include "driver/files.h"
#include "driver/outputs.h"
#include <filesystem>

namespace tang::driver {

namespace fs = std::filesystem;

bool write_files(const std::vector<FileText>& files, bool if_changed, Sink& sink) {
  auto fail = [&](const std::string& path) {
    sink.report(Kind::cannot_write, {}, "cannot write `{}`: {}", path, last_error());
    return false;
  };
  std::error_code ignored;
  std::vector<std::pair<std::string, PendingFile>> pending;
  std::vector<const FileText*> direct;
  for (const FileText& file : files) {
    bool special = file.path != "-" && fs::exists(file.path, ignored) &&
                   !fs::is_regular_file(file.path, ignored);
    if (file.path == "-" || special) {
      direct.push_back(&file);
      continue;
    }
    if (if_changed && fs::is_regular_file(file.path, ignored) &&
        read_file(file.path) == std::optional(file.text))
      continue;
    if (!make_folder(fs::path(file.path).parent_path().string())) return fail(file.path);
    auto written = PendingFile::write(file.path, file.text);
    if (!written) return fail(file.path);
    pending.emplace_back(file.path, std::move(*written));
  }
  for (size_t i = pending.size(); i-- > 0;)
    if (!pending[i].second.commit()) return fail(pending[i].first);
  for (const FileText* file : direct)
    if (!(file->path == "-" ? write_stdout(file->text) : write_in_place(file->path, file->text)))
      return fail(file->path);
  return true;
}

} // namespace tang::driver
