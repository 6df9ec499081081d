// Arrays of a C function: which of them may be the same memory, and how many elements pointers lead to.
#include "base/error.h"
#include "import/c_depend.h"
#include "import/c_read.h"
#include "poly/set.h"

#include <fmt/format.h>

#include <set>

namespace twill::c {

// ---- pointers -----------------------------------------------------------------------------------

namespace {

/// Whether C allows that both types name the same memory: but for the sign they are one, or one of them is a
/// character.
bool may_share_memory(Scalar a, Scalar b) {
  const auto is_character = [](Scalar type) { return is_integer(type) && info(type).bytes == 1; };
  return a == b || is_character(a) || is_character(b) ||
         (is_integer(a) && is_integer(b) && info(a).bytes == info(b).bytes);
}

}  // namespace

/// Arguments that are declared as arrays are different ones. A pointer may lead anywhere that its type
/// allows, unless it is `restrict`.
void Reader::check_aliases() const {
  std::set<int> written;
  written_arrays(nest_.items, written);
  const int count = static_cast<int>(nest_.arrays.size());
  for (int a = 0; a < count; ++a)
    for (int b = 0; b < count; ++b) {
      const Array &x = nest_.array(a), &y = nest_.array(b);
      if (a == b || !x.is_argument || !y.is_argument || !may_share_memory(x.type, y.type)) continue;
      if (!x.is_pointer || x.is_restrict || (y.is_pointer && y.is_restrict)) continue;
      if (!written.contains(a) && !written.contains(b)) continue;
      fail(Fault::Limit, "E0806", x.place,
           fmt::format("the pointers '{}' and '{}' may lead to the same memory, and '{}' is written", x.name,
                       y.name, written.contains(a) ? x.name : y.name),
           fmt::format("if they never do, say so: {} *restrict {}", x.c_type, x.name));
    }
}

// ---- extents that C does not tell ---------------------------------------------------------------

namespace {

struct Use {
  Tree subscript;
  poly::Condition domain;
  std::vector<poly::Var> indices;
};

void find_uses(const Nest& nest, const std::vector<Item>& items, const poly::Condition& domain,
               const std::vector<poly::Var>& indices, int array, std::vector<Use>& uses) {
  for (const Item& item : items) {
    if (const auto* inner = std::get_if<std::shared_ptr<For>>(&item)) {
      std::vector<poly::Var> more = indices;
      more.push_back(var_of_loop((*inner)->loop));
      find_uses(nest, (*inner)->body, domain && range_of(nest, (*inner)->loop).condition, more, array, uses);
      continue;
    }
    const auto& assign = std::get<Assign>(item);
    const poly::Condition all = domain && condition_of(nest, assign.guard).condition;
    if (assign.array == array) uses.push_back({assign.at[0], all, indices});
    const auto look = [&](const Tree& tree) {
      visit(nest, tree, [&](const Tree& node) {
        if (node->kind == Kind::Read && node->id == array) uses.push_back({node->args[0], all, indices});
      });
    };
    look(assign.value);
    look(assign.guard);
    for (const Tree& at : assign.at) look(at);
  }
}

}  // namespace

/// The first extent of a pointer is what its uses reach.
void Reader::find_extents() {
  for (std::size_t id = 0; id < nest_.arrays.size(); ++id) {
    Array& array = nest_.arrays[id];
    if (array.shape.empty() || array.shape[0]) continue;
    const auto unknown = [&](const std::string& why) {
      fail(Fault::Limit, "E0805", array.place,
           fmt::format("how many elements '{}' has cannot be found: {}", array.name, why),
           fmt::format("write its extents: {}[n]", array.name));
    };
    std::vector<Use> uses;
    find_uses(nest_, nest_.items, {}, {}, static_cast<int>(id), uses);
    if (uses.empty()) unknown("it is not used");
    std::optional<poly::Affine> reach;
    for (const Use& use : uses) {
      const auto subscript = affine_of(nest_, use.subscript);
      if (!subscript) unknown(fmt::format("it is used at '{}'", to_c(nest_, use.subscript)));
      const poly::Context context;
      std::vector<poly::Var> tuple = use.indices;
      const poly::Var element{poly::Var::Kind::Element, 0};
      tuple.push_back(element);
      const auto last =
          poly::Set(context, tuple, use.domain && poly::equal(element, *subscript)).upper_bound(element);
      if (!last) unknown(fmt::format("'{}' has no largest value", to_c(nest_, use.subscript)));
      const auto more = *last + 1;
      if (!reach || poly::quickly_non_negative({}, more - *reach))
        reach = more;
      else if (!poly::quickly_non_negative({}, *reach - more))
        unknown("two uses reach differently far");
    }
    const Tree extent = tree_of(nest_, *reach, array.place);
    if (!extent) unknown("it reaches to a fraction of a parameter");
    array.shape[0] = extent;
  }
}

}  // namespace twill::c
