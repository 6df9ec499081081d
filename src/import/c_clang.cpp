// libclang behind a small class: opened with dlopen, so that a command that reads no C does not load it.
#include "import/c_clang.h"

#include "base/error.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace twill::c {

namespace {

/// The library, which stays open: unloading it while its threads end is not safe.
class Library {
 public:
  explicit Library(const std::string& wanted) {
    std::vector<std::string> names = {"libclang-14.so.1", "libclang-14.so", "libclang.so.1", "libclang.so"};
    if (!wanted.empty()) names = {wanted};
    for (const std::string& name : names)
      if ((handle_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL))) return;
    fail(Fault::System, "E0904", {}, "libclang, which reads C, cannot be opened",
         "install Debian's package libclang1-14");
  }

  template <class Function>
  Function* find(const char* name) const {
    void* found = dlsym(handle_, name);
    if (!found)
      fail(Fault::System, "E0904", {}, fmt::format("libclang has no function {}", name),
           "install Debian's package libclang1-14");
    return reinterpret_cast<Function*>(found);
  }

 private:
  void* handle_ = nullptr;
};

}  // namespace

#define TWILL_CLANG(function) \
  decltype(::clang_##function)* function = library.find<decltype(::clang_##function)>("clang_" #function)

struct ClangFunctions {
  explicit ClangFunctions(const std::string& name) : library(name) {}

  Library library;
  TWILL_CLANG(createIndex);
  TWILL_CLANG(disposeIndex);
  TWILL_CLANG(parseTranslationUnit);
  TWILL_CLANG(disposeTranslationUnit);
  TWILL_CLANG(getTranslationUnitCursor);
  TWILL_CLANG(visitChildren);
  TWILL_CLANG(getCursorSpelling);
  TWILL_CLANG(getCString);
  TWILL_CLANG(disposeString);
  TWILL_CLANG(getCursorReferenced);
  TWILL_CLANG(getCursorDefinition);
  TWILL_CLANG(getCursorType);
  TWILL_CLANG(getCanonicalType);
  TWILL_CLANG(getArrayElementType);
  TWILL_CLANG(getArraySize);
  TWILL_CLANG(getPointeeType);
  TWILL_CLANG(getCursorResultType);
  TWILL_CLANG(getTypeSpelling);
  TWILL_CLANG(isConstQualifiedType);
  TWILL_CLANG(isRestrictQualifiedType);
  TWILL_CLANG(isVolatileQualifiedType);
  TWILL_CLANG(Cursor_getStorageClass);
  TWILL_CLANG(getCursorExtent);
  TWILL_CLANG(getCursorLocation);
  TWILL_CLANG(getRangeStart);
  TWILL_CLANG(getRangeEnd);
  TWILL_CLANG(getSpellingLocation);
  TWILL_CLANG(Cursor_getVarDeclInitializer);
  TWILL_CLANG(getEnumConstantDeclValue);
  TWILL_CLANG(getNumDiagnostics);
  TWILL_CLANG(getDiagnostic);
  TWILL_CLANG(disposeDiagnostic);
  TWILL_CLANG(getDiagnosticSeverity);
  TWILL_CLANG(getDiagnosticSpelling);
  TWILL_CLANG(getDiagnosticLocation);

  std::string text(CXString string) const {
    const char* characters = getCString(string);
    std::string text = characters ? characters : "";
    disposeString(string);
    return text;
  }
};

#undef TWILL_CLANG

Clang::Clang(const std::string& name, const std::string& text, const std::string& library)
    : f_(std::make_shared<const ClangFunctions>(library)), text_(text) {
  index_ = f_->createIndex(0, 0);
  CXUnsavedFile file{name.c_str(), text_.c_str(), text_.size()};
  // Headers of other compilers use names for types that clang does not have; no loop nest does.
  const char* arguments[] = {"-x",
                             "c",
                             "-std=gnu11",
                             "-w",
                             "-nostdinc",
                             "-D_Float32=float",
                             "-D_Float64=double",
                             "-D_Float32x=double",
                             "-D_Float64x=long double",
                             "-D_Float128=long double"};
  unit_ = f_->parseTranslationUnit(index_, name.c_str(), arguments, std::size(arguments), &file, 1,
                                   CXTranslationUnit_None);
  if (!unit_) fail(Fault::System, "E0904", {}, fmt::format("libclang cannot read '{}'", name));
}

Clang::~Clang() {
  if (unit_) f_->disposeTranslationUnit(unit_);
  if (index_) f_->disposeIndex(index_);
}

std::vector<Clang::Mistake> Clang::mistakes() const {
  std::vector<Mistake> found;
  for (unsigned i = 0; i < f_->getNumDiagnostics(unit_); ++i) {
    CXDiagnostic diagnostic = f_->getDiagnostic(unit_, i);
    if (f_->getDiagnosticSeverity(diagnostic) >= CXDiagnostic_Error) {
      Mistake mistake;
      f_->getSpellingLocation(f_->getDiagnosticLocation(diagnostic), nullptr, &mistake.line, &mistake.column,
                              nullptr);
      mistake.message = f_->text(f_->getDiagnosticSpelling(diagnostic));
      found.push_back(std::move(mistake));
    }
    f_->disposeDiagnostic(diagnostic);
  }
  return found;
}

CXCursor Clang::root() const { return f_->getTranslationUnitCursor(unit_); }

std::vector<CXCursor> Clang::children(CXCursor cursor) const {
  std::vector<CXCursor> found;
  f_->visitChildren(
      cursor,
      [](CXCursor child, CXCursor, CXClientData data) {
        static_cast<std::vector<CXCursor>*>(data)->push_back(child);
        return CXChildVisit_Continue;
      },
      &found);
  return found;
}

std::string Clang::spelling(CXCursor cursor) const { return f_->text(f_->getCursorSpelling(cursor)); }
CXCursor Clang::referenced(CXCursor cursor) const { return f_->getCursorReferenced(cursor); }
CXCursor Clang::definition(CXCursor cursor) const { return f_->getCursorDefinition(referenced(cursor)); }
CXType Clang::declared_type(CXCursor cursor) const { return f_->getCursorType(cursor); }
CXType Clang::type(CXCursor cursor) const { return f_->getCanonicalType(f_->getCursorType(cursor)); }
CXType Clang::element(CXType type) const { return f_->getArrayElementType(type); }
CXType Clang::pointee(CXType type) const { return f_->getCanonicalType(f_->getPointeeType(type)); }
CXType Clang::result(CXCursor function) const {
  return f_->getCanonicalType(f_->getCursorResultType(function));
}
std::string Clang::type_text(CXType type) const { return f_->text(f_->getTypeSpelling(type)); }
CXType Clang::canonical(CXType type) const { return f_->getCanonicalType(type); }
bool Clang::is_const(CXType type) const { return f_->isConstQualifiedType(type) != 0; }
bool Clang::is_restrict(CXType type) const { return f_->isRestrictQualifiedType(type) != 0; }
bool Clang::is_volatile(CXType type) const { return f_->isVolatileQualifiedType(type) != 0; }
bool Clang::is_static(CXCursor variable) const {
  const auto storage = f_->Cursor_getStorageClass(variable);
  return storage == CX_SC_Static || storage == CX_SC_Extern;
}
long long Clang::array_size(CXType type) const { return f_->getArraySize(type); }
CXCursor Clang::initializer(CXCursor variable) const { return f_->Cursor_getVarDeclInitializer(variable); }
long long Clang::enum_value(CXCursor constant) const { return f_->getEnumConstantDeclValue(constant); }

Clang::Span Clang::span(CXCursor cursor) const {
  const CXSourceRange range = f_->getCursorExtent(cursor);
  Span span;
  f_->getSpellingLocation(f_->getRangeStart(range), nullptr, &span.line, &span.column, &span.begin);
  f_->getSpellingLocation(f_->getRangeEnd(range), nullptr, nullptr, nullptr, &span.end);
  return span;
}

unsigned Clang::location(CXCursor cursor) const {
  unsigned offset = 0;
  f_->getSpellingLocation(f_->getCursorLocation(cursor), nullptr, nullptr, nullptr, &offset);
  return offset;
}

std::string Clang::text(unsigned begin, unsigned end) const {
  return begin < end && end <= text_.size() ? text_.substr(begin, end - begin) : "";
}

}  // namespace twill::c
