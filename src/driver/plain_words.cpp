#include "driver/plain_words.h"

#include "fuse/inline.h"
#include "fuse/profit.h"

#include <algorithm>
#include <set>

namespace twill {

namespace {

const Stage* stage_named(const Program& program, const std::string& name) {
  const Stage* found = nullptr;
  for_each_stage(program.stages, [&](const Stage& stage) {
    if (stage.name == name) found = &stage;
  });
  return found;
}

bool reads_of_other(const Program& program, const Stage& reader, const Stage& maker) {
  const auto read = reads_of(program, reader);
  return std::ranges::any_of(maker.outputs, [&](const Output& output) {
    return std::ranges::any_of(defined_arrays(output),
                               [&](ArrayId array) { return std::ranges::find(read, array) != read.end(); });
  });
}

bool is_formula(const Stage& stage) { return std::holds_alternative<Formula>(stage.body); }

/// A stage with stages inside, as it was written.
struct Words {
  std::string code, what, inside;
};

Words words_for(const Stage& stage) {
  if (std::holds_alternative<Branch>(stage.body)) return {"if", "is an if", "on its sides"};
  if (any_is<Seq>(stage)) return {"loop", "is a loop", "in its steps"};
  return {"inside", "has stages inside", "in there"};
}

/// Has any of its arrays become memory that another stage reads? The stage that reads it, and the output.
struct Stored {
  const Output* output = nullptr;
  const Stage* reader = nullptr;
};

Stored stored(const Compilation& c, const Stage& stage) {
  std::set<ArrayId> kept;
  const std::function<void(const BlockSchedule&)> look = [&](const BlockSchedule& block) {
    for (const Pass& pass : block.passes)
      for (const StageSchedule& one : pass.stages) {
        for (std::size_t o = 0; o < one.outputs.size(); ++o)
          if (!is_local(one.outputs[o].keep))
            for (const ArrayId array : one.outputs[o].arrays(one.stage->outputs[o])) kept.insert(array);
        for (const BlockSchedule& inner : one.blocks) look(inner);
      }
  };
  look(c.schedule->body);
  Stored found;
  for (const Output& output : stage.outputs) {
    if (!kept.contains(output.array)) continue;
    for_each_stage(c.program->stages, [&](const Stage& other) {
      if (other.name != stage.name && is_formula(other) && reads(other, output.array) && !found.reader)
        found = {&output, &other};
    });
  }
  return found;
}

}  // namespace

Reason in_plain_words(const Program& program, const Reason& reason) {
  if (reason.code != "block" || reason.stages.size() != 2) return reason;
  const Stage *first = stage_named(program, reason.stages[0]),
              *second = stage_named(program, reason.stages[1]);
  if (!first || !second || (is_formula(*first) && is_formula(*second))) return reason;
  const std::string a = "'" + first->name + "'", b = "'" + second->name + "'";
  Reason plain = reason;
  if (!is_formula(*second) && reads_of_other(program, *second, *first)) {
    const Words words = words_for(*second);
    plain.code = words.code;
    plain.text = a + " is not part of " + b + ", which " + words.what + ": what is read " + words.inside +
                 " is computed before";
    return plain;
  }
  const Stage& whole = is_formula(*first) ? *second : *first;
  const Words words = words_for(whole);
  plain.code = words.code;
  plain.text = a + " and " + b + " share no loop: '" + whole.name + "' " + words.what +
               ", and the loops are " + words.inside;
  return plain;
}

std::vector<Reason> wishes_not_granted(const Compilation& c) {
  std::vector<Reason> result;
  const auto say = [&](const Stage& stage, std::string code, const std::string& text) {
    result.push_back({std::move(code), {stage.name}, text, stage.place});
  };
  const auto is_about = [](const Reason& reason, const Stage& stage) {
    return reason.stages.size() == 2 && std::ranges::find(reason.stages, stage.name) != reason.stages.end();
  };
  for_each_stage(c.program->stages, [&](const Stage& stage) {
    const std::string name = "'" + stage.name + "'";
    const auto is_fused = [&](const Reason& reason) { return is_about(reason, stage); };
    if (has_hint(stage, Hint::Always) && !(stage.dims.empty() && is_formula(stage)) &&
        std::ranges::none_of(c.fused, is_fused)) {
      const auto why = std::ranges::find_if(c.apart, [&](const Reason& reason) {
        return is_about(reason, stage) && reason.code != "no-loop" && reason.code != "block";
      });
      const auto any = why != c.apart.end() ? why : std::ranges::find_if(c.apart, [&](const Reason& reason) {
        return is_about(reason, stage) && reason.code != "no-loop";
      });
      if (any == c.apart.end())
        say(stage, "alone", name + " is to be fused always, and there is nothing to fuse it with");
      else
        say(stage, "always",
            name + " is to be fused always, and is not: " + in_plain_words(*c.program, *any).text);
    }
    if (has_hint(stage, Hint::Recompute)) {
      const Stored memory = stored(c, stage);
      if (!memory.reader) return;
      const auto why = why_not_inline(*c.program, stage, *memory.output, *memory.reader);
      say(stage, "recompute",
          name + " is to be recomputed, and is stored: " +
              (why ? why->text : "'" + memory.reader->name + "' reads it from memory"));
    }
  });
  return result;
}

}  // namespace twill
