// A nest as indented pseudo code for people.
#include "emit/nest.h"
#include "program/text.h"

namespace twill {

namespace {

using namespace nest;

class LoopPrinter {
 public:
  explicit LoopPrinter(const Nest& nest) : nest_(nest), program_(*nest.program) {}

  std::string text;

  void code(const Code& list) {
    for (const Statement& statement : list) std::visit([this](const auto& s) { of(s); }, statement.kind);
  }

 private:
  void line(const std::string& content) {
    text += std::string(2 * static_cast<std::size_t>(depth_), ' ') + content + "\n";
  }
  void inside(const Code& list) {
    ++depth_;
    code(list);
    --depth_;
  }
  std::string show(Expr e) const { return print(program_, e); }
  const std::string& name(ArrayId array) const { return program_[array].name; }
  const std::string& name(DimId dim) const { return program_.dim_names[static_cast<std::size_t>(dim.value)]; }
  std::string place(ArrayId array, const std::vector<Expr>& at) const {
    if (at.empty()) return name(array);
    std::string list;
    for (Expr e : at) list += (list.empty() ? "" : ", ") + show(e);
    return name(array) + "[" + list + "]";
  }
  static std::string word(const Operator& op, const Program& program) {
    return op.prim ? std::string(info(*op.prim).name) : program[op.function].name;
  }

  void of(const Remark& s) { line("# " + s.stage + (s.place.empty() ? "" : "  (" + s.place + ")")); }
  void of(const Let& s) { line("let " + name(s.name) + " = " + show(s.value)); }
  void of(const Local& s) {
    const auto box = nest_.boxes.find(s.array);
    const std::vector<Expr>& extents =
        box == nest_.boxes.end() ? program_[s.array].shape : box->second.extents;
    line("var " + place(s.array, extents) + (s.init ? " = " + show(s.init) : ""));
  }
  void of(const Allocate& s) {
    const auto box = nest_.boxes.find(s.array);
    if (box != nest_.boxes.end()) {
      line((box->second.ring >= 0 ? "ring " : "box ") + place(s.array, box->second.extents));
      for (const auto& [other, part] : nest_.boxes)
        if (other != s.array && nest_.memory(other) == s.array)
          line("box " + place(other, part.extents) + " in the memory of " + name(s.array));
      return;
    }
    line(std::string(s.keep ? "result " : "buffer ") + place(s.array, program_[s.array].shape));
  }
  void of(const Free& s) { line("free " + name(s.array)); }
  void of(const Await&) {}
  void of(const Put& s) {
    const std::string target = place(s.array, s.at);
    line(target + (s.op ? " " + word(*s.op, program_) + "= " : " = ") + show(s.value));
  }
  void of(const For& s) {
    const std::string step = s.step == 1 ? "" : " step " + std::to_string(s.step);
    const std::string by = s.by == By::Core ? "cores " : s.by == By::Simd ? "simd " : "";
    line(by + "for " + name(s.index) + " in " + show(s.lo) + " .. " + show(s.hi) + step +
         (s.down ? " down" : "") + ":");
    inside(s.body);
  }
  void of(const While& s) {
    line("while " + show(s.condition) + ":");
    inside(s.body);
  }
  void of(const If& s) {
    line("if " + show(s.condition) + ":");
    inside(s.then);
    if (s.otherwise.empty()) return;
    line("else:");
    inside(s.otherwise);
  }
  void of(const Within& s) { code(s.body); }
  void of(const Strips& s) {
    const std::string strip = name(s.strip), end = name(s.end);
    line("for strips " + strip + " .. " + end + " of " + std::to_string(s.capacity) + " in " + show(s.lo) +
         " .. " + show(s.hi) + ":");
    ++depth_;
    for (const Window& window : s.windows) {
      line("window " + name(window.view) + " = " + place(window.array, window.at) + " .. + " + end + " - " +
           strip + ", past the caches above " + std::to_string(window.stream_above) + " bytes:");
    }
    --depth_;
    inside(s.body);
  }
  void of(const Fetch& s) {
    line("fetch " + place(s.array, s.at) + " .. + " + show(s.count) + ", from arrays above " +
         std::to_string(s.above) + " bytes");
  }
  void of(const Swap& s) { line("swap " + name(s.a) + ", " + name(s.b)); }
  void of(const Copy& s) { line("copy " + name(s.from) + " to " + name(s.to)); }
  void of(const Born&) {}
  void of(const SetSize& s) { line("size " + program_[s.symbol].name + " = " + show(s.value)); }
  void of(const Growable& s) { line("growing buffer " + name(s.array)); }
  void of(const Push& s) { line("append " + show(s.value) + " to " + name(s.array)); }
  void of(const Table& s) { line("table " + name(s.table)); }
  void of(const Lookup& s) {
    line(name(s.number) + " = number of " + show(s.key) + " in " + name(s.table));
    for (const Push& push : s.if_new)
      line("if it is new, append " + show(push.value) + " to " + name(push.array));
  }
  void of(const Shelve& s) { line("put away " + name(s.array) + " in " + place(s.shelf, {s.at})); }
  void of(const Choose& s) {
    line("let " + name(s.array) + " be " + name(s.a) + " if " + show(s.condition) + ", else " + name(s.b));
  }
  void of(const Unshelve& s) { line("take " + name(s.array) + " out of " + place(s.shelf, {s.at})); }
  void of(const Perform& s) { line("effect " + s.effect.kind); }
  void of(const Stop&) {}
  void of(const Require& s) { line("require " + show(s.condition)); }

  const Nest& nest_;
  const Program& program_;
  int depth_ = 0;
};

}  // namespace

std::string print_loops(const nest::Nest& nest) {
  LoopPrinter printer(nest);
  printer.code(nest.body);
  return std::move(printer.text);
}

}  // namespace twill
