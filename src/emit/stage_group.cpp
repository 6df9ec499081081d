// Groups: buckets by key while the loops run, private ones for parts, which are joined in order, and the
// arrays that are made of them in the end.
#include "emit/stage_nest.h"

namespace twill::nest {

namespace {

/// The places of what a part leaves behind, on its board of the shelf.
enum Board : std::int64_t { keys_at = 0, table_at = 2, values_at = 4, numbers_at = 6, board = 8 };

void append(Code& code, Code more) {
  code.insert(code.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

Code single(Statement statement) {
  Code code;
  code.push_back(std::move(statement));
  return code;
}

Statement each(Tables& t, const std::string& name, Expr lo, Expr hi, const std::function<Code(Expr)>& body) {
  For loop{.index = t.new_index(name), .lo = lo, .hi = hi};
  loop.body = body(t.index(loop.index));
  return {std::move(loop)};
}

Operator plus(Tables& t) { return {Scalar::I64, Prim::Add, {}, t.number(0), true, true}; }

}  // namespace

/// Parts have buckets of their own, from the loop inside of that over parts on.
bool StageNest::begins_part_of_group(const Role& role, int level) const {
  return role.shelf && level > 0 && levels_[static_cast<std::size_t>(level) - 1].cut.kind == Cut::Kind::Parts;
}

StageNest::Buckets StageNest::new_buckets(const Role& role, const std::string& suffix) {
  const Output& output = *role.output;
  const std::string name = t_.program()[output.array].name;
  const Type key = t_.program()[*output.keys].type,
             value = output.value ? output.value->type : t_.program()[output.array].type;
  const auto growable = [&](const std::string& what, const Type& type, ArrayId& array, ArrayId& count) {
    count = t_.new_variable(name + "_" + what + suffix + "_count", Scalar::I64);
    array = t_.new_array(name + "_" + what + suffix, type, {t_.read(count)});
  };
  Buckets buckets;
  growable("seen", key, buckets.keys, buckets.count);
  growable("values", value, buckets.values, buckets.values_count);
  if (output.offsets) growable("numbers", Scalar::I64, buckets.numbers, buckets.numbers_count);
  buckets.table = t_.new_variable(name + "_table" + suffix, Scalar::I64);
  return buckets;
}

Code StageNest::open_group(Role& role) {
  const Output& output = *role.output;
  const std::string name = t_.program()[output.array].name;
  role.buckets = new_buckets(role, "");
  role.number = t_.new_variable(name + "_number", Scalar::I64);
  Code code;
  code.push_back({Born{as<SizeRef>(t_.program()[*output.keys].shape.front())->symbol}});
  if (output.offsets) code.push_back({Born{as<SizeRef>(t_.program()[output.array].shape.front())->symbol}});
  if (role.schedule.merge == How::Partial) {
    role.shelf = t_.new_array(name + "_shelf", Scalar::I64, {t_.mul(parts_, t_.number(board))});
    code.push_back({Allocate{role.shelf}});
  } else {
    append(code, open_buckets(role));
  }
  return code;
}

Code StageNest::open_buckets(const Role& role) {
  const Buckets& own = role.buckets;
  Code code;
  code.push_back({Growable{own.keys, own.count}});
  code.push_back({Table{own.table, own.keys, own.count}});
  code.push_back({Growable{own.values, own.values_count}});
  if (own.numbers) code.push_back({Growable{own.numbers, own.numbers_count}});
  code.push_back({Local{role.number, t_.number(0)}});
  return code;
}

Code StageNest::into_bucket(const Role& role, Expr key, Expr value) {
  const Buckets& own = role.buckets;
  Code code = single({Lookup{own.table, own.keys, own.count, key, role.number}});
  if (own.numbers) {
    code.push_back({Push{own.numbers, own.numbers_count, t_.read(role.number)}});
    code.push_back({Push{own.values, own.values_count, value}});
    return code;
  }
  const Operator& op = *std::get<Group>(role.output->combine.front()).op;
  If fresh{t_.compare(Prim::Eq, t_.read(role.number), t_.read(own.values_count)), {}, {}};
  const Expr first = op.identity ? t_.combine(op, op.identity, value) : value;
  fresh.then.push_back({Push{own.values, own.values_count, first}});
  fresh.otherwise.push_back(t_.accumulate(own.values, {t_.read(role.number)}, value, op));
  code.push_back({std::move(fresh)});
  return code;
}

/// At the end of a part.
Code StageNest::shelve_buckets(const Role& role) {
  const Buckets& own = role.buckets;
  const auto at = [&](std::int64_t place) {
    return t_.add(t_.mul(t_.index(*part_), t_.number(board)), t_.number(place));
  };
  Code code;
  code.push_back({Shelve{own.keys, own.count, role.shelf, at(keys_at)}});
  code.push_back({Shelve{own.table, {}, role.shelf, at(table_at)}});
  code.push_back({Shelve{own.values, own.values_count, role.shelf, at(values_at)}});
  if (own.numbers) code.push_back({Shelve{own.numbers, own.numbers_count, role.shelf, at(numbers_at)}});
  return code;
}

/// After the parts: their buckets go into those of the first one, in order, so that keys keep the order of
/// their first occurrence. Values that are collected stay where they are; only their numbers change.
Code StageNest::join_groups(const Role& role) {
  const Buckets& own = role.buckets;
  const bool folds = !own.numbers;
  Code code;
  code.push_back({Stop{}});  // a part that failed has left nothing
  code.push_back({Unshelve{own.keys, own.count, role.shelf, t_.number(keys_at), true}});
  code.push_back({Unshelve{own.table, {}, role.shelf, t_.number(table_at)}});
  if (folds) code.push_back({Unshelve{own.values, own.values_count, role.shelf, t_.number(values_at), true}});
  code.push_back({Local{role.number, t_.number(0)}});
  code.push_back(each(t_, "p", t_.number(1), parts_, [&](Expr p) {
    const Buckets theirs = new_buckets(role, "_part");
    const auto at = [&](std::int64_t place) { return t_.add(t_.mul(p, t_.number(board)), t_.number(place)); };
    Code join;
    join.push_back({Unshelve{theirs.keys, theirs.count, role.shelf, at(keys_at)}});
    join.push_back({Unshelve{theirs.table, {}, role.shelf, at(table_at)}});
    join.push_back({Free{theirs.table}});
    if (folds) {
      join.push_back({Unshelve{theirs.values, {}, role.shelf, at(values_at)}});
      join.push_back(each(t_, "b", t_.number(0), t_.read(theirs.count), [&](Expr b) {
        return into_bucket(role, t_.read(theirs.keys, {b}), t_.read(theirs.values, {b}));
      }));
      join.push_back({Free{theirs.values}});
    } else {
      join.push_back({Unshelve{theirs.numbers, theirs.numbers_count, role.shelf, at(numbers_at)}});
      append(join, renumber(role, theirs));
    }
    join.push_back({Free{theirs.keys}});
    return join;
  }));
  return code;
}

/// The buckets of a part get the numbers that their keys have among all.
Code StageNest::renumber(const Role& role, const Buckets& theirs) {
  const Buckets& own = role.buckets;
  const ArrayId joint =
      t_.new_array(t_.program()[own.table].name + "_joint", Scalar::I64, {t_.read(theirs.count)});
  Code code = single({Allocate{joint}});
  code.push_back(each(t_, "b", t_.number(0), t_.read(theirs.count), [&](Expr b) {
    Code look = single({Lookup{own.table, own.keys, own.count, t_.read(theirs.keys, {b}), role.number}});
    look.push_back(t_.put(joint, {b}, t_.read(role.number)));
    return look;
  }));
  code.push_back(each(t_, "e", t_.number(0), t_.read(theirs.numbers_count), [&](Expr e) {
    return single(t_.put(theirs.numbers, {e}, t_.read(joint, {t_.read(theirs.numbers, {e})})));
  }));
  code.push_back({Free{joint}});
  return code;
}

/// All collected values in order, with the numbers of their buckets; the last time, their memory goes.
Code StageNest::for_each_value(const Role& role, bool last,
                               const std::function<Code(Expr number, Expr value)>& body) {
  const auto over = [&](const Buckets& buckets) {
    Code code = single(each(t_, "e", t_.number(0), t_.read(buckets.numbers_count), [&](Expr e) {
      return body(t_.read(buckets.numbers, {e}), t_.read(buckets.values, {e}));
    }));
    if (last) code.push_back({Free{buckets.numbers}});
    if (last) code.push_back({Free{buckets.values}});
    return code;
  };
  if (!role.shelf) return over(role.buckets);
  return single(each(t_, "p", t_.number(0), parts_, [&](Expr p) {
    const Buckets theirs = new_buckets(role, "_part");
    const auto at = [&](std::int64_t place) { return t_.add(t_.mul(p, t_.number(board)), t_.number(place)); };
    Code code;
    code.push_back({Unshelve{theirs.numbers, theirs.numbers_count, role.shelf, at(numbers_at)}});
    if (last) code.push_back({Unshelve{theirs.values, {}, role.shelf, at(values_at)}});
    append(code, over(theirs));
    return code;
  }));
}

Code StageNest::finish_group(const Role& role) {
  const Output& output = *role.output;
  const Buckets& own = role.buckets;
  const Expr zero = t_.number(0), one = t_.number(1);
  const Expr groups = t_.pool().size(as<SizeRef>(t_.program()[*output.keys].shape.front())->symbol);
  Code code;
  code.push_back({SetSize{as<SizeRef>(groups)->symbol, t_.read(own.count)}});
  append(code, allocate(*output.keys));
  code.push_back(each(t_, "e", zero, groups,
                      [&](Expr e) { return single(t_.put(*output.keys, {e}, t_.read(own.keys, {e}))); }));
  if (!output.offsets) {
    append(code, allocate(output.array));
    code.push_back(each(t_, "e", zero, groups,
                        [&](Expr e) { return single(t_.put(output.array, {e}, t_.read(own.values, {e}))); }));
    code.push_back({Free{own.values}});
  } else {
    // Counting sort of the values by the number of their key; equal numbers keep their order.
    append(code, allocate(*output.offsets));
    code.push_back(each(t_, "e", zero, t_.add(groups, one),
                        [&](Expr e) { return single(t_.put(*output.offsets, {e}, zero)); }));
    append(code, for_each_value(role, false, [&](Expr number, Expr) {
             return single(t_.accumulate(*output.offsets, {t_.add(number, one)}, one, plus(t_)));
           }));
    const ArrayId next = t_.new_array(t_.program()[output.array].name + "_next", Scalar::I64, {groups});
    code.push_back({Allocate{next}});
    code.push_back(each(t_, "e", zero, groups, [&](Expr e) {
      Code body = single(t_.put(next, {e}, t_.read(*output.offsets, {e})));
      body.push_back(
          t_.accumulate(*output.offsets, {t_.add(e, one)}, t_.read(*output.offsets, {e}), plus(t_)));
      return body;
    }));
    const SymbolId length = as<SizeRef>(t_.program()[output.array].shape.front())->symbol;
    code.push_back({SetSize{length, t_.read(*output.offsets, {groups})}});
    append(code, allocate(output.array));
    append(code, for_each_value(role, true, [&](Expr number, Expr value) {
             const DimId bucket = t_.new_index("number");
             Code body = single({Let{bucket, number}});
             body.push_back(t_.put(output.array, {t_.read(next, {t_.index(bucket)})}, value));
             body.push_back(t_.accumulate(next, {t_.index(bucket)}, one, plus(t_)));
             return body;
           }));
    code.push_back({Free{next}});
  }
  if (role.shelf) code.push_back({Free{role.shelf}});
  code.push_back({Free{own.keys}});
  code.push_back({Free{own.table}});
  return code;
}

}  // namespace twill::nest
