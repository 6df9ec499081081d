// Twill for C++ programs: index notation with operators, md_hom form, and ranges. docs/cpp.md is the
// tutorial.
#pragma once

#include "import/declare.h"
#include "import/define.h"
#include "import/md_hom.h"
#include "import/range.h"
#include "import/value.h"
