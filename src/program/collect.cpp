// Collections: Append and Group; and what all collectors share.
#include "program/collect.h"

#include "base/error.h"
#include "program/collect_dense.h"

#include <fmt/format.h>
#include <algorithm>
#include <map>

namespace twill {

// ---- shapes and elements
// --------------------------------------------------------------------------------------

ShapeOf::ShapeOf(Environment& environment, Formulas& formulas, ArrayId array)
    : environment_(environment), formulas_(formulas), array_(environment.program[array]) {
  for (Expr extent : array_.shape) extents_.push_back(formulas.add(extent));
}

std::optional<std::int64_t>* ShapeOf::born(std::size_t dimension) {
  const auto* size = as<SizeRef>(array_.shape[dimension]);
  if (!size || environment_.program[size->symbol].origin != Symbol::Origin::Born) return nullptr;
  return &environment_.sizes[static_cast<std::size_t>(size->symbol.value)];
}

std::int64_t ShapeOf::extent(std::size_t dimension, std::int64_t otherwise) {
  if (const auto* size = born(dimension); size && !*size) return otherwise;
  return std::max<std::int64_t>(0, formulas_.integer(extents_[dimension]));
}

void ShapeOf::settle(std::span<const std::int64_t> actual, std::size_t first) {
  for (std::size_t d = first; d < actual.size(); ++d)
    if (auto* size = born(d)) *size = actual[d];
  formulas_.forget();
  std::vector<std::int64_t> declared;
  for (std::size_t d = 0; d < actual.size(); ++d) declared.push_back(extent(d));
  if (std::ranges::equal(declared, actual)) return;
  const Where where = environment_.where(array_.place);
  fail(Fault::User, "E0514", where.place,
       fmt::format("stage '{}' computes '{}' with shape [{}], but its shape is [{}]", where.stage,
                   array_.name, fmt::join(actual, ", "), fmt::join(declared, ", ")));
}

std::vector<Number> leaves_of_elements(const Data& data) {
  const std::vector<TypeLeaf> leaves = leaves_of(data.type());
  const std::size_t stride = byte_size(data.type());
  const auto count = static_cast<std::size_t>(data.count());
  std::vector<Number> numbers;
  numbers.reserve(count * leaves.size());
  for (std::size_t i = 0; i < count; ++i)
    for (const auto& [scalar, offset] : leaves)
      numbers.push_back(load(scalar, data.bytes() + i * stride + offset));
  return numbers;
}

void store_element(Data& data, std::span<const TypeLeaf> leaves, std::int64_t position,
                   std::span<const Number> value) {
  std::byte* at = data.bytes() + static_cast<std::size_t>(position) * byte_size(data.type());
  for (std::size_t i = 0; i < leaves.size(); ++i)
    store(convert(value[i], leaves[i].scalar), at + leaves[i].offset);
}

Data data_of(const Type& type, std::vector<std::int64_t> shape, std::span<const Number> numbers) {
  Data data(type, std::move(shape));
  const std::vector<TypeLeaf> leaves = leaves_of(type);
  for (std::int64_t i = 0, count = data.count(); i < count; ++i)
    store_element(data, leaves, i,
                  numbers.subspan(static_cast<std::size_t>(i) * leaves.size(), leaves.size()));
  return data;
}

namespace {

/// Defines an array of counts or positions.
void define_integers(Environment& environment, ShapeOf& shape, ArrayId array,
                     std::span<const std::int64_t> values) {
  std::vector<Number> numbers;
  for (std::int64_t value : values) numbers.push_back(Number::of(Scalar::I64, value));
  const std::vector<std::int64_t> actual = {static_cast<std::int64_t>(values.size())};
  environment[array] = data_of(environment.program[array].type, actual, numbers);
  shape.settle(actual);
}

/// Items one after the other, with the positions where rows (of the Cat dimensions) begin.
class AppendCollector : public Collector {
 public:
  AppendCollector(Environment& environment, Formulas& formulas, const Output& output)
      : environment_(environment), output_(output), shape_(environment, formulas, output.array) {
    if (output.offsets) offsets_shape_.emplace(environment, formulas, *output.offsets);
    for (std::size_t k = 0; k < output.combine.size(); ++k)
      if (is<Cat>(output.combine[k])) innermost_cat_ = k;
  }

  void begin() override {
    count_ = 0;
    numbers_.clear();
    offsets_ = {0};
    item_shape_.reset();
  }

  void next(std::size_t dim) override {
    if (innermost_cat_ == dim) offsets_.push_back(count_);
  }

  void take(const Item& item) override {
    numbers_.insert(numbers_.end(), item.numbers.begin(), item.numbers.end());
    if (!item_shape_) item_shape_.emplace(item.shape.begin(), item.shape.end());
    ++count_;
  }

