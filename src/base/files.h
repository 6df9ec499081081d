// Reading files, replacing them atomically, and the directory where Twill keeps what it learnt.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>

namespace twill {

/// All bytes of a file. Throws E0601.
std::string read_file(const std::filesystem::path& path);

/// Makes `path` a file that holds the pieces one after the other. Readers see the old file or the new
/// one, never a part: the bytes go to a temporary file in the same directory, to the disk, and then
/// take the name. On failure the old file stays, the temporary one goes, and E0602 is thrown.
/// What is not a regular file (a pipe, a terminal) is written directly.
void write_file(const std::filesystem::path& path, std::initializer_list<std::string_view> pieces);
inline void write_file(const std::filesystem::path& path, std::string_view bytes) {
  write_file(path, {bytes});
}

/// `$TWILL_CACHE`, else `$XDG_CACHE_HOME/twill`, else `~/.cache/twill`; the directory may not exist yet.
std::filesystem::path cache_directory();

}  // namespace twill
