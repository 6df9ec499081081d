// The parser on random texts in a build with sanitizers: exits with 1 at the first complaint.
#include "base/files.h"
#include "fuzz/text_fuzz.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>

int main(int argc, char** argv) {
  if (argc < 3) return std::fprintf(stderr, "usage: text_fuzz COUNT FILES…\n"), 2;
  twill::TextFuzzOptions options;
  options.count = std::atoi(argv[1]);
  options.isolate = false;
  for (int k = 2; k < argc; ++k) options.seeds.push_back(twill::read_file(argv[k]));
  const auto failures = twill::fuzz_text(options);
  for (const auto& failure : failures)
    std::fprintf(stderr, "seed %llu: %s\n%s\n", static_cast<unsigned long long>(failure.seed),
                 failure.what.c_str(), failure.text.c_str());
  return failures.empty() ? 0 : 1;
}
