// Dense outputs.
#include "program/collect_dense.h"

#include "base/error.h"

#include <fmt/format.h>
#include <algorithm>

namespace twill {

DenseCollector::DenseCollector(Environment& environment, Formulas& formulas, const Stage& stage,
                               const Output& output)
    : environment_(environment),
      formulas_(formulas),
      stage_(stage),
      output_(output),
      shape_(environment, formulas, output.array),
      stored_(leaves_of(environment.program[output.array].type)) {
  for (Expr subscript : output.at) at_.push_back(formulas.add(subscript));
  find_levels();
  const bool scatters = std::ranges::any_of(output.combine, is<Scatter>);
  const bool has_identity = meeting_ && meeting_->identity >= 0;
  starts_complete_ = output.into || has_identity || (scatters && !meeting_) || is_running(output);
  accumulates_ = output.into && meeting_ && (output.accumulates || scatters);
  overwrites_ = output.into && meeting_ && !accumulates_;
  reads_itself_ = reads(stage, output.array);
}

void DenseCollector::find_levels() {
  for (std::size_t k = 0; k < output_.combine.size(); ++k) {
    const Combine& combine = output_.combine[k];
    const Operator* op = operator_of(combine);
    if (!op) continue;
    const bool joins =
        !levels_.empty() &&
        (is_running(output_) || (!is<Scan>(combine) && !levels_.back().is_scan && *levels_.back().op == *op));
    if (joins) continue;
    if (is<Scatter>(combine) && !levels_.empty())
      fail(Fault::Limit, "E0515", output_.place ? output_.place : stage_.place,
           fmt::format("stage '{}' scatters '{}' inside of a fold or scan with another operator", stage_.name,
                       environment_.program[output_.array].name),
           "make it two stages");
    Level level{op, is<Scan>(combine), k};
    if (op->identity) level.identity = formulas_.add(op->identity);
    for (std::size_t inside = k + 1; inside < output_.combine.size(); ++inside)
      if (!is<Fold>(output_.combine[inside]) && !is_running(output_)) level.key_dims.push_back(inside);
    levels_.push_back(std::move(level));
  }
  if (levels_.empty() || levels_.front().is_scan) return;
  meeting_ = std::move(levels_.front());
  levels_.erase(levels_.begin());
}

DenseCollector::Value DenseCollector::identity(const Level& level) {
  if (level.identity < 0)
    fail_nothing_to_fold(environment_.where(output_.place), environment_.program[output_.array].name);
  const std::span<const Number> value = formulas_.value(level.identity);
  return {value.begin(), value.end()};
}

void DenseCollector::begin() {
  prepared_ = false;
  for (Level& level : levels_) level.held.clear();
  if (reads_itself_ || std::holds_alternative<Formula>(stage_.body)) prepare(nullptr);
}

/// Makes the array. The extents that come from a block's result may be born in the block: then they are
/// known with the first item only.
void DenseCollector::prepare(const Item* item) {
  const std::size_t rank = environment_.program[output_.array].shape.size();
  ensure(!item || at_.size() + item->shape.size() == rank,
         "interpret: an item has the rank that is left to it");
  std::vector<std::int64_t> shape;
  for (std::size_t d = 0; d < at_.size(); ++d) shape.push_back(shape_.extent(d));
  for (std::size_t d = at_.size(); d < rank; ++d)
    shape.push_back(item ? item->shape[d - at_.size()] : shape_.extent(d));
  shape_.settle(shape, at_.size());
  inner_count_ = element_count(std::span(shape).subspan(at_.size()));

  Data& data = environment_[output_.array];
  if (output_.into) {
    const Data& old = environment_[*output_.into];
    ensure(old.shape() == shape, "interpret: a new version has the shape of the old one");
    data = old;
  } else {
    data = Data(environment_.program[output_.array].type, std::move(shape));
  }
  const auto count = static_cast<std::size_t>(data.count());
  written_.assign(count, starts_complete_);
  if (meeting_) {
    started_.assign(count, false);
    combined_.assign(count * stored_.size(), {});
    if (starts_complete_ && !output_.into) {
      const Value start = identity(*meeting_);
      for (std::size_t i = 0; i < count; ++i)
        store_element(data, stored_, static_cast<std::int64_t>(i), start);
    }
  }
  const bool in_order = std::ranges::any_of(output_.combine, is<Seq>);
  environment_.written[static_cast<std::size_t>(output_.array.value)] = in_order ? &written_ : nullptr;
  prepared_ = true;
}

void DenseCollector::enter(std::size_t dim) {
  for (Level& level : levels_)
    if (level.dim == dim) level.held.clear();
}

void DenseCollector::leave(std::size_t dim) {
  for (std::size_t k = levels_.size(); k-- > 0;)
    if (levels_[k].dim == dim && !levels_[k].is_scan) hand_on(k);
}

void DenseCollector::take(const Item& item) {
  if (!prepared_) prepare(&item);
  if (!item.shape.empty()) {
    std::vector<std::int64_t> actual = environment_[output_.array].shape();
    std::ranges::copy(item.shape, actual.begin() + static_cast<std::ptrdiff_t>(at_.size()));
    if (actual != environment_[output_.array].shape()) shape_.settle(actual, actual.size());
  }
  const std::size_t width = stored_.size();
  for (std::int64_t inner = 0; inner < inner_count_; ++inner)
    offer(levels_.size(), item.numbers.subspan(static_cast<std::size_t>(inner) * width, width), inner);
}

void DenseCollector::skip() {
  if (levels_.empty() && !overwrites_) return;
  if (!prepared_) prepare(nullptr);
  for (std::int64_t inner = 0; inner < inner_count_; ++inner) offer(levels_.size(), {}, inner);
}

/// A value (or nothing) on its way out, with so many levels ahead.
void DenseCollector::offer(std::size_t ahead, std::span<const Number> value, std::int64_t inner) {
  if (ahead == 0) {
    if (!value.empty()) {
      put(value, inner);
    } else if (overwrites_) {
      touch(inner);
    }
    return;
  }
  Level& level = levels_[ahead - 1];
  std::vector<std::int64_t> key;
  for (std::size_t dim : level.key_dims) key.push_back(environment_[stage_.dims[dim].id]);
  key.push_back(inner);
  Value& held = level.held[std::move(key)];
  if (!value.empty()) {
    if (held.empty() && level.identity < 0) {
      held.assign(value.begin(), value.end());
    } else {
      if (held.empty()) held = identity(level);
      accumulate(environment_, *level.op, held, value);
    }
  }
  if (!level.is_scan) return;
  if (held.empty()) held = identity(level);
  offer(ahead - 1, held, inner);
}

/// The loop of an inner fold has ended: its accumulators are complete.
void DenseCollector::hand_on(std::size_t k) {
  if (!prepared_) prepare(nullptr);
  Level& level = levels_[k];
  if (level.key_dims.empty())
    for (std::int64_t inner = 0; inner < inner_count_; ++inner) level.held[{inner}];
  const auto complete = std::exchange(level.held, {});
  for (const auto& [key, held] : complete) {
    for (std::size_t i = 0; i < level.key_dims.size(); ++i)
      environment_[stage_.dims[level.key_dims[i]].id] = key[i];
    formulas_.forget();
    offer(k, held.empty() ? identity(level) : held, key.back());
  }
}

std::int64_t DenseCollector::position() {
  const std::vector<std::int64_t>& shape = environment_[output_.array].shape();
  std::int64_t flat = 0;
  for (std::size_t d = 0; d < at_.size(); ++d) {
    const std::int64_t index = formulas_.integer(at_[d]);
    if (index < 0 || index >= shape[d])
      fail_write_outside(environment_.where(output_.at[d]->place ? output_.at[d]->place : output_.place),
                         environment_.program[output_.array].name, static_cast<int>(d), index, shape[d]);
    flat = flat * shape[d] + index;
  }
  return flat;
}

/// Gives an element's accumulator its first value, if there is one before any value arrives.
bool DenseCollector::start(std::size_t element, std::span<Number> accumulator) {
  started_[element] = true;
  if (accumulates_) {
    const Data& data = environment_[output_.array];
    const std::byte* there = data.bytes() + element * byte_size(data.type());
    const std::vector<TypeLeaf> leaves = leaves_of(meeting_->op->type);
    for (std::size_t i = 0; i < stored_.size(); ++i)
      accumulator[i] = convert(load(stored_[i].scalar, there + stored_[i].offset), leaves[i].scalar);
    return true;
  }
  if (meeting_->identity < 0) return false;
  std::ranges::copy(identity(*meeting_), accumulator.begin());
  return true;
}

/// Stores a value at its element, or combines it with the one that is there.
void DenseCollector::put(std::span<const Number> value, std::int64_t inner) {
  const std::int64_t position_of_element = position() * inner_count_ + inner;
  const auto element = static_cast<std::size_t>(position_of_element);
  Data& data = environment_[output_.array];
  written_[element] = true;
  if (!meeting_) {
    store_element(data, stored_, position_of_element, value);
    return;
  }
  const std::span<Number> accumulator(combined_.data() + element * value.size(), value.size());
  if (started_[element] || start(element, accumulator)) {
    accumulate(environment_, *meeting_->op, accumulator, value);
  } else {
    std::ranges::copy(value, accumulator.begin());
  }
  store_element(data, stored_, position_of_element, accumulator);
}

/// The domain has a point for an element, but the point yields nothing: the old value is gone all the same.
/// Without an identity there is none at all, until a value arrives.
void DenseCollector::touch(std::int64_t inner) {
  const std::int64_t position_of_element = position() * inner_count_ + inner;
  const auto element = static_cast<std::size_t>(position_of_element);
  if (started_[element]) return;
  if (meeting_->identity < 0) {
    written_[element] = false;
    return;
  }
  const std::span<Number> accumulator(combined_.data() + element * stored_.size(), stored_.size());
  start(element, accumulator);
  store_element(environment_[output_.array], stored_, position_of_element, accumulator);
}

void DenseCollector::finish() {
  if (!prepared_) prepare(nullptr);
  environment_.written[static_cast<std::size_t>(output_.array.value)] = nullptr;
  const auto missing = std::ranges::find(written_, false);
  if (missing == written_.end()) return;
  const std::string& name = environment_.program[output_.array].name;
  if (meeting_) fail_nothing_to_fold(environment_.where(output_.place), name);

  std::vector<std::int64_t> indices;
  auto rest = static_cast<std::int64_t>(missing - written_.begin());
  const std::vector<std::int64_t>& shape = environment_[output_.array].shape();
  for (std::size_t d = shape.size(); d-- > 0; rest /= shape[d])
    indices.insert(indices.begin(), rest % shape[d]);
  fail_never_written(environment_.where(output_.place), name, fmt::format("[{}]", fmt::join(indices, ", ")));
}

}  // namespace twill
