# Writes examples.cpp, with the texts of examples/*.twill for bench/examples.h, into the build directory.
file(GLOB example_files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/examples/*.twill)
set(example_table "")
foreach(file ${example_files})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} text)
  string(APPEND example_table "    {\"${name}\", R\"twill(${text})twill\"},\n")
endforeach()
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/examples.cpp @ONLY CONTENT [[
// Written by src/bench/examples.cmake.
#include "bench/examples.h"

#include <utility>

namespace twill::bench {

namespace {

constexpr std::pair<std::string_view, std::string_view> texts[] = {
@example_table@};

}  // namespace

std::string_view example_text(std::string_view name) {
  for (const auto& [known, text] : texts)
    if (known == name) return text;
  return {};
}

}  // namespace twill::bench
]])
target_sources(twill_bench PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/examples.cpp)
