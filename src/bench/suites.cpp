// The table of suites.
#include "bench/case.h"

#include <array>

namespace twill::bench {

namespace {

const std::array table = {
    Suite{"linalg", "dot, matrix products, elementwise, reductions, scans and histograms", linalg_entries},
    Suite{"stencil", "Jacobi stencils, convolution and the stages of image pipelines", stencil_entries},
    Suite{"pipelines", "whole image pipelines, on one thread and on all", pipelines_entries},
    Suite{"polybench", "kernels of PolyBench, imported from C", polybench_entries},
    Suite{"collections", "pipelines of maps, filters, groups and folds, on one thread and on all",
          collections_entries},
    Suite{"combinators", "programs of many stages under every choice of clusters, and how long that takes",
          combinators_entries},
    Suite{"compile", "how long it takes to compile a program and to start a compiled one", compile_entries},
};

}  // namespace

std::span<const Suite> suites() { return table; }

}  // namespace twill::bench
