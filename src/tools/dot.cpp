#include "tools/dot.h"

#include <fmt/format.h>

#include <map>
#include <set>

namespace twill {

namespace {

std::string in_quotes(const std::string& text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + "\"";
}

bool has_loop(const Cluster& cluster) {
  for (const auto& part : cluster.loops)
    if (std::holds_alternative<Loop>(part)) return true;
  return false;
}

class Drawing {
 public:
  Drawing(const Program& program, const Plan* plan)
      : program_(program), plan_(plan), results_(program.results.begin(), program.results.end()) {}

  std::string text() {
    std::string text =
        fmt::format("digraph {} {{\n  node [shape=box, fontname=Helvetica];\n", in_quotes(program_.name));
    for (const Input& input : program_.inputs) {
      maker_[input.array] = {program_[input.array].name, ""};
      text += fmt::format("  {} [shape=ellipse];\n", in_quotes(program_[input.array].name));
    }
    text += list("", 0, program_.stages, "  ");
    for_each_stage(program_.stages, [&](const Stage& stage) { add_edges(stage); });
    return text + edges_ + "}\n";
  }

 private:
  static std::string node_of(const std::string& stage) { return "stage " + stage; }

  /// The stages of a list, in boxes for their passes if there is a plan.
  std::string list(const std::string& owner, int branch, const std::vector<Stage>& stages,
                   const std::string& indent) {
    std::map<std::string, const Stage*> by_name;
    for (const Stage& stage : stages) by_name[stage.name] = &stage;
    std::string text;
    const BlockPlan* block = plan_ ? plan_->find(owner, branch) : nullptr;
    if (block) {
      for (const Cluster& cluster : block->clusters) {
        const int box = ++boxes_;
        const std::string label = has_loop(cluster) ? fmt::format("pass {}", ++passes_) : "no loop";
        text +=
            fmt::format("{}subgraph cluster_{} {{\n{}  label={}; style=\"rounded,filled\"; color=grey90;\n",
                        indent, box, indent, in_quotes(label));
        for (const Instance& instance : cluster.instances)
          for (const std::string& name : instance.stages) {
            const auto found = by_name.find(name);
            if (found == by_name.end()) continue;
            pass_of_[name] = box;
            text += draw(*found->second, indent + "  ", false);
            by_name.erase(found);
          }
        text += indent + "}\n";
      }
    }
    for (const Stage& stage : stages)
      if (by_name.contains(stage.name)) text += draw(stage, indent, block != nullptr);
    return text;
  }

  std::string draw(const Stage& stage, const std::string& indent, bool left_out) {
    bool is_result = false;
    for (const Output& output : stage.outputs)
      for (const ArrayId array : defined_arrays(output)) {
        maker_[array] = {node_of(stage.name), stage.name};
        is_result = is_result || results_.contains(array);
      }
    std::string text =
        fmt::format("{}{} [label={}{}{}];\n", indent, in_quotes(node_of(stage.name)), in_quotes(stage.name),
                    is_result ? ", style=bold" : "", left_out ? ", style=dashed" : "");
    int branch = 0;
    for (const Block* inner : blocks_of(stage)) {
      text += fmt::format("{}subgraph cluster_{} {{\n{}  label={}; style=rounded; color=grey50;\n", indent,
                          ++boxes_, indent, in_quotes(branch == 0 ? stage.name : stage.name + ", otherwise"));
      text += list(stage.name, branch++, inner->stages, indent + "  ") + indent + "}\n";
    }
    return text;
  }

  void add_edges(const Stage& stage) {
    std::set<ArrayId> inside;  // what only its blocks read has an edge there
    if (!std::holds_alternative<Formula>(stage.body)) {
      for (const Block* block : blocks_of(stage))
        for_each_stage(block->stages, [&](const Stage& inner) {
          for (const ArrayId array : reads_of(program_, inner)) inside.insert(array);
        });
    }
    for (const ArrayId array : reads_of(program_, stage)) {
      const auto from = maker_.find(array);
      if (from == maker_.end() || from->second.stage == stage.name || inside.contains(array)) continue;
      const auto made = pass_of_.find(from->second.stage), read = pass_of_.find(stage.name);
      const bool in_memory = made != pass_of_.end() && read != pass_of_.end() && made->second != read->second;
      edges_ += fmt::format("  {} -> {} [label={}{}];\n", in_quotes(from->second.node),
                            in_quotes(node_of(stage.name)), in_quotes(program_[array].name),
                            in_memory ? ", style=bold" : "");
    }
  }

  struct Maker {
    std::string node, stage;  // the stage is empty for an input
  };

  const Program& program_;
  const Plan* plan_;
  std::set<ArrayId> results_;
  std::map<ArrayId, Maker> maker_;
  std::map<std::string, int> pass_of_;  // by stage: its box
  int boxes_ = 0, passes_ = 0;
  std::string edges_;
};

}  // namespace

std::string dot_of(const Program& program, const Plan* plan) { return Drawing(program, plan).text(); }

}  // namespace twill
