// A program built by hand goes through all passes and runs.
#include <gtest/gtest.h>

#include "driver/compile.h"
#include "program/typing.h"

namespace twill {
namespace {

TEST(Kernel, MatMul) {
  Program p;
  p.name = "matmul";
  ExprPool& x = *p.pool;
  const Expr I = x.size(p.add_symbol("I", Symbol::Origin::Input)),
             J = x.size(p.add_symbol("J", Symbol::Origin::Input)),
             K = x.size(p.add_symbol("K", Symbol::Origin::Input));
  const ArrayId a = p.add_array("a", Scalar::F32, {I, K}), b = p.add_array("b", Scalar::F32, {K, J});
  p.inputs = {{a, {}}, {b, {}}};
  const ArrayId c = p.add_array("c", Scalar::F32, {I, J});
  Stage s;
  s.name = "c";
  const DimId i = p.add_dim("i"), j = p.add_dim("j"), k = p.add_dim("k");
  s.dims = {{i, "i", x.integer(0), I, {}, {}},
            {j, "j", x.integer(0), J, {}, {}},
            {k, "k", x.integer(0), K, {}, {}}};
  Output o;
  o.array = c;
  o.combine = {Cat{}, Cat{}, Fold{builtin_operator(x, Prim::Add, Scalar::F32)}};
  o.at = {x.index(i), x.index(j)};
  o.value = x.apply(Prim::Mul, {x.read(a, Scalar::F32, {x.index(i), x.index(k)}),
                                x.read(b, Scalar::F32, {x.index(k), x.index(j)})});
  s.outputs.push_back(o);
  p.stages.push_back(s);
  p.results = {c};

  const std::vector<Data> in{random_data(Scalar::F32, {13, 7}, 1), random_data(Scalar::F32, {7, 5}, 2)};
  const Kernel kernel = compile(p);
  const Outcome got = kernel.run(in), want = interpret(p, in);
  EXPECT_LT(max_error(got.results[0], want.results[0]), 1e-5);
}

}  // namespace
}  // namespace twill