  void finish() override {
    std::vector<std::int64_t> shape = {count_};
    for (std::size_t d = 1; d < environment_.program[output_.array].shape.size(); ++d)
      shape.push_back(item_shape_ ? item_shape_->at(d - 1) : shape_.extent(d));
    shape_.settle(shape);
    environment_[output_.array] =
        data_of(environment_.program[output_.array].type, std::move(shape), numbers_);
    if (output_.offsets) define_integers(environment_, *offsets_shape_, *output_.offsets, offsets_);
  }

 private:
  Environment& environment_;
  const Output& output_;
  ShapeOf shape_;
  std::optional<ShapeOf> offsets_shape_;
  std::optional<std::size_t> innermost_cat_;
  std::int64_t count_ = 0;
  std::vector<Number> numbers_;
  std::vector<std::int64_t> offsets_;
  std::optional<std::vector<std::int64_t>> item_shape_;
};

/// Buckets in order of first occurrence of their keys.
class GroupCollector : public Collector {
 public:
  GroupCollector(Environment& environment, Formulas& formulas, const Output& output)
      : environment_(environment),
        formulas_(formulas),
        output_(output),
        key_(formulas.add(output.key)),
        shape_(environment, formulas, output.array) {
    if (output.offsets) offsets_shape_.emplace(environment, formulas, *output.offsets);
    if (output.keys) keys_shape_.emplace(environment, formulas, *output.keys);
    const auto& op = std::get<Group>(output.combine.front()).op;
    if (!op) return;
    op_ = &*op;
    if (op->identity) identity_ = formulas.add(op->identity);
  }

  void begin() override {
    bucket_of_.clear();
    keys_.clear();
    buckets_.clear();
  }

  void take(const Item& item) override {
    const std::span<const Number> key = formulas_.value(key_);
    std::vector<std::uint64_t> bits;
    for (const Number& number : key) bits.push_back(number.u);
    const auto [found, is_new] = bucket_of_.try_emplace(std::move(bits), buckets_.size());
    if (is_new) {
      keys_.insert(keys_.end(), key.begin(), key.end());
      buckets_.emplace_back();
    }
    std::vector<Number>& bucket = buckets_[found->second];
    if (op_ && is_new && identity_ >= 0) {
      const std::span<const Number> identity = formulas_.value(identity_);
      bucket.assign(identity.begin(), identity.end());
    }
    if (op_ && !bucket.empty()) {
      accumulate(environment_, *op_, bucket, item.numbers);
    } else {
      bucket.insert(bucket.end(), item.numbers.begin(), item.numbers.end());
    }
  }

  void finish() override {
    const Type& type = environment_.program[output_.array].type;
    const auto width = static_cast<std::int64_t>(leaves_of(type).size());
    std::vector<Number> numbers;
    std::vector<std::int64_t> offsets = {0};
    for (const std::vector<Number>& bucket : buckets_) {
      numbers.insert(numbers.end(), bucket.begin(), bucket.end());
      offsets.push_back(static_cast<std::int64_t>(numbers.size()) / width);
    }
    const std::vector<std::int64_t> shape = {offsets.back()};
    shape_.settle(shape);
    environment_[output_.array] = data_of(type, shape, numbers);
    if (output_.keys) {
      const std::vector<std::int64_t> keys = {static_cast<std::int64_t>(buckets_.size())};
      keys_shape_->settle(keys);
      environment_[*output_.keys] = data_of(environment_.program[*output_.keys].type, keys, keys_);
    }
    if (output_.offsets) define_integers(environment_, *offsets_shape_, *output_.offsets, offsets);
  }

 private:
  Environment& environment_;
  Formulas& formulas_;
  const Output& output_;
  int key_;
  ShapeOf shape_;
  std::optional<ShapeOf> offsets_shape_, keys_shape_;
  const Operator* op_ = nullptr;
  int identity_ = -1;
  std::map<std::vector<std::uint64_t>, std::size_t> bucket_of_;
  std::vector<Number> keys_;                  // leaves
  std::vector<std::vector<Number>> buckets_;  // leaves of the values, or of the folded value
};

}  // namespace

std::unique_ptr<Collector> make_collector(Environment& environment, Formulas& formulas, const Stage& stage,
                                          const Output& output) {
  if (std::ranges::any_of(output.combine, is<Append>))
    return std::make_unique<AppendCollector>(environment, formulas, output);
  if (std::ranges::any_of(output.combine, is<Group>))
    return std::make_unique<GroupCollector>(environment, formulas, output);
  return std::make_unique<DenseCollector>(environment, formulas, stage, output);
}

}  // namespace twill
