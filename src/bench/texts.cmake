# Writes texts.cpp, with the texts of examples/*.twill, examples/polybench/*.c and of peers/ for bench/texts.h, into the build directory.

# text_table(VARIABLE COMPONENT files…): lines {"NAME", "TEXT"}, where COMPONENT (NAME, NAME_WE) of a path is its name.
function(text_table variable component)
  set(table "")
  foreach(file ${ARGN})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    get_filename_component(name ${file} ${component})
    file(READ ${file} text)
    string(APPEND table "    {\"${name}\", R\"twill(${text})twill\"},\n")
  endforeach()
  set(${variable} "${table}" PARENT_SCOPE)
endfunction()

file(GLOB example_files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/examples/*.twill)
text_table(example_table NAME_WE ${example_files})
file(GLOB polybench_files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/examples/polybench/*.c)
text_table(polybench_table NAME_WE ${polybench_files})
file(GLOB peer_files CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/peers/*)
text_table(peer_table NAME ${peer_files})
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/texts.cpp @ONLY CONTENT [[
// Written by src/bench/texts.cmake.
#include "bench/texts.h"

#include <span>
#include <utility>

namespace twill::bench {

namespace {

using Text = std::pair<std::string_view, std::string_view>;

constexpr Text examples[] = {
@example_table@};

constexpr Text polybench[] = {
@polybench_table@};

constexpr Text peers[] = {
@peer_table@};

std::string_view find(std::span<const Text> texts, std::string_view name) {
  for (const auto& [known, text] : texts)
    if (known == name) return text;
  return {};
}

}  // namespace

std::string_view example_text(std::string_view name) { return find(examples, name); }
std::string_view polybench_text(std::string_view name) { return find(polybench, name); }
std::string_view peer_text(std::string_view file) { return find(peers, file); }

}  // namespace twill::bench
]])
target_sources(twill_bench PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/texts.cpp)
