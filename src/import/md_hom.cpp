// md_hom becomes a general stage: views of inputs become reads, views of outputs write maps.
#include "import/md_hom.h"

#include "import/def_state.h"
#include "import/inside.h"

namespace twill {

using text::AstKind;
using text::AstPtr;

View View::as(const Type& type) const {
  View copy(*this);
  copy.type_ = type;
  return copy;
}

View View::as(const Type& type, std::vector<Arg> shape) const {
  View copy = as(type);
  copy.shape_ = std::move(shape);
  return copy;
}

View View::combine(std::vector<Combiner> combiners) const {
  View copy(*this);
  copy.combiners_ = std::move(combiners);
  return copy;
}

View view(const Var& array, std::initializer_list<Arg> subscripts, Where where) {
  return View(
      array, [list = Subscripts{subscripts}](const std::vector<Value>&) { return list; }, where);
}

namespace {

bool is_name(const Arg& arg, const std::string& name) {
  return !arg.is_generator() && arg.tree()->kind == AstKind::Name && arg.tree()->name == name;
}

/// The extent of the first dimension of an input that the index walks.
Value walked_extent(const std::string& index, const std::vector<View>& inputs,
                    const std::vector<Value>& indices, const Place& place) {
  for (const View& input : inputs) {
    const std::vector<Arg> subscripts = input.subscripts(indices).list;
    for (std::size_t d = 0; d < subscripts.size(); ++d)
      if (is_name(subscripts[d], index)) return size(input.array(), static_cast<int>(d));
  }
  fail(Fault::User, "E0270", place, "nothing says what '" + index + "' ranges over",
       "write " + index + " < n, or in(" + index + ", a, b)");
}

/// The extents of the indices, where the subscripts are indices and nothing else.
std::vector<Arg> shape_of(const View& output, const std::vector<Arg>& subscripts,
                          const std::vector<text::DimAst>& dims, const std::vector<Arg>& extents) {
  std::vector<Arg> shape;
  for (const Arg& subscript : subscripts)
    for (std::size_t d = 0; d < dims.size(); ++d)
      if (is_name(subscript, dims[d].name) && !dims[d].lo) shape.push_back(extents[d]);
  if (shape.size() != subscripts.size())
    fail(Fault::User, "E0278", place_of(output.where()),
         "the shape of '" + output.array().name() + "' does not follow from its view",
         "write .as(type, {N, M})");
  return shape;
}

}  // namespace

void staged::md_hom(Def& def, const std::vector<Arg>& dims, const std::vector<View>& inputs,
                    const ScalarFunction& function, const std::vector<Combiner>& combine,
                    const std::vector<View>& outputs, const Where& where) {
  DefState& state = *def.state();
  const Place place = place_of(where);
  std::vector<text::DimAst> ranges;
  std::vector<Value> indices;
  for (const Arg& dim : dims) {
    state.use(dim.uses(), dim.place());
    ranges.push_back(dimension(dim));
    indices.push_back(name(ranges.back().name, dim.place()));
  }
  std::vector<Arg> extents;
  for (text::DimAst& range : ranges) {
    if (!range.hi) {
      const Value extent = walked_extent(range.name, inputs, indices, range.place);
      range.hi = state.tree(extent);
    }
    extents.emplace_back(Arg::Built{range.hi, state.uses, range.place, 1});
  }
  std::vector<Value> elements;
  for (const View& input : inputs)
    elements.push_back(input.array()(input.subscripts(indices), input.where()));
  const std::vector<Value> values = [&] {
    const Inside scope("the function of an md_hom");
    return function(elements);
  }();
  if (values.size() != outputs.size())
    fail(Fault::User, "E0283", place,
         "this md_hom has " + std::to_string(outputs.size()) + " output views, but its function gives " +
             std::to_string(values.size()) + (values.size() == 1 ? " value" : " values"),
         "give one value per output: a Value, or a std::vector<Value>");
  if (outputs.empty())
    fail(Fault::User, "E0283", place, "this md_hom has no output", "add the view of an output");
  std::vector<StageOutput> stage_outputs;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const View& output = outputs[i];
    const Subscripts subscripts = output.subscripts(indices);
    Ref to = output.array()(subscripts, output.where());
    if (!output.type())
      fail(Fault::User, "E0278", place_of(output.where()),
           "the output '" + output.array().name() + "' of this stage needs its type",
           "write view(...).as(f32)");
    const std::vector<Arg> shape =
        output.shape() ? *output.shape() : shape_of(output, subscripts.list, ranges, extents);
    stage_outputs.push_back(
        {to.as(*output.type(), shape), output.combiners().value_or(combine), values[i].arg()});
  }
  add_stage(state, outputs[0].array().name(), std::move(ranges), nullptr, stage_outputs, place);
}

}  // namespace twill
