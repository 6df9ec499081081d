#!/usr/bin/python3
"""Independent references for the examples, in NumPy.

Every definition in examples/*.twill has a function here that computes the same thing from the mathematical definition,
by other means where there are some (a sparse product by way of the dense one, shortest paths by squaring a min-plus
matrix), together with inputs: small ones of odd sizes, and sizes 0 and 1 where they mean something.

    reference.py list                        the cases
    reference.py write DIR [FILE.twill ...]  inputs and expected results as .npy files, and DIR/cases.json
    reference.py check TWILL [--target T] [FILE.twill ...]
                                             runs the command TWILL on every case and compares

How results are compared. Integers and bools must be equal. Floats may differ by tolerance * max(1, |expected|). The
expected value is computed in double precision, so what differs is the rounding of the program itself: at most half a
unit in the last place for each operation on the way to an element. A case says how many values are folded into
one element (`folds`); with inputs of size one the tolerance is (8 + folds) * 1e-6 for f32 and (8 + folds) * 1e-14 for
f64, which leaves room for a function of libm and a factor of about sixteen above the expected rounding error.
Wherever a decision depends on a float, the inputs keep a distance from the border at which it changes.
"""

import argparse
import itertools
import json
import math
import os
import subprocess
import sys
import tempfile

import numpy as np

sys.dont_write_bytecode = True
import lulesh_reference
import pictures_reference

HERE = os.path.dirname(os.path.abspath(__file__))
CASES = []
SEEDS = itertools.count(1)


# ---- cases ---------------------------------------------------------------------------------------------------------


def example(file, on, definition=None, folds=1):
    """Registers a reference for `definition` (default: the function's name) of a file, with inputs to run it on.

    The function gets the inputs by name and returns the results by name, in the program's order; or a pair of them and
    the lines that are printed. `folds` is a number or a function of the inputs.
    """

    def register(function):
        name = definition or function.__name__
        for number, inputs in enumerate(on):
            results = function(**inputs)
            results, effects = results if isinstance(results, tuple) else (results, [])
            CASES.append({
                "name": f"{file.removesuffix('.twill')}.{name}.{number}",
                "file": file,
                "definition": name,
                "inputs": inputs,
                "results": results,
                "effects": effects,
                "folds": max(1, folds(**inputs) if callable(folds) else folds),
            })
        return function

    return register


def random():
    return np.random.default_rng(next(SEEDS))


def singles(*shape):
    """f32 between -1 and 1."""
    return random().uniform(-1, 1, shape).astype(np.float32)


def doubles(*shape, low=-1, high=1):
    return random().uniform(low, high, shape)


def integers(*shape, low=-50, high=50, type=np.int32):
    """Integers from low up to high, exclusive."""
    return random().integers(low, high, shape).astype(type)


def bits(*shape, share=0.5):
    return random().uniform(size=shape) < share


def i32(value):
    return np.int32(value)


def f32(value):
    """The result of an f32 program from one in double precision."""
    return np.asarray(value).astype(np.float32)


def wide(x):
    return x.astype(np.float64)


def record(**fields):
    """A structured type with the layout that a C compiler gives it."""
    return np.dtype(list(fields.items()), align=True)


def filled(dtype, shape, **fields):
    array = np.zeros(shape, dtype)
    for name, values in fields.items():
        array[name] = values
    return array


def pairs_of(*types):
    """The type of a tuple: fields 0, 1, ..."""
    return np.dtype([(str(i), t) for i, t in enumerate(types)], align=True)


def tuples(rows, *types):
    """A list of tuples as an array of records."""
    return np.array([tuple(row) for row in rows], dtype=pairs_of(*types))


# ---- linear algebra ------------------------------------------------------------------------------------------------


@example("dot.twill", on=[dict(x=singles(n), y=singles(n)) for n in (0, 1, 7, 1001)], folds=lambda x, y: len(x))
def dot(x, y):
    return dict(d=f32(np.vdot(wide(x), wide(y))))


@example("matvec.twill", on=[dict(a=singles(i, k), x=singles(k)) for i, k in [(0, 3), (1, 1), (5, 0), (13, 37)]],
         folds=lambda a, x: len(x))
def matvec(a, x):
    return dict(y=f32(wide(a) @ wide(x)))


MATMUL_SIZES = [(0, 2, 3), (1, 1, 1), (3, 0, 2), (5, 7, 3), (17, 33, 29)]


@example("matmul.twill", on=[dict(a=singles(i, k), b=singles(k, j)) for i, k, j in MATMUL_SIZES],
         folds=lambda a, b: len(b))
def matmul(a, b):
    return dict(c=f32(wide(a) @ wide(b)))


@example("matmul_transposed.twill", on=[dict(a=singles(k, i), b=singles(j, k)) for i, k, j in MATMUL_SIZES],
         folds=lambda a, b: len(a))
def matmul_transposed(a, b):
    return dict(c=f32((wide(a).T @ wide(b).T).T))


@example("matmul_batched.twill",
         on=[dict(x=singles(b, i, k), y=singles(b, k, j))
             for b, i, k, j in [(0, 2, 3, 4), (1, 1, 1, 1), (3, 5, 7, 2), (16, 3, 9, 5)]],
         folds=lambda x, y: y.shape[1])
def matmul_batched(x, y):
    products = [wide(p) @ wide(q) for p, q in zip(x, y)]
    return dict(z=f32(np.array(products).reshape(x.shape[0], x.shape[1], y.shape[2])))


CCSD_SIZES = [dict(a=2, b=3, c=1, d=4, e=2, f=3, g=5), dict(a=1, b=1, c=1, d=1, e=1, f=1, g=1),
              dict(a=3, b=2, c=2, d=1, e=0, f=2, g=3), dict(a=2, b=1, c=2, d=2, e=1, f=2, g=0)]


def contraction(left, right):
    """One of the nine: t[a,b,c,d,e,f] = t0[a,b,c,d,e,f] + sum over g of x[left] * y[right]."""

    def shaped(indices, sizes):
        return singles(*[sizes[i] for i in indices])

    @example("ccsd_t.twill", definition=f"{left}_{right}", folds=lambda t0, x, y: x.shape[0],
             on=[dict(t0=shaped("abcdef", s), x=shaped(left, s), y=shaped(right, s)) for s in CCSD_SIZES])
    def contracted(t0, x, y):
        return dict(t=f32(wide(t0) + np.einsum(f"{left},{right}->abcdef", wide(x), wide(y))))


for pair in ("gdab efgc", "gdac efgb", "gdbc efga", "geab dfgc", "geac dfgb", "gebc dfga", "gfab degc", "gfac degb",
             "gfbc dega"):
    contraction(*pair.split())


@example("triangular.twill", on=[dict(l=singles(n, n), b=singles(n, m)) for n, m in [(0, 3), (1, 1), (11, 5)]],
         folds=lambda l, b: len(l))
def lower_product(l, b):
    return dict(c=f32(np.tril(wide(l)) @ wide(b)))


@example("triangular.twill", on=[dict(l=singles(n, n), m=singles(n, n)) for n in (0, 1, 9)], folds=lambda l, m: len(l))
def lower_lower(l, m):
    return dict(c=f32(np.tril(wide(l)) @ np.tril(wide(m))))


@example("triangular.twill", on=[dict(x=doubles(n)) for n in (0, 1, 2, 31)], folds=lambda x: len(x)**2)
def spread(x):
    # In order, element k stands above k and below n-1-k of the others.
    n = len(x)
    return dict(s=np.float64(np.sum(np.sort(x) * (2 * np.arange(n) - (n - 1)))))


