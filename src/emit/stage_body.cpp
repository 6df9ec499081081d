// What happens at a point of a stage, and what has to be opened and closed around its loops for it.
#include "emit/interior.h"
#include "emit/phases.h"
#include "emit/stage_nest.h"
#include "fuse/profit.h"

#include <algorithm>

namespace twill::nest {

namespace {

/// What else a condition asks that begins with all that another one asks; null if it does not.
Expr rest_of(ExprPool& pool, Expr condition, Expr first) {
  const Apply* both = as<Apply>(condition);
  if (!both || both->prim != Prim::And) return {};
  if (condition->args[0] == first) return condition->args[1];
  const Expr rest = rest_of(pool, condition->args[0], first);
  return rest ? pool.apply(Prim::And, {rest, condition->args[1]}) : Expr{};
}

/// Adds `body` under a condition (null: always); neighbours under the same condition share one If. `nests`:
/// and what asks for more than the one before it stands inside of that.
void add_guarded(Tables& t, Code& code, Expr condition, Code body, bool nests = false) {
  if (!condition) return append(code, std::move(body));
  if (!code.empty()) {
    If* before = std::get_if<If>(&code.back().kind);
    if (before && before->condition == condition && before->otherwise.empty()) {
      return append(before->then, std::move(body));
    }
    const Expr rest = nests && before && before->otherwise.empty()
                          ? rest_of(t.pool(), condition, before->condition)
                          : Expr{};
    if (rest) return add_guarded(t, before->then, rest, std::move(body), true);
  }
  code.push_back({If{condition, std::move(body), {}}});
}

/// Calls of functions that are evaluated whenever the expression is, but for those that read these arrays.
std::vector<Expr> sure_calls(Expr e, const std::set<ArrayId>& but) {
  std::vector<Expr> calls;
  visit_surely(e, [&](Expr node) {
    const Apply* apply = as<Apply>(node);
    if (!as<Invoke>(node) && !(apply && info(apply->prim).prim_class == PrimClass::Function)) return;
    bool changes = false;
    visit(node, [&](Expr inner) {
      const Read* read = as<Read>(inner);
      changes = changes || (read && but.contains(read->array));
    });
    if (!changes) calls.push_back(node);
  });
  return calls;
}

bool contains(Expr e, Expr node) {
  bool found = false;
  if (e) visit(e, [&](Expr inner) { found = found || inner == node; });
  return found;
}

}  // namespace

/// In the copy of unrolled dimensions that is being written.
Expr StageNest::at_copy(Expr e) {
  if (fixed_.empty()) return e;
  return rewrite(t_.pool(), e, [&](Expr node) {
    const IndexRef* ref = as<IndexRef>(node);
    if (!ref) return Expr{};
    const auto found = fixed_.find(ref->dim);
    return found == fixed_.end() ? Expr{} : found->second;
  });
}

/// The expression as it is at this point of the code: unrolled indices replaced, rules dropped inside.
Expr StageNest::at_point(Expr e) {
  if (!e) return e;
  if (!kept_calls_.empty())
    e = rewrite(t_.pool(), e, [&](Expr node) {
      const auto kept = std::ranges::find(kept_calls_, node, &std::pair<Expr, Expr>::first);
      return kept == kept_calls_.end() ? Expr{} : kept->second;
    });
  e = use_running(at_copy(e));
  if (step_) e = work_out_divisions(t_, e, *step_);
  if (!fixed_.empty()) e = fold_constants(e);
  if (!settled_.empty()) e = use_settled(e);
  if (interior_) e = assume_interior(t_, e, interior_index_);
  return e;
}

/// Running values are in local variables.
Expr StageNest::use_running(Expr e) {
  if (!std::ranges::any_of(roles_, &Role::runs)) return e;
  return rewrite(t_.pool(), e, [&](Expr node) -> Expr {
    const Read* read = as<Read>(node);
    if (!read || !read->rules.empty()) return {};
    const auto role =
        std::ranges::find_if(roles_, [&](const Role& r) { return r.runs && r.output->array == read->array; });
    return role == roles_.end() ? Expr{} : t_.read(role->running);
  });
}

/// Elements of constants at literal subscripts are literals.
Expr StageNest::fold_constants(Expr e) {
  const Program& program = t_.program();
  return rewrite(t_.pool(), e, [&](Expr node) -> Expr {
    const Read* read = as<Read>(node);
    if (!read) return {};
    const auto constant = std::find_if(program.constants.begin(), program.constants.end(),
                                       [&](const Constant& c) { return c.array == read->array; });
    if (constant == program.constants.end()) return {};
    std::int64_t position = 0;
    for (std::size_t s = 0; s < read->rules.size(); ++s) {
      const Literal *at = as<Literal>(node->args[s]), *extent = as<Literal>(program[read->array].shape[s]);
      if (!at || !extent || at->value.i < 0 || at->value.i >= extent->value.i) return {};
      position = position * extent->value.i + at->value.i;
    }
    return t_.pool().literal(constant->elements[static_cast<std::size_t>(position)]);
  });
}

/// Boundary rules that were applied before the loop.
Expr StageNest::use_settled(Expr e) {
  return rewrite(t_.pool(), e, [&](Expr node) -> Expr {
    const Read* read = as<Read>(node);
    if (!read) return {};
    std::vector<Boundary> rules = read->rules;
    std::vector<Expr> subscripts;
    for (std::size_t s = 0; s < rules.size(); ++s) {
      subscripts.push_back(use_settled(node->args[s]));
      const Expr extent = t_.program()[read->array].shape[s];
      for (const Settled& known : settled_) {
        if (known.subscript != node->args[s] || known.rule != rules[s] || known.extent != extent) continue;
        subscripts.back() = t_.index(known.index);
        rules[s] = Boundary::Inside;
        break;
      }
    }
    if (rules == read->rules) return {};
    const bool falls_back = node->args.size() > rules.size();
    return t_.pool().read(read->array, node->type, std::move(subscripts), std::move(rules),
                          falls_back ? use_settled(node->args.back()) : Expr{});
  });
}

/// Where the target takes the value of this point.
std::vector<Expr> StageNest::place(const Role& role) {
  std::vector<Expr> at = role.prefix;
  for (Expr e : role.output->at) at.push_back(at_point(e));
  return at;
}

/// By subscript of `place`, or empty: may it be outside of the target?
std::vector<bool> StageNest::checks_of(const Role& role) const {
  if (role.checked.empty()) return {};
  std::vector<bool> checks(role.prefix.size());
  checks.insert(checks.end(), role.checked.begin(), role.checked.end());
  return checks;
}

/// What the output adds to at this point.
Expr StageNest::old_value(const Role& role) {
  const ArrayId old = *role.output->into;
  std::vector<Boundary> rules(role.output->at.size(), Boundary::Inside);
  for (std::size_t s = 0; s < role.checked.size(); ++s)
    if (role.checked[s]) rules[s] = Boundary::Checked;
  std::vector<Expr> at;
  for (Expr e : role.output->at) at.push_back(at_point(e));
  return t_.pool().read(old, t_.program()[old].type, std::move(at), std::move(rules));
}

Statement StageNest::store(const Role& role, std::vector<Expr> at, Expr value) {
  Statement put = t_.put(role.target, std::move(at), value);
  std::get<Put>(put.kind).checked = checks_of(role);
  return put;
}

namespace {

/// Takes the effects out of code that runs a second time to learn sizes only.
void drop_effects(Code& code) {
  std::erase_if(code,
                [](const Statement& statement) { return std::holds_alternative<Perform>(statement.kind); });
  for (Statement& statement : code) {
    std::visit(
        [](auto& s) {
          if constexpr (requires { s.body; }) drop_effects(s.body);
          if constexpr (requires { s.then; }) {
            drop_effects(s.then);
            drop_effects(s.otherwise);
          }
        },
        statement.kind);
  }
}

}  // namespace

/// What a block of the stage computes; a first pass has no effects.
Code StageNest::block_code(int branch) {
  Code code = around_.block(branch);
  if (first_pass_) drop_effects(code);
  return code;
}

Code StageNest::leaf() {
  if (const Branch* branch = std::get_if<Branch>(&stage_.body)) {
    If split{at_point(branch->condition), {}, {}};
    split.then = block_code(0);
    append(split.then, settle(*branch->then, true));
    append(split.then, outputs(branch->then.get()));
    append(split.then, around_.release(0));
    split.otherwise = block_code(1);
    append(split.otherwise, settle(*branch->otherwise, false));
    append(split.otherwise, outputs(branch->otherwise.get()));
    append(split.otherwise, around_.release(1));
    Code code;
    code.push_back({std::move(split)});
    append(code, effects());
    return code;
  }
  if (const Nested* nested = std::get_if<Nested>(&stage_.body)) {
    Code code = block_code(0);
    append(code, outputs(nested->block.get()));
    append(code, effects());
    append(code, around_.release(0));
    return code;
  }
  Code code = outputs(nullptr);
  append(code, effects());
  kept_calls_.clear();
  return code;
}

/// Calls that the first condition makes at every point, and that others, or the values, make as well: their
/// results are kept.
Code StageNest::keep_calls() {
  Code code;
  kept_calls_.clear();
  const Role* first = nullptr;
  for (const Role& role : roles_)
    if (!first && active(role)) first = &role;
  if (!first || !first->output->guard || !std::holds_alternative<Formula>(stage_.body) || !fixed_.empty() ||
      !takes_single_points(stage_))
    return code;
  std::set<ArrayId> own;
  for (const Role& role : roles_) own.insert(role.output->array);
  // Operands come before what is made of them.
  std::map<int, std::pair<Expr, int>> uses;
  for (const Expr call : sure_calls(first->output->guard, own)) {
    int& count = uses.try_emplace(call->number, call, 0).first->second.second;
    for (const Role& role : roles_) {
      if (!active(role)) continue;
      count += contains(role.output->guard, call);
      if (!first_pass_) count += contains(role.output->value, call) + contains(role.output->key, call);
    }
  }
  for (const auto& [number, use] : uses) {
    const auto& [call, count] = use;
    if (count < 2) continue;
    const Expr value = at_point(call);
    const ArrayId kept = t_.new_variable(t_.program()[first->output->array].name + "_value", call->type);
    code.push_back({Local{kept, value}});
    kept_calls_.emplace_back(call, t_.read(kept));
  }
  return code;
}

/// What the point yields for every output; `block` is the one that ran, if any.
Code StageNest::outputs(const Block* block) {
  Code code = keep_calls();
  // Lanes take conditions side by side.
  const bool nests = !first_pass_ && takes_single_points(stage_);
  for (Role& role : roles_) {
    if (!active(role)) continue;
    const Output& output = *role.output;
    Expr value = at_point(output.value);
    Code body;
    if (!value) {
      const ArrayId result = block->results[role.position];
      const std::vector<Expr> shape = t_.program()[result].shape;
      if (is_made_there(role, *block)) continue;
      if (!shape.empty()) {
        // An array per point: its elements follow the stage's own subscripts.
        const std::vector<Expr> here = place(role);
        body = over_elements(t_, "e", shape, [&](std::vector<Expr> indices) {
          std::vector<Expr> at = here;
          at.insert(at.end(), indices.begin(), indices.end());
          Code copy;
          copy.push_back(store(role, at, t_.read(result, indices)));
          return copy;
        });
        add_guarded(t_, code, at_point(output.guard), std::move(body), nests);
        continue;
      }
      value = t_.read(result);
    }
    // Whatever the guard says, the element has a point. (An inner fold hands on a value without any.)
    if (role.touched && role.folds.size() == 1)
      code.push_back(t_.put(role.touched, {}, t_.pool().boolean(true)));
    add_guarded(t_, code, at_point(output.guard), consume(role, value), nests);
  }
  return code;
}

Code StageNest::effects() {
  Code code;
  if (first_pass_) return code;
  for (const Effect& effect : stage_.effects) {
    Effect here = effect;
    for (auto& argument : here.arguments) {
      if (Expr* e = std::get_if<Expr>(&argument)) *e = at_point(*e);
    }
    here.guard = {};
    Code body;
    body.push_back({Perform{std::move(here)}});
    add_guarded(t_, code, at_point(effect.guard), std::move(body));
  }
  return code;
}

Code StageNest::consume(Role& role, Expr value) {
  if (role.folds.empty()) return complete(role, value);
  return fold_into(role.folds.back(), role, value);
}

Code StageNest::fold_into(const FoldGroup& group, const Role& role, Expr value) {
  Code code;
  if (role.tile_loop >= 0) {
    code.push_back(t_.accumulate(role.held.at(copy_in(role)), lane_in(role), value, group.op));
    return code;
  }
  if (group.in_memory) {
    code.push_back({Put{role.target, place(role), value, group.op, checks_of(role)}});
    return code;
  }
  if (!group.seen) {
    code.push_back(t_.accumulate(group.accumulator, {}, value, group.op));
    return code;
  }
  If first{t_.read(group.seen), {}, {}};
  first.then.push_back(t_.accumulate(group.accumulator, {}, value, group.op));
  first.otherwise.push_back(t_.put(group.accumulator, {}, value));
  first.otherwise.push_back(t_.put(group.seen, {}, t_.pool().boolean(true)));
  code.push_back({std::move(first)});
  return code;
}

Code StageNest::complete(Role& role, Expr value) {
  Code code;
  if (role.grows) {
    code.push_back({Push{role.buckets.values, role.buckets.values_count, value}});
    return code;
  }
  if (role.shape == Shape::Append) {
    const Role& counter = role.counts_for < 0 ? role : roles_[static_cast<std::size_t>(role.counts_for)];
    if (!first_pass_) code.push_back(t_.put(role.target, {t_.read(counter.running)}, value));
    if (role.counts_for >= 0) return code;
    code.push_back(t_.accumulate(role.running, {}, t_.number(1), t_.plus()));
    return code;
  }
  if (role.shape == Shape::Group) {
    // The role whose table it is comes first and has found the bucket already.
    if (role.table_of < 0) code.push_back(find_bucket(role, at_point(role.output->key)));
    append(code, into_bucket(role, value));
    return code;
  }
  if (role.scan_dim >= 0) return scan_step(role, value);
  if (view_of(role)) {
    code.push_back(into_view(role, value));
    return code;
  }
  const auto scatter = std::find_if(role.output->combine.begin(), role.output->combine.end(),
                                    [](const Combine& c) { return is<Scatter>(c); });
  if (scatter == role.output->combine.end()) {
    code.push_back(store(role, place(role), value));
    return code;
  }
  const auto& op = std::get<Scatter>(*scatter).op;
  Put put{role.target, place(role), value, op, checks_of(role)};
  if (!op) put.value = std::get<Put>(t_.put(role.target, {}, value).kind).value;
  code.push_back({std::move(put)});
  return code;
}

/// The strip that the current copy writes to; null: the target itself.
ArrayId StageNest::view_of(const Role& role) const {
  return role.views.empty() ? ArrayId{} : role.views.at(copy_in(role));
}

Statement StageNest::into_view(const Role& role, Expr value) {
  const Expr index = at_point(t_.index(stage_.dims[levels_[point_level_].dim].id));
  return t_.put(view_of(role), {view_lane_ ? view_lane_ : t_.sub(index, role.view_origin)}, value);
}

Code StageNest::scan_step(Role& role, Expr value) {
  const Scan& scan = std::get<Scan>(role.output->combine[role.scan_dim]);
  Code code;
  if (!role.scan_in_memory) {
    if (role.running_seen) {
      If first{t_.read(role.running_seen), {}, {}};
      first.then.push_back(t_.accumulate(role.running, {}, value, scan.op));
      first.otherwise.push_back(t_.put(role.running, {}, value));
      first.otherwise.push_back(t_.put(role.running_seen, {}, t_.pool().boolean(true)));
      code.push_back({std::move(first)});
    } else {
      code.push_back(t_.accumulate(role.running, {}, value, scan.op));
    }
    if (!only_learns(role) && !role.runs) code.push_back(store(role, place(role), t_.read(role.running)));
    return code;
  }
  // Other dimensions run inside: the element before is in the output itself.
  const Dim& dim = stage_.dims[role.scan_dim];
  const bool left = scan.from == Direction::Left;
  const Expr index = t_.index(dim.id);
  const Expr first = left ? ranges_[role.scan_dim].lo : t_.sub(ranges_[role.scan_dim].hi, t_.number(1));
  const Expr previous = left ? t_.sub(index, t_.number(1)) : t_.add(index, t_.number(1));
  std::vector<Expr> before;
  for (Expr e : place(role)) before.push_back(t_.substitute(e, dim.id, previous));
  If at_first{t_.compare(Prim::Eq, index, first), {}, {}};
  const Expr alone = scan.op.identity ? t_.combine(scan.op, scan.op.identity, value) : value;
  at_first.then.push_back(t_.put(role.target, place(role), alone));
  at_first.otherwise.push_back(
      t_.put(role.target, place(role), t_.combine(scan.op, t_.read(role.target, before), value)));
  code.push_back({std::move(at_first)});
  return code;
}

Code StageNest::open(Role& role, int level) {
  Code code;
  if (!active(role)) return code;
  if (begins_part(role, level)) append(code, open_buckets(role));
  if (role.running && role.running_level == level) {
    if (role.shape == Shape::Append) {
      Expr start = t_.number(0);
      if (role.sliced)
        start = start_of_slice(role, ranges_[0].lo);
      else if (!first_pass_ && role.output->offsets)
        start = t_.read(*role.output->offsets, {row_of(role)});
      else if (!first_pass_ && part_)
        start = t_.read(role.starts, {t_.index(*part_)});
      code.push_back({Local{role.running, start}});
    } else {
      const Operator& op = std::get<Scan>(role.output->combine[role.scan_dim]).op;
      const bool resumes = !first_pass_ && role.starts;
      code.push_back({Local{role.running, resumes ? t_.read(role.starts, {t_.index(*part_)}) : op.identity}});
      if (role.running_seen) code.push_back({Local{role.running_seen, t_.pool().boolean(false)}});
    }
  }
  for (FoldGroup& group : role.folds) {
    if (group.first_level != level) continue;
    const bool outermost = &group == &role.folds.front();
    if (group.in_memory) {
      if (!role.output->accumulates || role.partial)
        add_guarded(t_, code, has_points(role), init_region(role, group));
      continue;
    }
    if (role.tile_loop >= 0) continue;
    const bool continues = outermost && role.output->accumulates && !role.partial;
    const Expr start = continues ? t_.pool().cast(group.op.type, old_value(role)) : group.op.identity;
    code.push_back({Local{group.accumulator, start}});
    if (group.seen) code.push_back({Local{group.seen, t_.pool().boolean(continues)}});
    if (outermost && role.touched) code.push_back({Local{role.touched, t_.pool().boolean(false)}});
  }
  if (role.tile_loop >= 0 && level == role.tile_loop + 1) append(code, open_tile(role));
  return code;
}

Code StageNest::close(Role& role, int level) {
  Code code;
  if (!active(role)) return code;
  if (role.tile_loop >= 0) return level == role.tile_loop + 1 ? close_tile(role) : code;
  for (std::size_t g = role.folds.size(); g-- > 0;) {
    const FoldGroup& group = role.folds[g];
    if (group.first_level != level || group.in_memory) continue;
    Code done;
    if (group.seen) {
      done.push_back(
          {Require{t_.read(group.seen), "stage '" + stage_.name +
                                            "' folds an empty range with an operator that has no identity"}});
    }
    const Expr value = t_.read(group.accumulator);
    append(done, g == 0 ? complete(role, value) : fold_into(role.folds[g - 1], role, value));
    if (g == 1 && role.touched) done.push_back(t_.put(role.touched, {}, t_.pool().boolean(true)));
    add_guarded(t_, code, g == 0 && role.touched ? t_.read(role.touched) : Expr{}, std::move(done));
  }
  if (begins_part(role, level)) append(code, shelve_buckets(role));
  if (!role.running || role.running_level != level || !(first_pass_ || role.sliced)) return code;
  if (role.shape == Shape::Dense && !role.starts) return code;  // a scan that goes from end to end each time
  if (role.output->offsets) {
    code.push_back(
        t_.put(*role.output->offsets, {t_.add(row_of(role), t_.number(1))}, t_.read(role.running)));
  } else {
    std::vector<Expr> at;
    if (part_) at.push_back(t_.index(*part_));
    Expr count = t_.read(role.running);
    if (role.sliced) count = t_.sub(count, start_of_slice(role, ranges_[0].lo));
    code.push_back(t_.put(role.starts, at, count));
  }
  return code;
}

/// The row of a nested collection that this point belongs to: row-major in the Cat indices.
Expr StageNest::row_of(const Role& role) {
  Expr row = t_.number(0);
  for (std::size_t d = 0; d < stage_.dims.size() && is<Cat>(role.output->combine[d]); ++d) {
    const Dim& dim = stage_.dims[d];
    row = t_.add(t_.mul(row, t_.sub(dim.hi, dim.lo)), t_.sub(t_.index(dim.id), dim.lo));
  }
  return row;
}

/// Does a fold that replaces elements have something to replace them with? Null: it is none.
Expr StageNest::has_points(const Role& role) {
  if (!role.output->into || role.output->accumulates || role.scan_dim >= 0) return {};
  Expr all;
  for (std::size_t d = 0; d < stage_.dims.size(); ++d) {
    if (!is<Fold>(role.output->combine[d])) continue;
    const Expr some = t_.compare(Prim::Lt, at_point(stage_.dims[d].lo), at_point(stage_.dims[d].hi));
    all = all ? t_.pool().apply(Prim::And, {all, some}) : some;
  }
  return all;
}

/// Sets the part of the target that the loops inside of the fold accumulate into to the identity.
Code StageNest::init_region(const Role& role, const FoldGroup& group) {
  std::vector<int> inside;
  for (int l = group.first_level; l < static_cast<int>(levels_.size()); ++l) {
    const int dim = levels_[l].dim;
    if (is<Fold>(role.output->combine[dim])) continue;
    const auto piece = pieces_.find(dim);
    if (piece != pieces_.end() && piece->second.kind == Piece::Kind::Single) continue;  // its loop is open
    if (std::find(inside.begin(), inside.end(), dim) == inside.end()) inside.push_back(dim);
  }
  Code code;
  code.push_back(store(role, place(role), group.op.identity));
  for (std::size_t d = inside.size(); d-- > 0;) {
    For loop{.index = stage_.dims[inside[d]].id, .lo = ranges_[inside[d]].lo, .hi = ranges_[inside[d]].hi};
    loop.by = d + 1 == inside.size() ? By::Simd : By::Seq;
    loop.body = std::move(code);
    code = {};
    code.push_back({std::move(loop)});
  }
  return code;
}

}  // namespace twill::nest
