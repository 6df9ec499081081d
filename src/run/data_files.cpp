// Inputs from files and results to files, by the ending of their names.
#include "run/data_files.h"

#include "base/error.h"
#include "base/files.h"
#include "run/image.h"
#include "run/npy.h"

#include <fmt/format.h>

namespace twill {

Data load_data(const std::filesystem::path& path, const Type& wanted, int rank) {
  const std::string bytes = read_file(path), name = path.string();
  if (is_png(bytes)) return as_image_of(png_from_bytes(bytes, name), wanted, rank, name);
  if (is_pnm(bytes)) return as_image_of(pnm_from_bytes(bytes, name), wanted, rank, name);
  if (is_npy(bytes)) return npy_from_bytes(bytes, name, wanted);
  fail(Fault::User, "E0607", {},
       fmt::format("'{}' is neither a .npy file nor a PNG, PPM or PGM picture", name));
}

void save_data(const std::filesystem::path& path, const Data& data) {
  const std::string ending = path.extension().string(), name = path.string();
  if (ending == ".npy") return save_npy(path, data);
  if (ending == ".png") return write_file(path, png_bytes(as_file_image(data, name), name));
  if (ending == ".ppm" || ending == ".pgm" || ending == ".pnm") {
    const Data image = as_file_image(data, name);
    if (ending == ".pgm" && image.shape().size() > 2)
      fail(Fault::User, "E0606", {},
           fmt::format("a picture with {} channels cannot be saved as '{}'", image.shape()[2], name),
           "PGM files are grey: let the name end in .ppm or .png");
    return write_file(path, pnm_bytes(image, name));
  }
  fail(Fault::User, "E0607", {}, fmt::format("the name '{}' does not say in which format to write", name),
       "let it end in .npy, .png, .ppm or .pgm");
}

}  // namespace twill
