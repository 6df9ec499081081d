// Outputs: combines and operators, write maps and versions, collections with their companions.
#include "program/affine_of.h"
#include "program/buckets.h"
#include "program/checker.h"

#include <algorithm>

namespace twill {

bool Checker::check_output(const Stage& stage, std::size_t position, const Scope& scope, const Scope& outer) {
  const Output& output = stage.outputs[position];
  const Place place = first_place({output.place, stage.place});
  const Array& array = program_[output.array];
  if (output.combine.size() != stage.dims.size()) {
    report("E0318", place,
           fmt::format("output {} has {} combines for {} dimensions", quoted(output.array),
                       output.combine.size(), stage.dims.size()));
    return false;
  }
  bool good = check_combine(stage, output);
  const Site site{&scope, nullptr, program_.functions.size(), place};
  const auto called = [&](const char* part) {
    return fmt::format("the {} of {}", part, quoted(output.array));
  };
  if (output.value) {
    good = check_typed(output.value, array.type, called("value"), site) && good;
  } else if (std::holds_alternative<Formula>(stage.body)) {
    report("E0308", place, fmt::format("output {} has no value", quoted(output.array)));
    good = false;
  }
  if (output.guard) good = check_typed(output.guard, Scalar::Bool, called("guard"), site) && good;
  for (const Combine& combine : output.combine)
    if (const Operator* op = operator_of(combine)) good = check_operator(*op, output, array.type) && good;
  if (!good) return false;
  if (!is_dense(output))
    return check_collection(stage, output, outer) && [&] {
      if (!any_is<Group>(output)) return true;
      if (!output.key) {
        report("E0319", place, fmt::format("group {} has no key", quoted(output.array)));
        return false;
      }
      // Without keys of its own, it has the same key as an output that has them.
      return !output.keys || check_typed(output.key, program_[*output.keys].type, called("key"), site);
    }();
  return check_dense(stage, position, scope, outer);
}

bool Checker::check_combine(const Stage& stage, const Output& output) {
  const auto wrong = [&](const std::string& why, const std::string& help) {
    report("E0318", first_place({output.place, stage.place}),
           fmt::format("output {} {}", quoted(output.array), why), help);
    return false;
  };
  const auto& combine = output.combine;
  const auto count = [&]<class C>(std::type_identity<C>) { return std::ranges::count_if(combine, is<C>); };
  const auto groups = count(std::type_identity<Group>{});
  const auto appends = count(std::type_identity<Append>{});
  if (groups > 0 && groups != std::ssize(combine))
    return wrong("mixes group with other combines", "group all dimensions");
  if (appends > 0) {
    const auto first = std::ranges::find_if(combine, is<Append>);
    if (!std::all_of(combine.begin(), first, is<Cat>) || !std::all_of(first, combine.end(), is<Append>))
      return wrong("mixes append with other combines",
                   "an append has cat dimensions first, and then append only");
  }
  if (is_running(output)) return check_running(stage, output);
  if (count(std::type_identity<Scan>{}) > 1)
    return wrong("scans two dimensions",
                 "scan one dimension, and then the result along the other in a stage of its own");
  const Operator* folding = nullptr;
  const Operator* meeting = nullptr;
  bool nests = false;
  for (std::size_t k = 0; k < combine.size(); ++k) {
    const std::string name = name_of(program_, stage.dims[k].id);
    if (const auto* fold = std::get_if<Fold>(&combine[k])) {
      nests = nests || (folding && !(*folding == fold->op)) || any_is<Scan>(output);
      folding = &fold->op;
    } else if (folding && (is<Scan>(combine[k]) || is<Seq>(combine[k]))) {
      return wrong(fmt::format("has the {} dimension {} inside of a fold", name_of(combine[k]), name),
                   "move the fold inside: its dimensions come last");
    }
    const bool meets = is<Scatter>(combine[k]) || is<Group>(combine[k]);
    const Operator* op = operator_of(combine[k]);
    if (!meets) continue;
    if (meeting && op && !(*meeting == *op))
      return wrong("combines with two operators", "use one operator for all dimensions");
    if (op) meeting = op;
  }
  const auto first_fold = std::ranges::find_if(combine, is<Fold>);
  if (nests && std::any_of(first_fold, combine.end(), is<Cat>))
    return wrong("folds with several operators around a cat dimension",
                 "with several operators the cat dimensions come first");
  return true;
}

bool Checker::check_running(const Stage& stage, const Output& output) {
  const auto* first = std::get_if<Scan>(&output.combine.front());
  const bool plain =
      program_[output.array].rank() == 0 && output.value && !output.into && !output.force &&
      !runs_from_right(output) && first->op.identity &&
      std::ranges::all_of(output.combine, [&](const Combine& c) { return c == output.combine.front(); });
  if (!plain)
    report("E0318", first_place({output.place, stage.place}),
           fmt::format("{} is a running value, but not of all dimensions of '{}' alike", quoted(output.array),
                       stage.name),
           "a running value scans every dimension from the left, with one operator that has an identity");
  return plain;
}

bool Checker::check_operator(const Operator& op, const Output& output, const Type& value) {
  const std::string name = name_of(program_, op);
  const auto wrong = [&](const char* code, const std::string& why, const std::string& help = {}) {
    report(code, output.place, fmt::format("operator '{}' of {} {}", name, quoted(output.array), why), help);
    return false;
  };
  if (op.prim) {
    if (!op.type.is_scalar() || !combines(*op.prim, op.type.scalar()))
      return wrong(
          "E0333", fmt::format("does not combine {}", to_string(op.type)),
          "operators are +, *, min, max, and, or, bit_and, bit_or, xor, and functions of two values");
  } else {
    if (!has(op.function)) return wrong("E0301", "is a function that the program does not have");
    const Function& function = program_[op.function];
    const bool fits = function.parameters.size() == 2 && function.parameters[0].type == op.type &&
                      function.parameters[1].type == op.type && function.result == op.type;
    if (!fits)
      return wrong("E0333", fmt::format("is not a function of two {} that gives {}", to_string(op.type),
                                        to_string(op.type)));
    if (!op.associative)
      return wrong(
          "E0316", "is not declared associative",
          fmt::format(
              "if (a {0} b) {0} c = a {0} (b {0} c) for all values, declare it: op {0}(…) associative; "
              "if not, compute in order with seq",
              name));
  }
  if (!(op.type == value))
    return wrong("E0308",
                 fmt::format("combines {}, but the output is {}", to_string(op.type), to_string(value)),
                 "convert the values, or use the operator of their type");
  if (op.identity) {
    const Scope nothing;
    const Site site{&nothing, nullptr, program_.functions.size(), output.place};
    return check_typed(op.identity, op.type, fmt::format("the identity of operator '{}'", name), site);
  }
  return true;
}

bool Checker::check_dense(const Stage& stage, std::size_t position, const Scope& scope, const Scope& outer) {
  const Output& output = stage.outputs[position];
  const Place place = first_place({output.place, stage.place});
  const Array& array = program_[output.array];
  const std::vector<ChosenSize> chosen = chosen_sizes(program_, stage);
  Scope after = outer;  // of a choice
  for (const ChosenSize& one : chosen)
    if (one.output <= position) after.add(one.size);
  bool good = check_shape(array, after);
  good = check_companion(output, output.offsets, false, "offsets") && good;
  good = check_companion(output, output.keys, false, "keys") && good;
  std::optional<ArrayId> result;
  if (!output.value) result = blocks_of(stage)[0]->results[position];
  const std::size_t inner = result ? program_[*result].shape.size() : 0;
  if (output.at.size() + inner != array.shape.size()) {
    report("E0309", place,
           inner == 0 ? fmt::format("the write map of {} has {} subscript{}, but the array is {}",
                                    quoted(output.array), output.at.size(), output.at.size() == 1 ? "" : "s",
                                    describe_type(program_, array))
                      : fmt::format("the write map of {} has {} subscripts and the block's result '{}' {} "
                                    "dimensions, but the array is {}",
                                    quoted(output.array), output.at.size(), program_[*result].name, inner,
                                    describe_type(program_, array)),
           "one subscript for each dimension of the array");
    return false;
  }
  if (result) good = check_result_shape(output, *result, output.at.size(), chosen) && good;
  const Site site{&scope, nullptr, program_.functions.size(), place};
  for (const Expr at : output.at) {
    if (!check_typed(at, Scalar::I64, fmt::format("the write map of {}", quoted(output.array)), site)) {
      good = false;
      continue;
    }
    for (std::size_t k = 0; k < stage.dims.size(); ++k) {
      if (is_written(output.combine[k])) continue;
      bool used = false;
      visit(at, [&](Expr node) {
        const auto* index = as<IndexRef>(node);
        used = used || (index && index->dim == stage.dims[k].id);
      });
      if (!used) continue;
      report("E0309", first_place({at->place, place}),
             fmt::format(
                 "the write map of {} uses {}, which is {}", quoted(output.array),
                 name_of(program_, stage.dims[k].id),
                 is<Fold>(output.combine[k]) ? "folded away" : "sequential and only kept at its last value"),
             "only the other dimensions say where a value goes");
      good = false;
    }
  }
  if (output.into) {
    if (!has(*output.into) || !outer.sees(*output.into)) {
      report("E0304", place,
             fmt::format("{} is a new version of {}, which is not defined before the stage",
                         quoted(output.array), quoted(*output.into)));
      return false;
    }
    const Array& old = program_[*output.into];
    if (!(old.type == array.type) ||
        !std::ranges::equal(old.shape, array.shape, [](Expr a, Expr b) { return same_size(a, b); })) {
      report("E0309", place,
             fmt::format("'{}' is {}, but it is a new version of '{}', which is {}", array.name,
                         describe_type(program_, array), old.name, describe_type(program_, old)),
             "a new version has the type and shape of the old one");
      good = false;
    }
  }
  const bool combines = std::ranges::any_of(
      output.combine, [](const Combine& c) { return is<Fold>(c) || (is<Scatter>(c) && operator_of(c)); });
  if (output.accumulates && !(output.into && combines)) {
    report("E0318", place,
           fmt::format("output {} accumulates, but has nothing to add to", quoted(output.array)),
           "only a fold, or a scatter with an operator, into an array accumulates");
    good = false;
  }
  if (output.accumulates && std::ranges::any_of(output.combine, is<Scan>)) {
    report("E0318", place, fmt::format("output {} accumulates inside of a scan", quoted(output.array)),
           "fold onto the array in a stage of its own, and scan that");
    good = false;
  }
  if (!output.into) {
    for (const Combine& combine : output.combine) {
      const auto* scatter = std::get_if<Scatter>(&combine);
      if (!scatter || !scatter->op || scatter->op->identity) continue;
      report("E0317", place,
             fmt::format("{} scatters with operator '{}', which has no identity: an element that nothing "
                         "reaches has no value",
                         quoted(output.array), name_of(program_, *scatter->op)),
             "give the operator an identity, or scatter onto an array: y = x with(op) { k <- v | ... }");
      good = false;
      break;
    }
  }
  if (output.guard && !output.into && options_.empty_folds) {
    for (const Combine& combine : output.combine) {
      const auto* fold = std::get_if<Fold>(&combine);
      if (!fold || fold->op.identity) continue;
      report("E0317", place,
             fmt::format("{} folds under a condition with operator '{}', which has no identity: where "
                         "nothing passes there is no value",
                         quoted(output.array), name_of(program_, fold->op)),
             "give the operator an identity");
      good = false;
    }
  }
  return good;
}

bool Checker::check_result_shape(const Output& output, ArrayId result, std::size_t leading,
                                 const std::vector<ChosenSize>& chosen) {
  const Array& array = program_[output.array];
  const Array& inner = program_[result];
  const bool same =
      inner.type == array.type &&
      std::equal(inner.shape.begin(), inner.shape.end(),
                 array.shape.begin() + static_cast<std::ptrdiff_t>(leading),
                 [&](Expr a, Expr b) { return same_size(a, on_side(*program_.pool, chosen, true, b)); });
  if (!same)
    report("E0332", output.place,
           fmt::format("the block's result '{}' is {}, which does not fit the output '{}', {}", inner.name,
                       describe_type(program_, inner), array.name, describe_type(program_, array)),
           "the output has the dimensions of the stage, and then those of the result");
  return same;
}

// ---- collections --------------------------------------------------------------------------------------

bool Checker::check_companion(const Output& output, std::optional<ArrayId> array, bool wanted,
                              const char* what) {
  if (array.has_value() == wanted) return true;
  report("E0319", output.place,
         fmt::format("output {} {} {}", quoted(output.array), wanted ? "needs" : "has no use for", what),
         "offsets belong to an append below cat and to a group without operator, keys to a group");
  return false;
}

namespace {

/// An output before this one that shares its length.
bool shares_length(const Program& program, const Stage& stage, const Output& output) {
  return std::ranges::any_of(
      std::span(stage.outputs).first(static_cast<std::size_t>(&output - stage.outputs.data())),
      [&](const Output& before) { return share_length(program, before, output); });
}

}  // namespace

bool Checker::check_born(const Stage& stage, const Output& output, ArrayId array, const char* what,
                         const Scope& outer) {
  const Array& held = program_[array];
  const auto* size = held.rank() == 1 ? as<SizeRef>(held.shape[0]) : nullptr;
  if (!size || !has(size->symbol) || program_[size->symbol].origin != Symbol::Origin::Born) {
    report("E0325", first_place({held.place, output.place}),
           fmt::format("{} '{}' is {}, but its length is born in the stage", what, held.name,
                       describe_type(program_, held)),
           "its only extent is a size of its own, of origin Born");
    return false;
  }
  // How many values a group collects is a length that it shares with nobody.
  const bool total = is_group(output) && output.offsets && array == output.array;
  const bool shared = !total && shares_length(program_, stage, output);
  if (outer.sees(size->symbol) || (!born_.insert(size->symbol).second && !shared)) {
    report("E0325", first_place({held.place, output.place}),
           fmt::format("size {} is born twice, the second time as the length of '{}'",
                       name_of(program_, size->symbol), held.name),
           "every born length is a size of its own");
    return false;
  }
  return true;
}

namespace {

bool is_hashable(const Type& type) {
  if (type.is_scalar()) return !type.is_float();
  return std::ranges::all_of(type.record().fields, [](const Field& f) { return is_hashable(f.type); });
}

}  // namespace

bool Checker::check_collection(const Stage& stage, const Output& output, const Scope& outer) {
  const Place place = first_place({output.place, stage.place});
  const bool groups = any_is<Group>(output);
  const bool folds = groups && operator_of(output.combine[0]);
  const bool rows = any_is<Cat>(output);
  bool good = check_companion(output, output.offsets, groups ? !folds : rows, "offsets");
  const bool keyless = groups && !output.keys && shares_length(program_, stage, output);
  good = check_companion(output, output.keys, groups && !keyless, "keys") && good;
  if (!good) return false;
  if (!output.at.empty() || output.into || output.accumulates) {
    report("E0319", place,
           fmt::format("output {} is a collection and has a write map, or is a new version",
                       quoted(output.array)),
           "a collection is always new and filled in order");
    return false;
  }
  if (!output.value &&
      program_[blocks_of(stage)[0]->results[static_cast<std::size_t>(&output - stage.outputs.data())]]
              .rank() != 0) {
    report("E0332", place,
           fmt::format("output {} collects the results of a block that are no scalars", quoted(output.array)),
           "collect scalars or records, and use offsets for what is nested");
    return false;
  }
  const Array& values = program_[output.array];
  // What a fold of a group needs is one length: that of keys and values.
  if (folds && !output.keys) {
    good = check_born(stage, output, output.array, "group", outer);
  } else if (folds) {
    good = check_born(stage, output, *output.keys, "keys", outer);
    if (good && !(values.rank() == 1 && same_size(values.shape[0], program_[*output.keys].shape[0]))) {
      report("E0319", place,
             fmt::format("group '{}' is {}, but needs one value for each of its keys, {}", values.name,
                         describe_type(program_, values), describe_type(program_, program_[*output.keys])));
      good = false;
    }
  } else {
    good = check_born(stage, output, output.array, "collection", outer);
    if (output.keys) good = check_born(stage, output, *output.keys, "keys", outer) && good;
  }
  if (output.keys && !is_hashable(program_[*output.keys].type)) {
    report("E0320", place,
           fmt::format("the key of {} is {}: floats are no keys", quoted(output.array),
                       to_string(program_[*output.keys].type)),
           "round it to an integer first");
    good = false;
  }
  if (!output.offsets || !good) return good;
  std::optional<SizePolynomial> wanted;
  if (groups) {
    wanted = SizePolynomial::of(bucket_count(program_, output));
  } else {
    wanted = SizePolynomial(1);
    for (std::size_t k = 0; k < stage.dims.size() && wanted; ++k) {
      if (!is<Cat>(output.combine[k])) continue;
      const auto hi = SizePolynomial::of(stage.dims[k].hi);
      const auto lo = SizePolynomial::of(stage.dims[k].lo);
      if (!hi || !lo || mentions_index(stage.dims[k].hi) || mentions_index(stage.dims[k].lo))
        wanted.reset();
      else
        wanted = *wanted * (*hi - *lo);
    }
  }
  const Array& offsets = program_[*output.offsets];
  const bool fits = wanted && offsets.rank() == 1 && offsets.type.is(Scalar::I64) &&
                    SizePolynomial::of(offsets.shape[0]) == *wanted + SizePolynomial(1);
  if (!fits)
    report(
        "E0319", place,
        fmt::format(
            "the offsets '{}' of {} are {}, but have to be i64 with one element more than there are {}",
            offsets.name, quoted(output.array), describe_type(program_, offsets), groups ? "keys" : "rows"));
  return fits;
}

}  // namespace twill
