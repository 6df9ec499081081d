// Statements as C: the kernel's function, and one function for the body of every loop that the cores share.
// (Inside of a region that OpenMP outlines, `restrict` would be lost; as parameters the pointers keep it.)
#pragma once

#include "emit/c_expr.h"
#include "emit/c_lanes.h"
#include "emit/c_table.h"
#include "emit/print_c.h"
#include "emit/uses.h"

namespace twill {

class CCode {
 public:
  explicit CCode(CContext& context)
      : c_(context), nest_(context.nest), program_(*context.nest.program), lanes_(context) {}

  /// The definition of the kernel's function. `born`: parameters for results that the kernel allocates.
  std::string kernel(const CSource& source, const std::string& signature,
                     const std::map<ArrayId, std::pair<std::string, std::string>>& born);

  /// Definitions of the functions it calls.
  const std::string& parts() const { return parts_; }

 private:
  /// What is being written: a function body.
  struct Writer {
    std::string text;
    int depth = 1;
    bool uses_bad = false;
    bool is_kernel = false;
  };

  void line(const std::string& text);
  void lines(const std::vector<std::string>& list);
  void open(const std::string& text);
  void close(const std::string& text = "}");
  std::string leave(const std::string& code) const;
  int error_code(const std::string& text);
  CExpressions expressions();
  /// Prints one expression with the lines it needs before it.
  std::string value(Expr e);
  const std::string& room(ArrayId array);
  void note_checks(const CExpressions& print) { w_->uses_bad |= print.has_checks(); }

  void code(const nest::Code& list);
  std::size_t puts(const nest::Code& list, std::size_t first);
  Expr field_by_field(const nest::Put& s) const;
  void put(CExpressions& print, const nest::Put& s);
  void serial_loop(const nest::For& s);
  static std::vector<std::size_t> known_before(const nest::For& s);
  void ask_once(const nest::For& s, const std::vector<std::size_t>& puts);
  void shared_loop(const nest::For& s);
  std::string loop_head(const nest::For& s, bool with_type = true);
  std::string reduction_name(const Operator& op);
  std::string captured(Writer writer, const nest::Code& body, Writer& result);

  void of(const nest::Remark& s);
  void of(const nest::Let& s);
  void of(const nest::Local& s);
  void of(const nest::Allocate& s);
  void of(const nest::Free& s);
  void of(const nest::Await& s);
  void of(const nest::Put& s);
  void of(const nest::For& s);
  void of(const nest::While& s);
  void of(const nest::If& s);
  void of(const nest::Within& s);
  void of(const nest::Strips& s);
  void of(const nest::Fetch& s);
  void of(const nest::Swap& s);
  void of(const nest::Copy& s);
  void of(const nest::Born& s);
  void of(const nest::SetSize& s);
  void of(const nest::Growable& s);
  void of(const nest::Push& s);
  void of(const nest::Table& s);
  void of(const nest::Lookup& s);
  void of(const nest::Shelve& s);
  void of(const nest::Unshelve& s);
  void of(const nest::Choose& s);
  void of(const nest::Perform& s);
  void of(const nest::Stop& s);
  void of(const nest::Require& s);

  CContext& c_;
  const nest::Nest& nest_;
  const Program& program_;
  std::map<ArrayId, std::pair<std::string, std::string>> born_;
  std::string parts_;
  // How keys are looked up, by the types of what is there for each of them.
  std::map<std::vector<std::string>, TableFunctions> tables_;
  std::map<ArrayId, std::string> rooms_;
  std::set<ArrayId> awaited_;  // declared before they have memory
  CLanes lanes_;
  Writer* w_ = nullptr;
  std::string stage_;
  Positive positive_;
};

}  // namespace twill
