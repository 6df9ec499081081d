// libclang, opened when a C file is read and not before: a door that only import/ has. Not for users.
#pragma once

#include <clang-c/Index.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace twill::c {

/// What is used of libclang.
struct ClangFunctions;

/// A parsed text. Cursors live as long as it does.
class Clang {
 public:
  /// Parses preprocessed C with this library; an empty name means that of the system. Throws E0904 if it
  /// cannot be opened.
  Clang(const std::string& name, const std::string& text, const std::string& library);
  ~Clang();
  Clang(const Clang&) = delete;
  Clang& operator=(const Clang&) = delete;

  struct Mistake {
    unsigned line = 0, column = 0;  // in the text as parsed
    std::string message;
  };
  /// What a C compiler would refuse.
  std::vector<Mistake> mistakes() const;

  CXCursor root() const;
  std::vector<CXCursor> children(CXCursor cursor) const;
  std::string spelling(CXCursor cursor) const;
  CXCursor referenced(CXCursor cursor) const;
  /// Of a function that is referred to; of another kind if the text has none.
  CXCursor definition(CXCursor cursor) const;
  CXType type(CXCursor cursor) const;  // canonical
  CXType element(CXType type) const;   // of an array, canonical
  CXType pointee(CXType type) const;
  CXType canonical(CXType type) const;
  CXType declared_type(CXCursor cursor) const;  // as it was written
  CXType result(CXCursor function) const;
  std::string type_text(CXType type) const;
  bool is_const(CXType type) const;
  bool is_restrict(CXType type) const;
  bool is_volatile(CXType type) const;
  bool is_static(CXCursor variable) const;
  long long array_size(CXType type) const;  // -1: not a constant
  CXCursor initializer(CXCursor variable) const;
  long long enum_value(CXCursor constant) const;

  struct Span {
    unsigned begin = 0, end = 0;  // offsets in the text
    unsigned line = 0, column = 0;
  };
  Span span(CXCursor cursor) const;
  unsigned location(CXCursor cursor) const;  // of the name that a declaration introduces: its offset
  /// The text of a span.
  std::string text(unsigned begin, unsigned end) const;

 private:
  std::shared_ptr<const ClangFunctions> f_;
  std::string text_;
  CXIndex index_ = nullptr;
  CXTranslationUnit unit_ = nullptr;
};

}  // namespace twill::c
