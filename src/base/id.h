// Small typed integers that name things in a table.
#pragma once

#include <compare>
#include <cstddef>
#include <functional>

namespace twill {

template <class Tag>
struct Id {
  int value = -1;

  explicit operator bool() const { return value >= 0; }
  auto operator<=>(const Id&) const = default;
};

}  // namespace twill

template <class Tag>
struct std::hash<twill::Id<Tag>> {
  std::size_t operator()(twill::Id<Tag> id) const noexcept { return std::hash<int>{}(id.value); }
};
