// Twill for C++ programs: index notation with operators, and md_hom form. docs/cpp.md is the tutorial.
#pragma once

#include "import/declare.h"
#include "import/define.h"
#include "import/md_hom.h"
#include "import/value.h"
