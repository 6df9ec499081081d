// Groups: buckets by key while the loops run, private ones for parts, which are joined in order, and the
// arrays that are made of them in the end.
#include "emit/stage_nest.h"
#include "program/buckets.h"

namespace twill::nest {

namespace {

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

}  // namespace

/// Parts have buckets of their own, from the loop inside of that over parts on.
bool StageNest::begins_part(const Role& role, int level) const {
  return role.shelf && level > 0 && levels_[static_cast<std::size_t>(level) - 1].cut.kind == Cut::Kind::Parts;
}

/// All that use the table of a role, itself first.
std::vector<const StageNest::Role*> StageNest::users_of_table(const Role& role) const {
  std::vector<const Role*> users;
  for (const Role& other : roles_)
    if (&other == &role || other.table_of == role.position) users.push_back(&other);
  return users;
}

StageNest::Buckets StageNest::new_buckets(const Role& role, const std::string& suffix) {
  const Output& output = *role.output;
  const std::string name = t_.program()[output.array].name;
  const Type value = output.value ? output.value->type : t_.program()[output.array].type;
  const auto growable = [&](const std::string& what, const Type& type, ArrayId& array, ArrayId& count) {
    count = t_.new_variable(name + "_" + what + suffix + "_count", Scalar::I64);
    array = t_.new_array(name + "_" + what + suffix, type, {t_.read(count)});
  };
  Buckets buckets;
  if (role.shape == Shape::Group && role.table_of < 0) {
    const Type key = t_.program()[*output.keys].type;
    growable("seen", key, buckets.keys, buckets.count);
    buckets.table = t_.new_variable(name + "_table" + suffix, Scalar::I64);
  }
  growable("values", value, buckets.values, buckets.values_count);
  if (role.shape == Shape::Group && output.offsets)
    growable("numbers", Scalar::I64, buckets.numbers, buckets.numbers_count);
  return buckets;
}

/// A place for what the parts leave behind.
Code StageNest::open_shelf(Role& role) {
  const std::string name = t_.program()[role.output->array].name;
  role.shelf = t_.new_array(name + "_shelf", Scalar::I64, {t_.mul(parts_, t_.number(board))});
  return single({Allocate{role.shelf}});
}

Expr StageNest::on_board(Expr part, std::int64_t place) {
  return t_.add(t_.mul(part, t_.number(board)), t_.number(place));
}

Code StageNest::open_group(Role& role) {
  const Output& output = *role.output;
  const std::string name = t_.program()[output.array].name;
  role.buckets = new_buckets(role, "");
  Code code;
  if (role.table_of < 0) {
    role.number = t_.new_variable(name + "_number", Scalar::I64);
    code.push_back({Born{as<SizeRef>(bucket_count(t_.program(), output))->symbol}});
  } else {
    const Role& first = roles_[static_cast<std::size_t>(role.table_of)];
    role.number = first.number;
    role.buckets.keys = first.buckets.keys;
    role.buckets.count = first.buckets.count;
    role.buckets.table = first.buckets.table;
  }
  if (output.offsets) code.push_back({Born{as<SizeRef>(t_.program()[output.array].shape.front())->symbol}});
  if (role.schedule.merge == How::Partial) {
    append(code, open_shelf(role));
  } else {
    append(code, open_buckets(role));
  }
  return code;
}

Code StageNest::open_buckets(const Role& role) {
  const Buckets& own = role.buckets;
  Code code;
  if (own.table && role.table_of < 0) {
    code.push_back({Growable{own.keys, own.count}});
    code.push_back({Table{own.table, own.keys, own.count}});
    code.push_back({Local{role.number, t_.number(0)}});
  }
  code.push_back({Growable{own.values, own.values_count}});
  if (own.numbers) code.push_back({Growable{own.numbers, own.numbers_count}});
  return code;
}

/// The number of the bucket of a key; a new one if need be, in which values begin with the identities of
/// their operators.
Statement StageNest::find_bucket(const Role& role, Expr key) {
  const Buckets& own = role.buckets;
  Lookup lookup{own.table, own.keys, own.count, key, role.number, {}};
  for (const Role* user : users_of_table(role)) {
    const Operator* op = bucket_operator(*user->output);
    if (!user->buckets.numbers && op && op->identity)
      lookup.if_new.push_back({user->buckets.values, user->buckets.values_count, op->identity});
  }
  return {std::move(lookup)};
}

Code StageNest::into_bucket(const Role& role, Expr value) {
  const Buckets& own = role.buckets;
  Code code;
  if (own.numbers) {
    code.push_back({Push{own.numbers, own.numbers_count, t_.read(role.number)}});
    code.push_back({Push{own.values, own.values_count, value}});
    return code;
  }
  const Operator& op = *bucket_operator(*role.output);
  Statement further = t_.accumulate(own.values, {t_.read(role.number)}, value, op);
  if (op.identity) return single(std::move(further));
  If first{t_.compare(Prim::Eq, t_.read(role.number), t_.read(own.values_count)), {}, {}};
  first.then.push_back({Push{own.values, own.values_count, value}});
  first.otherwise.push_back(std::move(further));
  code.push_back({std::move(first)});
  return code;
}

/// At the end of a part.
Code StageNest::shelve_buckets(const Role& role) {
  const Buckets& own = role.buckets;
  const auto at = [&](std::int64_t place) { return on_board(t_.index(*part_), place); };
  Code code;
  if (own.table && role.table_of < 0) {
    code.push_back({Shelve{own.keys, own.count, role.shelf, at(keys_at)}});
    code.push_back({Shelve{own.table, {}, role.shelf, at(table_at)}});
  }
  code.push_back({Shelve{own.values, own.values_count, role.shelf, at(values_at)}});
  if (role.grows && role.starts)
    code.push_back(t_.put(role.starts, {t_.index(*part_)}, t_.read(own.values_count)));
  if (own.numbers) code.push_back({Shelve{own.numbers, own.numbers_count, role.shelf, at(numbers_at)}});
  return code;
}

/// After the parts: their buckets go into those of the first one, in order, so that keys keep the order of
/// their first occurrence. Values that are collected stay where they are; only their numbers change.
Code StageNest::join_groups(const Role& role) {
  const Buckets& own = role.buckets;
  Code code;
  code.push_back({Stop{}});  // a part that failed has left nothing
  code.push_back({Unshelve{own.keys, own.count, role.shelf, t_.number(keys_at), true}});
  code.push_back({Unshelve{own.table, {}, role.shelf, t_.number(table_at)}});
  for (const Role* user : users_of_table(role)) {
    const Buckets& theirs = user->buckets;
    if (!theirs.numbers)
      code.push_back({Unshelve{theirs.values, theirs.values_count, user->shelf, t_.number(values_at), true}});
  }
  code.push_back({Local{role.number, t_.number(0)}});
  code.push_back(each(t_, "p", t_.number(1), parts_, [&](Expr p) { return join_part(role, p); }));
  return code;
}

/// The buckets of a part join those of the first one; where values are collected, they get the numbers that
/// their keys have among all.
Code StageNest::join_part(const Role& role, Expr part) {
  const auto at = [&](std::int64_t place) { return on_board(part, place); };
  const std::vector<const Role*> users = users_of_table(role);
  std::vector<Buckets> parts;
  for (const Role* user : users) parts.push_back(new_buckets(*user, "_part"));
  const Buckets& theirs = parts.front();
  Code code;
  code.push_back({Unshelve{theirs.keys, theirs.count, role.shelf, at(keys_at)}});
  code.push_back({Unshelve{theirs.table, {}, role.shelf, at(table_at)}});
  code.push_back({Free{theirs.table}});
  bool collects = false;
  for (std::size_t u = 0; u < users.size(); ++u) {
    const Buckets& values = parts[u];
    collects = collects || values.numbers;
    if (values.numbers)
      code.push_back({Unshelve{values.numbers, values.numbers_count, users[u]->shelf, at(numbers_at)}});
    else
      code.push_back({Unshelve{values.values, {}, users[u]->shelf, at(values_at)}});
  }
  const ArrayId joint = collects ? t_.new_array(t_.program()[role.buckets.table].name + "_joint", Scalar::I64,
                                                {t_.read(theirs.count)})
                                 : ArrayId{};
  if (collects) code.push_back({Allocate{joint}});
  code.push_back(each(t_, "b", t_.number(0), t_.read(theirs.count), [&](Expr b) {
    Code join = single(find_bucket(role, t_.read(theirs.keys, {b})));
    if (collects) join.push_back(t_.put(joint, {b}, t_.read(role.number)));
    for (std::size_t u = 0; u < users.size(); ++u)
      if (!parts[u].numbers) append(join, into_bucket(*users[u], t_.read(parts[u].values, {b})));
    return join;
  }));
  for (const Buckets& values : parts) {
    if (!values.numbers) {
      code.push_back({Free{values.values}});
      continue;
    }
    code.push_back(each(t_, "e", t_.number(0), t_.read(values.numbers_count), [&](Expr e) {
      return single(t_.put(values.numbers, {e}, t_.read(joint, {t_.read(values.numbers, {e})})));
    }));
  }
  if (collects) code.push_back({Free{joint}});
  code.push_back({Free{theirs.keys}});
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
    const auto at = [&](std::int64_t place) { return on_board(p, place); };
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
  const Expr groups = bucket_count(t_.program(), output);
  Code code;
  if (role.table_of < 0) code.push_back({SetSize{as<SizeRef>(groups)->symbol, t_.read(own.count)}});
  if (output.keys && !role.schedule.keys_unread) {
    append(code, allocate(*output.keys));
    code.push_back(each(t_, "e", zero, groups,
                        [&](Expr e) { return single(t_.put(*output.keys, {e}, t_.read(own.keys, {e}))); }));
  }
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
             return single(t_.accumulate(*output.offsets, {t_.add(number, one)}, one, t_.plus()));
           }));
    const ArrayId next = t_.new_array(t_.program()[output.array].name + "_next", Scalar::I64, {groups});
    code.push_back({Allocate{next}});
    code.push_back(each(t_, "e", zero, groups, [&](Expr e) {
      Code body = single(t_.put(next, {e}, t_.read(*output.offsets, {e})));
      body.push_back(
          t_.accumulate(*output.offsets, {t_.add(e, one)}, t_.read(*output.offsets, {e}), t_.plus()));
      return body;
    }));
    const SymbolId length = as<SizeRef>(t_.program()[output.array].shape.front())->symbol;
    code.push_back({SetSize{length, t_.read(*output.offsets, {groups})}});
    append(code, allocate(output.array));
    append(code, for_each_value(role, true, [&](Expr number, Expr value) {
             const DimId bucket = t_.new_index("number");
             Code body = single({Let{bucket, number}});
             body.push_back(t_.put(output.array, {t_.read(next, {t_.index(bucket)})}, value));
             body.push_back(t_.accumulate(next, {t_.index(bucket)}, one, t_.plus()));
             return body;
           }));
    code.push_back({Free{next}});
  }
  if (role.shelf) code.push_back({Free{role.shelf}});
  // The last one that uses the table.
  const Role& first = role.table_of < 0 ? role : roles_[static_cast<std::size_t>(role.table_of)];
  if (users_of_table(first).back() != &role) return code;
  code.push_back({Free{own.keys}});
  code.push_back({Free{own.table}});
  return code;
}

}  // namespace twill::nest