def sparse(rows, columns, share):
    """A random matrix in rows, at least one of them empty."""
    kept = bits(rows, columns, share=share)
    kept[rows // 2:rows // 2 + 1] = False
    ptr = np.concatenate([[0], np.cumsum(kept.sum(axis=1))]).astype(np.int32)
    return dict(ptr=ptr, col=np.nonzero(kept)[1].astype(np.int32), val=singles(int(ptr[-1])), x=singles(columns))


@example("spmv.twill", on=[sparse(0, 3, 0.5), sparse(1, 1, 0.5), sparse(13, 21, 0.3), sparse(40, 5, 0.9)],
         folds=lambda ptr, col, val, x: len(x))
def spmv(ptr, col, val, x):
    dense = np.zeros((len(ptr) - 1, len(x)))
    rows = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
    dense[rows, col] = val
    return dict(y=f32(dense @ wide(x)))


def mesh(nodes, density):
    rows = sparse(nodes, nodes, density)
    pairs = int(rows["ptr"][-1])
    return dict(first=rows["ptr"], col=rows["col"], k=doubles(pairs, 3, 3), m=1 + doubles(nodes, 3),
                c=doubles(nodes, 3), now=doubles(nodes, 3), before=doubles(nodes, 3), dt=np.float64(0.25))


@example("equake.twill", on=[mesh(0, 0.5), mesh(1, 0.9), mesh(13, 0.3), mesh(40, 0.6)],
         folds=lambda first, col, k, m, c, now, before, dt: 3 * len(m))
def equake(first, col, k, m, c, now, before, dt):
    rows = np.repeat(np.arange(len(m)), np.diff(first))
    force = np.zeros_like(m)
    np.add.at(force, rows, np.einsum("eij,ej->ei", k, now[col]))
    damping = 0.5 * dt * c
    after = (2 * m * now - (m - damping) * before - dt**2 * force) / (m + damping)
    return dict(next=after, v=(after - before) / (2 * dt))


def dominant(n):
    """A matrix that needs no pivoting."""
    return doubles(n, n) + 2 * n * np.eye(n)


@example("lu.twill", on=[dict(a0=dominant(n)) for n in (0, 1, 2, 9)], folds=lambda a0: 4 * len(a0))
def lu(a0):
    # Doolittle's order: row by row of U, column by column of L.
    n = len(a0)
    lower, upper = np.eye(n), np.zeros((n, n))
    for i in range(n):
        upper[i, i:] = a0[i, i:] - lower[i, :i] @ upper[:i, i:]
        lower[i + 1:, i] = (a0[i + 1:, i] - lower[i + 1:, :i] @ upper[:i, i]) / upper[i, i]
    assert np.allclose(lower @ upper, a0)
    return dict(a=lower + upper - np.eye(n))


@example("lu.twill", on=[dict(a=dominant(n)) for n in (0, 1, 2, 9)], folds=lambda a: 4 * len(a))
def doolittle(a):
    # Gauss's order: a column of L and a row of U are taken from all that is left.
    rest = a.copy()
    for k in range(len(a)):
        rest[k + 1:, k] /= rest[k, k]
        rest[k + 1:, k + 1:] -= np.outer(rest[k + 1:, k], rest[k, k + 1:])
    return dict(lu=rest)


def positive_definite(n):
    a = dominant(n)
    return a @ a.T


@example("cholesky.twill", on=[dict(a=positive_definite(n)) for n in (0, 1, 2, 9)], folds=lambda a: 4 * len(a))
def cholesky(a):
    return dict(l=np.linalg.cholesky(a))


@example("triangular_solve.twill", on=[dict(l=dominant(n), b=doubles(n)) for n in (0, 1, 2, 9)],
         folds=lambda l, b: 4 * len(l))
def lower_solve(l, b):
    return dict(x=np.linalg.solve(np.tril(l), b))


@example("triangular_solve.twill",
         on=[dict(l=dominant(n), b=doubles(n, m)) for n, m in [(0, 3), (1, 1), (9, 0), (9, 5)]],
         folds=lambda l, b: 4 * len(l))
def lower_solve_many(l, b):
    return dict(x=np.linalg.solve(np.tril(l), b))


@example("triangular_solve.twill", on=[dict(u=dominant(n), b=doubles(n)) for n in (0, 1, 2, 9)],
         folds=lambda u, b: 4 * len(u))
def upper_solve(u, b):
    return dict(x=np.linalg.solve(np.triu(u), b))


def sparse_rows(n, per_row):
    """A matrix by rows, off its diagonal, and a diagonal that dominates it."""
    counts = random().integers(0, per_row + 1, n) if n else np.zeros(0, dtype=int)
    ptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    z = int(ptr[-1])
    return dict(ptr=ptr, col=integers(z, low=0, high=max(n, 1)), val=doubles(z), d=doubles(n, low=9, high=10),
                b=doubles(n))


@example("triangular_solve.twill", on=[sparse_rows(n, k) for n, k in ((0, 0), (1, 2), (9, 4))],
         folds=lambda ptr, col, val, d, b: 4 * len(val))
def sparse_lower_solve(ptr, col, val, d, b):
    dense = np.diag(d)
    for row in range(len(d)):
        for p in range(ptr[row], ptr[row + 1]):
            if col[p] < row:
                dense[row, col[p]] += val[p]
    return dict(x=np.linalg.solve(dense, b))


# ---- convolutions and stencils -------------------------------------------------------------------------------------


def windows(x, size, stride=1):
    """All places of a window of this size over the axes 1 and 2, which come first in the result: p, q, n, r, s, ..."""
    (rows, columns), (r, s) = x.shape[1:3], size
    return [[x[:, p:p + r, q:q + s] for q in range(0, columns - s + 1, stride)] for p in range(0, rows - r + 1, stride)]


def slide(x, size, rule, stride, tail):
    """`rule` applied to every window, as an array p, q, and the axes of what the rule gives."""
    places = windows(x, size, stride)
    p = max(0, (x.shape[1] - size[0]) // stride + 1)
    q = max(0, (x.shape[2] - size[1]) // stride + 1)
    return np.array([[rule(w) for w in row] for row in places]).reshape((p, q) + tail)


WINDOWS = [((9, 13), (5, 5)), ((4, 4), (4, 4)), ((2, 5), (3, 3)), ((6, 7), (1, 1)), ((17, 5), (3, 2))]


@example("conv2d.twill", on=[dict(x=singles(*image), f=singles(*window)) for image, window in WINDOWS],
         folds=lambda x, f: f.size)
def conv2d(x, f):
    return dict(y=f32(slide(wide(x)[None], f.shape, lambda w: np.sum(w[0] * f), 1, ())))


def convolve(x, f, stride):
    rule = lambda w: np.einsum("nrsc,krsc->nk", w, wide(f))
    y = slide(wide(x), f.shape[1:3], rule, stride, (x.shape[0], f.shape[0]))
    return dict(y=f32(np.moveaxis(y, 2, 0)))


CHANNELS = [((2, 7, 9, 3), (4, 3, 3, 3)), ((1, 1, 1, 1), (1, 1, 1, 1)), ((1, 8, 5, 2), (3, 2, 4, 2)),
            ((0, 4, 4, 2), (3, 2, 2, 2)), ((2, 4, 4, 0), (2, 3, 3, 0))]


@example("conv_channels.twill", on=[dict(x=singles(*x), f=singles(*f)) for x, f in CHANNELS],
         folds=lambda x, f: f[:1].size)
def conv_channels(x, f):
    return convolve(x, f, 1)


@example("conv_channels.twill", on=[dict(x=singles(*x), f=singles(*f)) for x, f in CHANNELS],
         folds=lambda x, f: f[:1].size)
def conv_stride2(x, f):
    return convolve(x, f, 2)


@example("conv_capsule.twill",
         on=[dict(x=singles(*x, 4, 4), f=singles(*f, 4, 4))
             for x, f in [((2, 3, 4, 2), (3, 2, 2, 2)), ((1, 1, 1, 1), (1, 1, 1, 1)), ((0, 3, 3, 1), (2, 2, 2, 1))]],
         folds=lambda x, f: f[:1].size // 4)
def conv_capsule(x, f):
    # A capsule's product is one of matrices: multiply them as such and add over the window and its channels.
    rule = lambda w: (w[:, None] @ wide(f)[None]).sum(axis=(2, 3, 4))
    y = slide(wide(x), f.shape[1:3], rule, 1, (x.shape[0], f.shape[0], 4, 4))
    return dict(y=f32(np.moveaxis(y, 2, 0)))


@example("jacobi1d.twill", on=[dict(x=singles(n)) for n in (0, 1, 2, 3, 50)])
def jacobi1d(x):
    return dict(y=f32(np.convolve(wide(x), np.ones(3) / 3, "valid")) if len(x) >= 3 else np.zeros(0, np.float32))


def shifted(u, *by):
    return np.roll(u, by, tuple(range(u.ndim)))


def inside(u, new):
    """`new` where there are neighbours on all sides, `u` at the border."""
    at = tuple(slice(1, -1) for _ in u.shape)
    result = u.copy()
    result[at] = new[at]
    return result


GRIDS = [(0, 4), (1, 1), (2, 5), (3, 3), (7, 10)]


@example("jacobi2d.twill", on=[dict(u=singles(*shape)) for shape in GRIDS])
def jacobi2d(u):
    w = wide(u)
    neighbours = sum(shifted(w, *by) for by in [(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1)])
    return dict(v=f32(inside(w, neighbours / 5)))


@example("jacobi2d.twill", definition="relax", folds=lambda u0, steps: 4 * int(steps),
         on=[dict(u0=singles(*shape), steps=i32(steps)) for shape in GRIDS for steps in (0, 1, 6)])
def relax2d(u0, steps):
    u = wide(u0)
    for _ in range(steps):
        u = inside(u, sum(shifted(u, *by) for by in [(1, 0), (-1, 0), (0, 1), (0, -1)]) / 4)
    return dict(u=f32(u))


@example("jacobi3d.twill", folds=7,
         on=[dict(u=singles(*shape), w=singles(7)) for shape in [(0, 3, 3), (1, 1, 1), (3, 3, 3), (5, 4, 7)]])
def jacobi3d(u, w):
    v = wide(u)
    where = [(0, 0, 0), (0, 0, 1), (0, 0, -1), (0, 1, 0), (0, -1, 0), (1, 0, 0), (-1, 0, 0)]
    return dict(v=f32(inside(v, sum(weight * shifted(v, *by) for weight, by in zip(wide(w), where)))))


def along(x, weights, axis):
    """The weighted mean of neighbours along an axis, the border repeated."""
    reach = len(weights) // 2
    pads = [(reach, reach) if a == axis else (0, 0) for a in range(x.ndim)]
    padded = np.pad(x, pads, mode="edge")
    return np.apply_along_axis(lambda line: np.convolve(line, weights, "valid"), axis, padded)


@example("blur.twill", on=[dict(img=singles(*shape)) for shape in [(1, 1), (1, 6), (5, 1), (9, 14)]], folds=9)
def blur(img):
    return dict(by=f32(along(along(wide(img), [0.25, 0.5, 0.25], 1), [0.25, 0.5, 0.25], 0)))


@example("unsharp.twill",
         on=[dict(img=f32(np.abs(singles(*shape))), amount=np.float32(amount), threshold=np.float32(threshold))
             for shape in [(1, 1, 1), (3, 7, 11), (1, 2, 2)] for amount, threshold in [(1.5, 0.001), (0.5, 0.25)]],
         folds=25)
def unsharp(img, amount, threshold):
    original = wide(img)
    weights = np.array([1, 4, 6, 4, 1]) / 16
    blurred = along(along(original, weights, 2), weights, 1)
    detail = original - blurred
    assert np.all(np.abs(np.abs(detail) - threshold) > 1e-5), "too close to the threshold"
    return dict(sharp=f32(np.where(np.abs(detail) < threshold, original, original + float(amount) * detail)))


def weighed(x, weights):
    """Sums of a point of a periodic cube and its 26 neighbours, weighed by their distance: a product of spectra."""
    near = [2 * np.cos(2 * np.pi * np.arange(n) / n) for n in x.shape]
    a, b, c = near[0][:, None, None], near[1][None, :, None], near[2][None, None, :]
    spectrum = weights[0] + weights[1] * (a + b + c) + weights[2] * (a * b + a * c + b * c) + weights[3] * a * b * c
    return np.fft.ifftn(np.fft.fftn(x) * spectrum).real


def cubes(*sizes):
    return [doubles(n, n, n) for n in sizes]


@example("multigrid.twill", on=[dict(zip("uv", cubes(n, n))) for n in (0, 1, 2, 5, 8)], folds=27)
def resid(u, v):
    return dict(r=v - weighed(u, (-8 / 3, 0, 1 / 6, 1 / 12)) if u.size else v)


@example("multigrid.twill", on=[dict(zip("ru", cubes(n, n))) for n in (0, 1, 2, 5, 8)], folds=27)
def psinv(r, u):
    return dict(w=u + weighed(r, (-3 / 8, 1 / 32, -1 / 64, 0)) if u.size else u)


@example("multigrid.twill", on=[dict(n=np.int64(n), r=doubles(2 * n, 2 * n, 2 * n)) for n in (1, 2, 5, 8)], folds=27)
def rprj3(n, r):
    return dict(s=weighed(r, (1 / 2, 1 / 4, 1 / 8, 1 / 16))[1::2, 1::2, 1::2])


@example("multigrid.twill", on=[dict(zip("zu", cubes(n, 2 * n))) for n in (1, 2, 5, 8)], folds=27)
def interp(z, u):
    apart = np.zeros_like(u)
    apart[1::2, 1::2, 1::2] = z
    return dict(w=u + weighed(apart, (1, 1 / 2, 1 / 4, 1 / 8)))


@example("multigrid.twill", on=[dict(n=np.int64(n)) for n in (0, 1, 3)])
def zero(n):
    return dict(u=np.zeros((n, n, n)))


def corrected(levels, u, v, r):
    """A better solution of A u = v, where r is the residual of u, from a number of coarser grids."""
    if levels == 0:
        return psinv(r, u)["w"]
    half = rprj3(len(r) // 2, r)["s"]
    z = interp(corrected(levels - 1, np.zeros_like(half), half, half), u)["w"]
    return psinv(resid(z, v)["r"], z)["w"]


@example("multigrid.twill", on=[dict(n=np.int64(n), **dict(zip("uvr", cubes(16 * n, 16 * n, 16 * n)))) for n in (1, 2)],
         folds=1000)
def vcycle(n, u, v, r):
    w = corrected(4, u, v, r)
    return dict(w=w, s=resid(w, v)["r"])


@example("multigrid.twill", on=[dict(n=np.int64(n)) for n in (3, 8, 16)])
def charges(n):
    numbers = [314159265]
    while len(numbers) <= n**3:
        numbers.append(numbers[-1] * 5**13 % 2**46)
    order = np.argsort(numbers[1:])
    v = np.zeros(n**3)
    v[order[-10:]], v[order[:10]] = 1, -1
    return dict(v=v.reshape(n, n, n))


@example("multigrid.twill", on=[dict(n=np.int64(1), cycles=np.int64(cycles)) for cycles in (0, 1, 3)])
def multigrid(n, cycles):
    v = r = charges(16 * n)["v"]
    u = np.zeros_like(v)
    for _ in range(cycles):
        u, r = vcycle(n, u, v, r).values()
    return dict(norm=np.sqrt(np.mean(r**2)))


@example("multigrid.twill", on=[{}])
def class_s():
    norm = multigrid(2, 4)["norm"]
    assert abs(norm / 0.5307707005734e-4 - 1) < 1e-8, "this is not the published value"
    return dict(norm=norm)


# ---- elements, folds and scans -------------------------------------------------------------------------------------


@example("map.twill", definition="map", on=[dict(x=100 * singles(n)) for n in (0, 1, 33)])
def celsius(x):
    return dict(y=f32((wide(x) - 32) / 1.8))


@example("reduce.twill", on=[dict(x=singles(n)) for n in (0, 1, 1003)], folds=lambda x: len(x))
def total(x):
    return dict(s=f32(math.fsum(x)))


@example("reduce.twill", on=[dict(x=integers(n)) for n in (0, 1, 77)])
def highest(x):
    return dict(m=np.int32(max(x.tolist(), default=np.iinfo(np.int32).min)))


@example("reduce.twill", on=[dict(x=integers(n, low=0, high=2**32, type=np.uint32)) for n in (0, 1, 77)])
def parity(x):
    # Bit by bit: the exclusive or is set where an odd number of elements has the bit.
    counts = [int(np.sum((x >> np.uint32(b)) & np.uint32(1))) for b in range(32)]
    return dict(p=np.uint32(sum((count % 2) << b for b, count in enumerate(counts))))


@example("reduce.twill", definition="sorted",
         on=[dict(x=doubles(0)), dict(x=doubles(1)), dict(x=doubles(9)), dict(x=np.sort(doubles(9)))])
def is_sorted(x):
    return dict(s=np.bool_(np.array_equal(x, np.sort(x))))


@example("reduce_two.twill", on=[dict(x=doubles(n)) for n in (0, 1, 1003)], folds=lambda x: len(x))
def reduce_two(x):
    return dict(s=np.float64(math.fsum(x)), m=np.float64(max(x, default=-np.inf)))


@example("reduce_two.twill", on=[dict(x=doubles(n)) for n in (0, 1, 101)], folds=lambda x: len(x))
def double_and_sum(x):
    return dict(y=x + x, s=np.float64(math.fsum(x)))


@example("scan.twill", on=[dict(x=singles(n)) for n in (0, 1, 2, 203)], folds=lambda x: len(x))
def running(x):
    sums = [math.fsum(x[:i + 1]) for i in range(len(x))]
    maxima = [max(x[i:]) for i in range(len(x))]
    return dict(c=f32(np.array(sums)), r=f32(np.array(maxima)))


@example("scan.twill", on=[dict(x=integers(*shape, type=np.int64)) for shape in [(0, 3), (3, 0), (1, 1), (5, 17)]])
def running_rows(x):
    return dict(c=np.cumsum(x, axis=1))


@example("scan.twill", on=[dict(a=doubles(n), b=doubles(n)) for n in (0, 1, 90)], folds=lambda a, b: 3 * len(a))
def recurrence(a, b):
    y = np.zeros(len(a))
    last = 0.0
    for i in range(len(a)):
        last = y[i] = a[i] * last + b[i]
    return dict(y=y)


@example("mbbs.twill", on=[dict(x=singles(*shape)) for shape in [(1, 1), (1, 9), (8, 1), (13, 7), (4, 0)]],
         folds=lambda x: x.size)
def mbbs(x):
    return dict(best=f32(max(wide(x[i:]).sum() for i in range(len(x)))))


@example("softmax.twill", on=[dict(x=5 * singles(*shape)) for shape in [(0, 3), (1, 1), (5, 7), (3, 100)]],
         folds=lambda x: x.shape[1])
def softmax(x):
    e = np.exp(wide(x))
    return dict(y=f32(e / e.sum(axis=1, keepdims=True)))


def products(q, k):
    return wide(q) @ wide(k).T / math.sqrt(q.shape[-1])


def queried(q, k, v):
    """Attention by way of the logarithms of the weights. All but the last dimension of each argument count as one."""
    rows, keys, values = (x.reshape(-1, x.shape[-1]) for x in (q, k, v))
    logs = products(rows, keys)
    o = np.exp(logs - np.logaddexp.reduce(logs, axis=1, keepdims=True)) @ wide(values)
    return f32(o).reshape(*q.shape[:-1], v.shape[-1])


def queries(rows, columns, d, e):
    return dict(q=4 * singles(*rows, d), k=singles(*columns, d), v=singles(*columns, e))


@example("attention.twill", folds=40,
         on=[queries((n,), (m,), d, e) for n, m, d, e in [(0, 1, 1, 1), (1, 1, 1, 1), (9, 37, 8, 5)]])
def attention(q, k, v):
    return dict(o=queried(q, k, v))


@example("attention.twill", folds=40,
         on=[dict(**queries((r, b), (c,), d, e), o=singles(r, b, e), l=known * np.abs(singles(r, b)),
                  m=singles(r, b) if known else np.full((r, b), -np.inf, np.float32))
             for r, b, c, d, e in [(1, 1, 1, 1, 1), (3, 4, 9, 8, 5)] for known in (0, 7)])
def flash_block(q, k, v, o, l, m):
    past, block = wide(l) * np.exp(wide(m)), np.exp(products(q, k))
    all_of_them = past + block.sum(axis=2)
    most = np.maximum(wide(m), products(q, k).max(axis=2))
    mean = (past[:, :, None] * wide(o) + block @ wide(v)) / all_of_them[:, :, None]
    return dict(o_new=f32(mean), l_new=f32(all_of_them / np.exp(most)), m_new=f32(most))


@example("attention.twill", folds=40,
         on=[queries((r, b), (4, c), d, e) for r, b, c, d, e in [(0, 3, 2, 2, 1), (1, 1, 1, 1, 1), (3, 4, 9, 8, 5)]])
def flash(q, k, v):
    return dict(o4=queried(q, k, v))


@example("attention.twill", folds=40,
         on=[queries((r, b), (t, c), d, e) for r, b, t, c, d, e in [(1, 1, 1, 1, 1, 1), (2, 5, 5, 9, 8, 5)]])
def flash_loop(q, k, v):
    return dict(o=queried(q, k, v))


@example("attention.twill", on=[dict(x=singles(*shape)) for shape in [(0, 2, 3), (1, 1, 1), (3, 4, 5)]])
def join(x):
    return dict(y=x.reshape(-1, x.shape[2]))


@example("haversine.twill", folds=100,
         on=[dict(lat1=doubles(n, low=-80, high=80), lon1=doubles(n, low=-180, high=180),
                  lat2=doubles(n, low=-80, high=80), lon2=doubles(n, low=-180, high=180)) for n in (0, 1, 101)])
def haversine(lat1, lon1, lat2, lon2):
    # By way of space: the angle between two unit vectors.
    def direction(lat, lon):
        phi, theta = np.radians(lat), np.radians(lon)
        return np.stack([np.cos(phi) * np.cos(theta), np.cos(phi) * np.sin(theta), np.sin(phi)])

    p, q = direction(lat1, lon1), direction(lat2, lon2)
    angle = np.arctan2(np.linalg.norm(np.cross(p, q, axis=0), axis=0), np.sum(p * q, axis=0))
    return dict(km=6371 * angle)


@example("mandelbrot.twill",
         on=[dict(w=i32(w), h=i32(h), limit=i32(limit))
             for w, h, limit in [(0, 3, 9), (1, 1, 9), (31, 21, 40), (8, 5, 0)]])
def mandelbrot(w, h, limit):
    def count(type):
        re = 3 * (np.arange(w, dtype=type) + type(0.5)) / type(w or 1) - type(2.25)
        im = type(2.5) * (np.arange(h, dtype=type) + type(0.5)) / type(h) - type(1.25)
        c = re[None, :] + 1j * im[:, None]
        z = np.zeros_like(c)
        steps = np.zeros(c.shape, np.int64)
        for _ in range(limit):
            alive = np.abs(z) <= 2
            steps += alive
            z = np.where(alive, z * z + c, z)
        return steps

    steps = count(np.float64)
    assert np.array_equal(steps, count(np.longdouble)), "a pixel depends on rounding"
    return dict(n=steps)


# ---- data decide where ---------------------------------------------------------------------------------------------


@example("gather.twill", on=[dict(x=singles(n), p=integers(m, low=0, high=n)) for n, m in [(1, 0), (1, 1), (7, 20)]])
def gather(x, p):
    return dict(y=np.take(x, p))


@example("gather.twill", on=[dict(table=singles(v, d), word=integers(n, low=0, high=v))
                             for v, d, n in [(1, 1, 1), (5, 3, 8), (4, 0, 2), (3, 4, 0)]])
def rows(table, word):
    return dict(y=np.take(table, word, axis=0))


def targets(m, n):
    return integers(m, low=0, high=max(n, 1))


@example("scatter.twill", folds=lambda p, v, n: len(p),
         on=[dict(p=targets(m, n), v=doubles(m), n=i32(n)) for m, n in [(0, 0), (0, 3), (1, 1), (50, 9)]])
def scatter_sum(p, v, n):
    return dict(y=np.bincount(p, weights=v, minlength=n).astype(np.float64))


@example("scatter.twill",
         on=[dict(p=targets(m, n), v=integers(m, type=np.int64), n=i32(n)) for m, n in [(0, 3), (1, 1), (50, 9)]])
def scatter_last(p, v, n):
    last = dict(zip(p.tolist(), v.tolist()))
    return dict(y=np.array([last.get(i, 0) for i in range(n)], np.int64))


@example("scatter.twill", on=[dict(p=random().permutation(n).astype(np.int32)) for n in (0, 1, 23)])
def inverse(p):
    return dict(q=np.argsort(p).astype(np.int64))


@example("histogram.twill", on=[dict(x=integers(n, low=0, high=256, type=np.uint8)) for n in (0, 1, 2000)])
def histogram(x):
    return dict(h=np.bincount(x, minlength=256).astype(np.int64))


@example("histogram.twill",
         on=[dict(x=f32(integers(m, low=-16, high=80) / 64), n=i32(n)) for m, n in [(0, 3), (1, 1), (300, 8)]])
def bins(x, n):
    return dict(h=np.histogram(x[(x >= 0) & (x < 1)], bins=int(n), range=(0, 1))[0].astype(np.int64))


SPAN = record(count=np.int64, low=np.float32, high=np.float32)


@example("histogram_general.twill",
         on=[dict(bin=targets(m, n), x=singles(m), n=i32(n)) for m, n in [(0, 2), (1, 1), (60, 25)]])
def spans(bin, x, n):
    members = [x[bin == b] for b in range(n)]
    return dict(h=filled(SPAN, n, count=[len(m) for m in members], low=[min(m, default=np.inf) for m in members],
                         high=[max(m, default=-np.inf) for m in members]))


@example("put.twill",
         on=[dict(x=singles(n), i=targets(m, n), v=singles(m)) for n, m in [(0, 0), (1, 1), (1, 3), (11, 7)]])
def put(x, i, v):
    y = x.copy()
    for place, value in zip(i, v):
        y[place] = value
    return dict(y=y)


@example("put.twill", folds=lambda x, i, v: len(i),
         on=[dict(x=doubles(n), i=targets(m, n), v=doubles(m)) for n, m in [(0, 0), (1, 1), (1, 3), (11, 70)]])
def add_at(x, i, v):
    y = x.copy()
    np.add.at(y, i, v)
    return dict(y=y)


@example("put.twill", on=[dict(x=integers(2 * m, type=np.int64), v=integers(m, type=np.int64)) for m in (0, 1, 9)])
def evens(x, v):
    return dict(y=np.stack([v, x[1::2]], axis=1).reshape(-1))


@example("put.twill", on=[dict(x=singles(n)) for n in (0, 1, 2, 3, 20)])
def smooth_inside(x):
    w = wide(x)
    return dict(y=f32(inside(w, (shifted(w, 1) + shifted(w, -1)) / 2)))


# ---- collections ---------------------------------------------------------------------------------------------------


@example("filter.twill",
         on=[dict(x=integers(0)), dict(x=integers(1)), dict(x=integers(99)), dict(x=-np.abs(integers(5)))])
def positive(x):
    return dict(y=x[x > 0])


@example("filter.twill", on=[dict(x=singles(n)) for n in (0, 1, 2, 3, 40)])
def peaks(x):
    rises = np.sign(np.diff(x))
    return dict(p=(np.nonzero((rises[:-1] > 0) & (rises[1:] < 0))[0] + 1).astype(np.int64))


@example("filter.twill", on=[dict(x=wide(integers(n))) for n in (1, 2, 41)])
def upper_mean(x):
    return dict(m=np.float64(x[x >= x.mean()].mean()))


@example("flat_map.twill", on=[dict(x=singles(n), count=integers(n, low=0, high=4)) for n in (0, 1, 30)])
def repeat(x, count):
    return dict(y=np.repeat(x, count))


@example("flat_map.twill", on=[dict(n=i32(n)) for n in (0, 1, 2, 17)])
def pairs(n):
    i, j = np.tril_indices(n, -1)
    kept = (i + j) % 3 == 1
    return dict(p=tuples(zip(i[kept], j[kept]), np.int64, np.int64))


@example("flat_map_nested.twill", on=[dict(n=i32(n)) for n in (0, 4, 5, 30)])
def triangles(n):
    sides = range(1, n + 1)
    squares = {s * s: s for s in sides}
    found = [(a, b, squares[a * a + b * b]) for a, b in itertools.combinations(sides, 2) if a * a + b * b in squares]
    return dict(t=tuples(sorted(found, key=lambda t: t[::-1]), np.int64, np.int64, np.int64))


def cuts(parts, end):
    """Offsets that cut 0 .. end into parts."""
    inner = np.sort(integers(max(parts - 1, 0), low=0, high=end + 1))
    return np.concatenate([[0], inner, [end]][:parts + 1] if parts else [[0]]).astype(np.int32)


@example("flat_map_nested.twill",
         on=[dict(outer=cuts(r, s), inner=cuts(s, z), x=integers(z, type=np.int64))
             for r, s, z in [(0, 0, 0), (1, 1, 1), (3, 7, 40), (5, 2, 9)]])
def flatten(outer, inner, x):
    # Ranges that follow each other cover a prefix.
    return dict(y=x[:inner[outer[-1]]])


def all_divisors(x):
    return [[k for k in range(1, n + 1) if n % k == 0] for n in x.tolist()]


@example("flat_map_nested.twill", on=[dict(xs=integers(n, low=0, high=60)) for n in (0, 1, 12)])
def divisors(xs):
    found = all_divisors(xs)
    offsets = np.cumsum([0] + [len(d) for d in found])
    return dict(d=np.array(sum(found, []), np.int64), d_offsets=offsets.astype(np.int64))


@example("flat_map_nested.twill", on=[dict(xs=integers(n, low=0, high=60)) for n in (0, 1, 12)])
def abundance(xs):
    found = all_divisors(xs)
    return dict(n=np.array([len(d) for d in found], np.int64), s=np.array([sum(d) for d in found], np.int64))


def buckets(keys, values):
    """A dictionary keeps the order of first occurrence."""
    found = {}
    for key, value in zip(keys, values):
        found.setdefault(key, []).append(value)
    return found


KEYED = [(0, 5), (1, 5), (80, 7), (30, 100)]


@example("group_by.twill", on=[dict(key=integers(n, low=-2, high=k), v=doubles(n)) for n, k in KEYED],
         folds=lambda key, v: len(v))
def total_by(key, v):
    g = buckets(key.tolist(), v)
    return dict(total=np.array([math.fsum(m) for m in g.values()], np.float64), keys=np.array(list(g), np.int32))


@example("group_by.twill", on=[dict(key=integers(n, low=-2, high=k), v=doubles(n)) for n, k in KEYED],
         folds=lambda key, v: len(v))
def sum_by(key, v):
    g = buckets(key.tolist(), v)
    return dict(g=np.array([math.fsum(m) for m in g.values()], np.float64), g_keys=np.array(list(g), np.int32))


@example("group_by.twill", on=[dict(key=integers(n, low=-2, high=k), v=integers(n, type=np.int64)) for n, k in KEYED])
def collect_by(key, v):
    g = buckets(key.tolist(), v.tolist())
    return dict(g=np.array(sum(g.values(), []), np.int64),
                g_offsets=np.cumsum([0] + [len(m) for m in g.values()]).astype(np.int64),
                g_keys=np.array(list(g), np.int32))


@example("group_by.twill", on=[dict(key=integers(n, low=-2, high=k), v=doubles(n)) for n, k in KEYED],
         folds=lambda key, v: len(v))
def mean_by(key, v):
    g = buckets(key.tolist(), v)
    return dict(keys=np.array(list(g), np.int32), mean=np.array([np.mean(m) for m in g.values()], np.float64))


@example("group_by.twill",
         on=[dict(a=integers(n, low=0, high=3, type=np.uint8), b=integers(n, low=0, high=4, type=np.uint8))
             for n in (0, 1, 50)])
def count_pairs(a, b):
    g = buckets(zip(a.tolist(), b.tolist()), a)
    return dict(g=np.array([len(m) for m in g.values()], np.int64), g_keys=tuples(g, np.uint8, np.uint8))


def whole(*shape, **limits):
    return integers(*shape, type=np.int64, **limits)


@example("zip.twill", on=[dict(a=doubles(n), b=doubles(m)) for n, m in [(0, 3), (1, 1), (40, 29), (7, 90)]],
         folds=lambda a, b: min(len(a), len(b)))
def dot(a, b):
    n = min(len(a), len(b))
    return dict(s=np.float64(math.fsum(a[:n] * b[:n])))


@example("zip.twill", on=[dict(key=whole(n), v=whole(n), w=whole(n)) for n in (0, 1, 60)])
def weighted(key, v, w):
    kept = w > 0
    g = buckets((key[kept] % 3).tolist(), (v * w)[kept].tolist())
    return dict(g=np.array([sum(m) for m in g.values()], np.int64), g_keys=np.array(list(g), np.int64))


@example("zip.twill",
         on=[dict(a=whole(n), b=whole(m), c=whole(l)) for n, m, l in [(0, 0, 0), (1, 0, 2), (20, 3, 11)]])
def joined(a, b, c):
    both = np.concatenate([b, a])
    return dict(every=np.concatenate([a, b, c]), squares=np.int64((np.concatenate([a, c]) ** 2).sum()),
                big=both[both > 2] + 1)


@example("zip.twill", on=[dict(a=whole(n), b=whole(n)) for n in (0, 1, 33)])
def differences(a, b):
    return dict(pairs=tuples(zip(a, b), np.int64, np.int64), d=(a - b)[a > b])


ORDER = record(id=np.int64, customer=np.int32, amount=np.float64, discount=np.float64, date=np.int32)


def some_orders(n):
    return filled(ORDER, n, id=1000 + np.arange(n), customer=integers(n, low=0, high=9),
                  amount=integers(n, low=1, high=2001), discount=integers(n, low=0, high=3) / 8,
                  date=integers(n, low=0, high=30))


@example("orders.twill", on=[dict(o=some_orders(n), cutoff=i32(15)) for n in (0, 1, 60)],
         folds=lambda o, cutoff: len(o))
def orders(o, cutoff):
    old = o[o["date"] < cutoff]
    g = buckets(o["customer"].tolist(), o["amount"])
    return dict(big=o["id"][o["amount"] > 1000], revenue=np.float64(math.fsum(old["amount"] * (1 - old["discount"]))),
                by_customer=np.array([math.fsum(m) for m in g.values()], np.float64),
                by_customer_keys=np.array(list(g), np.int32))


@example("orders.twill", on=[dict(o=some_orders(n)) for n in (0, 1, 60)], folds=lambda o: len(o))
def loyal(o):
    customers, visits = np.unique(o["customer"], return_counts=True)
    spent = [math.fsum(o["amount"][o["customer"] == c]) for c in customers]
    return dict(n=np.int64(np.sum(visits > 1)), best=np.float64(max(spent, default=-np.inf)))


SUMS = record(quantity=np.float64, price=np.float64, reduced=np.float64, charged=np.float64, discount=np.float64,
              count=np.int64)


def line_items(n):
    return dict(quantity=integers(n, low=1, high=51, type=np.float64), price=integers(n, low=1, high=100) / 16,
                discount=integers(n, low=0, high=11) / 128, shipped=integers(n, low=0, high=1000))


@example("tpch.twill",
         on=[dict(flag=integers(n, low=65, high=68, type=np.uint8), status=integers(n, low=70, high=72, type=np.uint8),
                  **{name: column for name, column in line_items(n).items() if name != "shipped"},
                  tax=integers(n, low=0, high=9) / 128, shipped=integers(n, low=0, high=100), until=i32(90))
             for n in (0, 1, 70)], folds=lambda flag, **_: len(flag))
def pricing_summary(flag, status, quantity, price, discount, tax, shipped, until):
    rows = [r for r in range(len(flag)) if shipped[r] <= until]
    g = buckets(((int(flag[r]), int(status[r])) for r in rows), rows)
    sums = np.zeros(len(g), SUMS)
    for to, members in zip(sums, g.values()):
        reduced = price[members] * (1 - discount[members])
        to["quantity"] = math.fsum(quantity[members])
        to["price"] = math.fsum(price[members])
        to["reduced"] = math.fsum(reduced)
        to["charged"] = math.fsum(reduced * (1 + tax[members]))
        to["discount"] = math.fsum(discount[members])
        to["count"] = len(members)
    return dict(sums=sums, sums_keys=tuples(g, np.uint8, np.uint8))


@example("tpch.twill", on=[dict(**line_items(n), first=i32(100), end=i32(900)) for n in (0, 1, 300)],
         folds=lambda price, **_: len(price))
def revenue_change(quantity, price, discount, shipped, first, end):
    chosen = (shipped >= first) & (shipped < end) & (np.abs(discount - 0.06) < 0.01) & (quantity < 24)
    return dict(change=np.float64(math.fsum(price[chosen] * discount[chosen])))


# Thresholds between the values that occur: eighths.
@example("pipeline.twill", on=[dict(x=f32(integers(n) / 8), rest=np.float32(0.25), threshold=np.float32(0.03))
                               for n in (0, 1, 90)], folds=lambda x, **_: len(x))
def energy(x, rest, threshold):
    power = (wide(x) - wide(rest))**2
    return dict(total=np.float64(math.fsum(power[power > threshold])))


@example("pipeline.twill", on=[dict(arrival=integers(n), nights=integers(n, low=-1, high=20)) for n in (0, 1, 40)])
def weekend_nights(arrival, nights):
    count = sum(1 for a, n in zip(arrival.tolist(), nights.tolist()) for d in range(a, a + n) if d % 7 in (4, 5))
    return dict(count=np.int64(count))


# Of single-precision distances, but folded in double precision: about as exact as one of them.
@example("pipeline.twill", on=[dict(vx=singles(n), vy=singles(n), vz=singles(n), time=np.float32(1.5))
                               for n in (1, 2, 100)], folds=4e8)
def distances(vx, vy, vz, time):
    d = wide(time) * np.sqrt(wide(vx)**2 + wide(vy)**2 + wide(vz)**2)
    return dict(mean=np.float64(np.mean(d)), variance=np.float64(np.var(d)))


@example("clusters.twill", folds=40,
         on=[dict(xs=singles(n), m=np.int64(m)) for n, m in [(1, 0), (1, 1), (3, 7), (40, 33)]])
def bottom_up_bad(xs, m):
    return dict(result=xs * np.float32(m) + np.float32(xs[0]) ** int(m))


@example("clusters.twill", folds=1100, on=[dict(xs=singles(n)) for n in (0, 1, 2, 1001)])
def top_down_bad(xs):
    first = 2 * xs[0] if len(xs) else 0
    return dict(result=np.float32(np.sum(2.0 * xs + 1 + np.arange(len(xs)) + first, dtype=np.float64)))


# Points on a coarse grid: distances are exact, so that everybody agrees about which one is smaller.
@example("kmeans.twill",
         on=[dict(p=f32(integers(n, d) / 4), c=f32(integers(k, d) / 4))
             for n, k, d in [(0, 2, 3), (1, 1, 1), (5, 3, 0), (60, 7, 2), (33, 5, 4)]], folds=lambda p, c: len(p))
def kmeans_step(p, c):
    moved = wide(c)
    if len(p):
        near = np.argmin(((wide(p)[:, None] - wide(c)[None])**2).sum(axis=2), axis=1)
        for k in set(near.tolist()):
            moved[k] = np.mean(wide(p)[near == k], axis=0)
    return dict(moved=f32(moved))


ATTRIBUTES = ["first_name", "last_name", "birth_name", "birthday", "birth_year", "sex", "city", "street"]
PERSON = record(**{name: np.int32 for name in ATTRIBUTES}, id=np.int64)
MATCH = record(id=np.int64, weight=np.float64)


def people(n, values=4):
    """Attributes of few values, some unknown; ids in no order."""
    return filled(PERSON, n, **{name: integers(n, low=-1, high=values) for name in ATTRIBUTES},
                  id=random().permutation(10 * n)[:n])


@example("record_linkage.twill",
         on=[dict(new=people(n), old=people(m)) for n, m in [(0, 3), (3, 0), (1, 1), (13, 101), (9, 700)]])
def link(new, old):
    best = filled(MATCH, len(new), id=np.iinfo(np.int64).max, weight=-np.inf)
    if len(old):
        for n, person in enumerate(new):
            weight = np.zeros(len(old))
            for k, name in enumerate(ATTRIBUTES):
                known = (person[name] >= 0) & (old[name] >= 0)
                weight += np.where(known, np.where(person[name] == old[name], 3.0 + 0.25 * k, -1.5 - 0.125 * k), 0)
            winner = np.lexsort((old["id"], -weight))[0]
            best[n] = old["id"][winner], weight[winner]
    return dict(best=best)


# ---- in order ------------------------------------------------------------------------------------------------------


@example("gauss_seidel.twill", on=[dict(u0=doubles(*shape)) for shape in GRIDS], folds=30)
def sweep(u0):
    u = u0.copy()  # overwritten as we go: what is above and to the left is new
    for y in range(1, u.shape[0] - 1):
        for x in range(1, u.shape[1] - 1):
            u[y, x] = (u[y - 1, x] + u[y + 1, x] + u[y, x - 1] + u[y, x + 1]) / 4
    return dict(u=u)


@example("gauss_seidel.twill", definition="relax", folds=30,
         on=[dict(u0=doubles(n), sweeps=i32(t)) for n, t in [(0, 2), (1, 2), (3, 0), (3, 1), (15, 8)]])
def relax_line(u0, sweeps):
    u = u0.copy()
    for _ in range(sweeps):
        for i in range(1, len(u) - 1):
            u[i] = (u[i - 1] + u[i + 1]) / 2
    return dict(u=u)


def distances(n):
    return np.where(np.eye(n, dtype=bool), 0, integers(n, n, low=1, high=100, type=np.int64))


@example("floyd_warshall.twill", on=[dict(d0=distances(n)) for n in (0, 1, 2, 19)])
def shortest(d0):
    # Squaring in the min-plus algebra doubles the number of edges that a path may have.
    d = d0
    for _ in range(max(1, len(d0)).bit_length()):
        d = np.array([np.min(row + d.T, axis=1) for row in d], np.int64).reshape(d.shape)
    return dict(d=d)


@example("floyd_warshall.twill", on=[dict(e=bits(n, n, share=0.15)) for n in (0, 1, 14)])
def reachable(e):
    found = np.zeros_like(e)
    for start in range(len(e)):
        queue = [start]
        while queue:
            for node in np.nonzero(e[queue.pop()] & ~found[start])[0]:
                found[start, node] = True
                queue.append(node)
    return dict(r=found)


@example("newton.twill", on=[dict(a=np.float64(a)) for a in (1.0, 2.0, 0.3, 12345.0)], folds=1000)
def newton(a):
    return dict(r=np.float64(math.sqrt(a)))


@example("newton.twill", on=[dict(a=doubles(n, low=0.5, high=100)) for n in (1, 17)], folds=1000)
def roots(a):
    # Every step doubles the number of correct digits: e -> e*e / (2 * (1 + e)) for the relative error e of the root.
    error, steps = a / np.sqrt(a) - 1, 0
    worst = 1.0
    while worst > 1e-12:
        error = error**2 / (2 * (1 + error))
        worst = np.max(np.abs(error * (2 + error)))
        steps += 1
    return dict(r=np.sqrt(a), steps=np.int64(steps))


# ---- simulations ---------------------------------------------------------------------------------------------------

VEC = record(x=np.float64, y=np.float64, z=np.float64)


def with_records(values):
    """Vectors in the last axis become records."""
    return {name: filled(VEC, value.shape[:3], x=value[..., 0], y=value[..., 1], z=value[..., 2])
            if np.ndim(value) == 4 else value for name, value in values.items()}


def blast_state(edge, steps):
    """In the midst of it, as inputs of a step."""
    s = lulesh_reference.blast(edge, limit=steps)._asdict()
    scalars = dict(cycle=np.int64, time=np.float64, dt=np.float64, courant=np.float64, hydro=np.float64)
    return with_records({name: scalars[name](value) if name in scalars else value for name, value in s.items()})


@example("lulesh.twill", on=[dict(x=filled(VEC, (n, n, n), x=doubles(n, n, n), y=doubles(n, n, n), z=doubles(n, n, n)))
                             for n in (1, 2, 5)])
def corners(x):
    h = lulesh_reference.at_corners(x)
    return dict(h=filled(record(**{f"p{c}": VEC for c in range(8)}), h.shape[1:], **{f"p{c}": h[c] for c in range(8)}))


# Differences of volumes lose digits, and a step divides by them.
@example("lulesh.twill", folds=1e5,
         on=[dict(**blast_state(edge, steps), stop=np.float64(1e-2)) for edge, steps in [(1, 0), (2, 3), (5, 40)]])
def lulesh_step(stop, **state):
    state = {name: np.stack([value["x"], value["y"], value["z"]], axis=-1) if np.asarray(value).dtype.names else value
             for name, value in state.items()}
    s, sane = lulesh_reference.step(lulesh_reference.State(**state), stop)
    names = "pos vel e p q v ss cycle time dt courant hydro".split()
    results = with_records({f"new_{name}": getattr(s, name) for name in names})
    return dict(**{name: np.asarray(value) for name, value in results.items()}, sane=np.bool_(sane))


@example("lulesh.twill", on=[dict(edge=np.int64(edge)) for edge in (1, 2, 7)])
def sedov(edge):
    s = lulesh_reference.sedov(int(edge))
    return with_records(dict(pos=s.pos, vel=s.vel, nodal_mass=s.nodal_mass, e=s.e, volo=s.volo, dt=np.float64(s.dt)))


@example("lulesh.twill", folds=1e5,
         on=[dict(edge=np.int64(edge), stop=np.float64(stop), limit=np.int64(limit))
             for edge, stop, limit in [(1, 1e-2, 9), (2, 1e-2, 9), (3, 1e-2, 99), (3, 1e-3, 99), (4, 1e-2, 11)]])
def lulesh(edge, stop, limit):
    s = lulesh_reference.blast(int(edge), stop, limit)
    return dict(iterations=np.int64(s.cycle), origin_energy=np.float64(s.e[0, 0, 0]))


# ---- pictures ------------------------------------------------------------------------------------------------------

PICTURES = [(0, 3), (1, 1), (1, 6), (5, 1), (2, 2), (9, 14), (23, 17)]


@example("harris.twill", on=[dict(img=singles(*shape)) for shape in PICTURES])
def sobel(img):
    ix, iy = pictures_reference.sobel(wide(img))
    return dict(ix=f32(ix), iy=f32(iy))


@example("harris.twill", on=[dict(a=singles(*shape)) for shape in PICTURES], folds=9)
def box(a):
    return dict(s=f32(pictures_reference.box(wide(a))))


@example("harris.twill", on=[dict(img=singles(*shape)) for shape in PICTURES], folds=81)
def harris(img):
    return dict(corner=f32(pictures_reference.harris(wide(img))))


LEVELS = [(2, 1, 1), (1, 5, 2), (3, 9, 14), (2, 16, 7)]


def coarse(k, h, w):
    return (k, (h + 1) // 2, (w + 1) // 2)


@example("local_laplacian.twill", on=[dict(f=singles(*shape)) for shape in LEVELS], folds=16)
def coarser(f):
    return dict(g=f32(pictures_reference.coarser(wide(f))))


@example("local_laplacian.twill", on=[dict(f=singles(*shape), g=singles(*coarse(*shape))) for shape in LEVELS])
def detail(f, g):
    return dict(l=f32(f - pictures_reference.finer(wide(g), f.shape)))


@example("local_laplacian.twill", on=[dict(l=singles(*shape), g=singles(*coarse(*shape))) for shape in LEVELS])
def collapse(l, g):
    return dict(f=f32(l + pictures_reference.finer(wide(g), l.shape)))


def greys(*shape):
    """From 0 to 1, and not near a step of the table."""
    return f32((integers(1, *shape, low=0, high=7 * 256) + random().uniform(0.1, 0.9, (1, *shape))) / (7 * 256))


@example("local_laplacian.twill", on=[dict(g=greys(*shape), alpha=np.float32(0.25), beta=np.float32(0.75))
                                      for shape in PICTURES])
def remap(g, alpha, beta):
    return dict(r=f32(pictures_reference.remap(wide(g), alpha, beta)))


@example("local_laplacian.twill", on=[dict(l=singles(k, h, w), g=f32(np.abs(singles(1, h, w))))
                                      for k, h, w in [(2, 1, 1), (3, 5, 2), (8, 9, 14)]])
def choose(l, g):
    return dict(s=f32(pictures_reference.choose(wide(l), wide(g))))


@example("local_laplacian.twill", folds=100,
         on=[dict(g0=greys(*shape), alpha=np.float32(alpha), beta=np.float32(beta))
             for shape in [(1, 1), (1, 6), (9, 14), (67, 45)] for alpha, beta in [(1 / 7, 1), (0.5, 0.5)]])
def enhance(g0, alpha, beta):
    return dict(e0=f32(pictures_reference.enhance(wide(g0), alpha, beta)))


def rounded(draw, floats, distance=0.02):
    """Inputs that `draw` makes, tried until no result of `floats` is near to where its rounding changes."""
    for _ in range(10000):
        inputs = draw()
        if np.all(np.abs(floats(**inputs) % 1 - 0.5) > distance):
            return inputs
    raise ValueError("there are too many results: one of them is always near a border")


def nearest(floats, type):
    return np.floor(floats + 0.5).astype(type)


def sharpened(img, alpha, beta):
    return 65535 * pictures_reference.local_laplacian(img, wide(alpha), wide(beta))


def photograph(h, w, alpha, beta, colours=3):
    def draw():
        img = np.resize(integers(colours, h, w, low=0, high=65536, type=np.uint16), (3, h, w))
        return dict(img=img, alpha=np.float32(alpha), beta=np.float32(beta))

    return rounded(draw, sharpened)


# A grey picture that does not change may be larger: its results are integers before they are rounded.
@example("local_laplacian.twill", on=[photograph(1, 1, 1 / 7, 1), photograph(1, 5, 1 / 7, 1),
                                      photograph(3, 3, 0.5, 0.75), photograph(9, 14, 0, 1, colours=1)])
def local_laplacian(img, alpha, beta):
    return dict(sharp=nearest(sharpened(img, alpha, beta), np.uint16))


@example("interpolate.twill", on=[dict(img=singles(4, *shape)) for shape in PICTURES])
def premultiply(img):
    return dict(p=f32(pictures_reference.premultiply(wide(img))))


@example("interpolate.twill", on=[dict(f=singles(*shape)) for shape in LEVELS], folds=9)
def downsample(f):
    return dict(g=f32(pictures_reference.downsample(wide(f))))


@example("interpolate.twill", on=[dict(f=singles(4, h, w), g=singles(*coarse(4, h, w))) for _, h, w in LEVELS])
def blend(f, g):
    return dict(b=f32(pictures_reference.blend(wide(f), wide(g))))


@example("interpolate.twill", definition="normalise",
         on=[dict(p=f32(doubles(4, *shape, low=0.5, high=1))) for shape in PICTURES])
def normalise_colours(p):
    return dict(n=f32(wide(p) / wide(p[3])))


def sparse_picture(h, w):
    """Most of it is transparent, and none of it nearly so."""
    alpha = doubles(h, w, low=0.25, high=1) * bits(h, w, share=0.3)
    alpha.flat[:1] = 1
    return f32(np.concatenate([doubles(3, h, w, low=0, high=1), alpha[None]]))


@example("interpolate.twill", folds=100,
         on=[dict(img=sparse_picture(*shape)) for shape in [(1, 1), (1, 6), (9, 14), (67, 45), (600, 3)]])
def interpolate(img):
    return dict(filled=f32(pictures_reference.interpolate(wide(img))))


CELL = record(value=np.float32, weight=np.float32)


def cells_of(values):
    """Value and weight in the last axis become a record."""
    return filled(CELL, values.shape[:-1], value=values[..., 0], weight=values[..., 1])


def numbers_of(cells):
    return np.stack([wide(cells["value"]), wide(cells["weight"])], axis=-1)


def brightness(h, w):
    """From below 0 to above 1, and not near to where a pixel changes its cell."""
    return f32((integers(h, w, low=-2, high=12) + random().uniform(-0.45, 0.45, (h, w))) / 10)


GRIDS_OF = [(1, 1), (3, 8), (8, 9), (23, 17)]


@example("bilateral_grid.twill", on=[dict(img=brightness(*shape)) for shape in GRIDS_OF], folds=64)
def grid(img):
    return dict(cells=cells_of(pictures_reference.grid(wide(img))))


@example("bilateral_grid.twill", definition="blur", folds=125,
         on=[dict(cells=cells_of(singles(*shape, 2))) for shape in [(1, 1, 1), (0, 2, 3), (2, 3, 12), (6, 5, 4)]])
def blur_cells(cells):
    return dict(by=cells_of(pictures_reference.grid_blur(numbers_of(cells))))


@example("bilateral_grid.twill", definition="slice",
         on=[dict(cells=cells_of(singles((h + 7) // 8 + 1, (w + 7) // 8 + 1, 12, 2)), img=brightness(h, w))
             for h, w in GRIDS_OF])
def slice_cells(cells, img):
    return dict(s=cells_of(pictures_reference.grid_slice(numbers_of(cells), wide(img))))


@example("bilateral_grid.twill", on=[dict(img=brightness(*shape)) for shape in GRIDS_OF], folds=64)
def bilateral_grid(img):
    return dict(smooth=f32(pictures_reference.bilateral_grid(wide(img))))


RAW = [(2, 2), (3, 5), (9, 14), (23, 17)]


def whole(x):
    return x.astype(np.int64)


def shorts(*shape):
    return integers(*shape, low=0, high=1024, type=np.int16)


@example("camera_pipe.twill", on=[dict(raw=integers(*shape, low=0, high=1024, type=np.uint16))
                                  for shape in [(0, 3), (1, 1)] + RAW])
def deinterleave(raw):
    even = raw[:len(raw) // 2 * 2, :raw.shape[1] // 2 * 2]
    return dict(plane=pictures_reference.planes(even).astype(np.int16))


@example("camera_pipe.twill", on=[dict(p=shorts(2, 2, *shape)) for shape in PICTURES])
def suppress_hot(p):
    return dict(q=pictures_reference.suppress_hot(p))


@example("camera_pipe.twill",
         on=[{name: shorts(*shape) for name in ("p00", "p01", "p10", "p11")} for shape in PICTURES])
def interleave(p00, p01, p10, p11):
    return dict(p=pictures_reference.mosaic(np.array([[p00, p01], [p10, p11]])))


@example("camera_pipe.twill", on=[dict(plane=shorts(2, 2, *shape)) for shape in PICTURES[1:]])
def demosaic(plane):
    colours = pictures_reference.demosaic(pictures_reference.mosaic(whole(plane)))
    return dict(zip(("red", "green", "blue"), (colour.astype(np.int16) for colour in colours)))


def camera_matrix(m3200, m7000, temperature):
    return pictures_reference.colour_matrix(wide(m3200), wide(m7000), float(temperature))


def two_lights(temperature):
    def draw():
        near_one = [np.eye(3, 4) + doubles(3, 4) * [0.5, 0.5, 0.5, 40] for _ in range(2)]
        return dict(m3200=f32(near_one[0]), m7000=f32(near_one[1]), temperature=np.float32(temperature))

    return rounded(draw, camera_matrix)


@example("camera_pipe.twill", on=[two_lights(temperature) for temperature in (3200, 3700, 7000)])
def colour_matrix(m3200, m7000, temperature):
    return dict(m=nearest(camera_matrix(m3200, m7000, temperature), np.int32))


@example("camera_pipe.twill", on=[dict(r=shorts(*shape), g=shorts(*shape), b=shorts(*shape),
                                       m=integers(3, 4, low=-1000, high=1000)) for shape in PICTURES])
def correct(r, g, b, m):
    return dict(rgb=pictures_reference.correct([whole(r), whole(g), whole(b)], whole(m)).astype(np.int16))


def curve_of(gamma, contrast, black, white):
    return pictures_reference.tone_curve(float(gamma), float(contrast), int(black), int(white))


def toning(black=25, white=1023):
    def draw():
        return dict(gamma=np.float32(random().uniform(1.5, 2.5)), contrast=np.float32(random().uniform(0, 80)),
                    black=i32(black), white=i32(white))

    return rounded(draw, curve_of, distance=2e-4)


@example("camera_pipe.twill", on=[toning(), toning(), toning(0, 1024), toning(100, 700)])
def tone_curve(**parameters):
    return dict(curve=nearest(curve_of(**parameters), np.uint8))


@example("camera_pipe.twill", on=[dict(img=integers(*shape, low=0, high=256, type=np.uint8), strength=i32(strength))
                                  for shape in LEVELS for strength in (0, 32, 50)])
def sharpen(img, strength):
    return dict(sharp=pictures_reference.sharpen(whole(img), int(strength)).astype(np.uint8))


@example("camera_pipe.twill", on=[dict(raw=integers(*shape, low=0, high=1024, type=np.uint16), **two_lights(3700),
                                       **toning(), strength=i32(32)) for shape in RAW])
def camera_pipe(raw, m3200, m7000, temperature, gamma, contrast, black, white, strength):
    m = nearest(camera_matrix(m3200, m7000, temperature), np.int64)
    curve = nearest(curve_of(gamma, contrast, black, white), np.int64)
    return dict(picture=pictures_reference.camera_pipe(whole(raw), m, curve, int(strength)).astype(np.uint8))


# ---- effects -------------------------------------------------------------------------------------------------------


@example("report.twill", on=[dict(xs=integers(n)) for n in (0, 1, 9)])
def report(xs):
    lines = [f"numbers: {len(xs)}"] + [f"negative {x}" for x in xs if x < 0] + [f"total {xs.sum()}"]
    return dict(total=np.int64(xs.sum())), lines


@example("report.twill", definition="rows",
         on=[dict(a=integers(n, m) + 0.5 * np.eye(n, m)) for n, m in [(0, 1), (1, 3), (3, 3)]])
def report_rows(a):
    lines = []
    for i, row in enumerate(a):
        lines.append(f"row {i} sums to {row.sum()}")
        if row.sum() < 0:
            lines.append("  and that is negative")
    return {}, lines


# ---- files and the command -----------------------------------------------------------------------------------------


def tolerance(case, values):
    """The largest error, relative to max(1, |expected|), that rounding explains; 0 for integers."""
    kinds = [values.dtype[name] for name in values.dtype.names] if values.dtype.names else [values.dtype]
    units = {np.dtype(np.float32): 1e-6, np.dtype(np.float64): 1e-14}
    return (8 + case["folds"]) * max((units.get(kind, 0) for kind in kinds), default=0)


def save(directory, case):
    """Writes one case; returns its entry in cases.json."""
    entry = {key: case[key] for key in ("name", "file", "definition", "effects")}
    entry["inputs"], entry["results"] = [], []
    for name, value in case["inputs"].items():
        path = os.path.join(directory, f"{case['name']}.{name}.in.npy")
        np.save(path, value)
        entry["inputs"].append({"name": name, "path": path})
    for name, value in case["results"].items():
        path = os.path.join(directory, f"{case['name']}.{name}.npy")
        np.save(path, value)
        entry["results"].append({"name": name, "path": path, "tolerance": tolerance(case, np.asarray(value))})
    return entry


def write(directory, cases):
    os.makedirs(directory, exist_ok=True)
    entries = [save(directory, case) for case in cases]
    with open(os.path.join(directory, "cases.json"), "w", encoding="utf-8") as file:
        json.dump(entries, file, indent=1)
    return entries


def error(got, want):
    """The largest error of a column of numbers, relative to max(1, |expected|)."""
    if got.dtype != want.dtype:
        return f"type {got.dtype}, expected {want.dtype}"
    if got.shape != want.shape:
        return f"shape {got.shape}, expected {want.shape}"
    if want.dtype.names:
        errors = [error(got[name], want[name]) for name in want.dtype.names]
        texts = [e for e in errors if isinstance(e, str)]
        return texts[0] if texts else max(errors)
    if want.dtype.kind != "f":
        return 0.0 if np.array_equal(got, want) else np.inf
    same = (got == want) | (np.isnan(got) & np.isnan(want))
    with np.errstate(invalid="ignore"):
        difference = np.abs(wide(got) - wide(want)) / np.maximum(1, np.abs(wide(want)))
    return float(np.max(np.where(same, 0, np.where(np.isnan(difference), np.inf, difference)), initial=0))


def run(twill, target, entry, directory):
    """Runs the command on one case; returns what is wrong, or nothing."""
    command = [twill, "run", os.path.join(HERE, entry["file"]), "--def", entry["definition"]]
    command += ["--target", target] if target else []
    for item in entry["inputs"]:
        command += ["--in", f"{item['name']}={item['path']}"]
    outputs = [os.path.join(directory, f"{entry['name']}.{item['name']}.out.npy") for item in entry["results"]]
    for item, path in zip(entry["results"], outputs):
        command += ["--out", f"{item['name']}={path}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return f"exit status {done.returncode}: {done.stderr.strip()}"
    printed = done.stdout.splitlines()
    if printed[:len(entry["effects"])] != entry["effects"]:
        return f"printed {printed}, expected {entry['effects']}"
    for item, path in zip(entry["results"], outputs):
        wrong = error(np.load(path), np.load(item["path"]))
        if isinstance(wrong, str):
            return f"{item['name']}: {wrong}"
        if not wrong <= item["tolerance"]:
            return f"{item['name']}: error {wrong:g}, tolerance {item['tolerance']:g}"
    return None


def check(twill, target, cases):
    failures = 0
    with tempfile.TemporaryDirectory() as directory:
        for entry in write(directory, cases):
            wrong = run(twill, target, entry, directory)
            failures += wrong is not None
            print(f"{'FAIL' if wrong else 'ok  '} {entry['name']}{': ' + wrong if wrong else ''}")
    print(f"{len(cases) - failures} of {len(cases)} cases agree")
    return 1 if failures else 0


def main():
    parser = argparse.ArgumentParser(description="NumPy references for the examples")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="print the cases")
    writing = commands.add_parser("write", help="write inputs and expected results as .npy files")
    writing.add_argument("directory")
    checking = commands.add_parser("check", help="run the command on every case and compare")
    checking.add_argument("twill", help="the command")
    checking.add_argument("--target", help="what runs the programs: openmp (the default) or interp")
    for command in (writing, checking):
        command.add_argument("files", nargs="*", help="names of examples, like dot.twill; none: all of them")
    arguments = parser.parse_args()
    if arguments.command == "list":
        for case in CASES:
            shapes = ", ".join(f"{name}{list(np.shape(value))}" for name, value in case["inputs"].items())
            print(f"{case['name']}({shapes})")
        return 0
    unknown = set(arguments.files) - {case["file"] for case in CASES}
    if unknown:
        parser.error(f"no reference for {', '.join(sorted(unknown))}")
    cases = [case for case in CASES if not arguments.files or case["file"] in arguments.files]
    if arguments.command == "write":
        write(arguments.directory, cases)
        return 0
    return check(arguments.twill, arguments.target, cases)


if __name__ == "__main__":
    sys.exit(main())
