"""The picture pipelines in NumPy: whole pictures at a time, shifted and sliced, in double precision or with integers of
64 bits.

Pictures are arrays of rows and columns, with further axes in front of them. At the border the nearest pixel is
repeated.
"""

import numpy as np


def moved(a, axis, by):
    """The elements `by` places further along an axis, the last one repeated."""
    return np.take(a, np.clip(np.arange(a.shape[axis]) + by, 0, max(a.shape[axis] - 1, 0)), axis=axis)


def filtered(a, axis, weights):
    """Sums of neighbours along an axis, weighed; the middle one of the weights is for the element itself."""
    middle = len(weights) // 2
    return sum(w * moved(a, axis, k - middle) for k, w in enumerate(weights))


# ---- corners ---------------------------------------------------------------------------------------------------------


def sobel(img):
    smooth, slope = [1 / 4, 2 / 4, 1 / 4], [-1 / 3, 0, 1 / 3]
    return filtered(filtered(img, -2, smooth), -1, slope), filtered(filtered(img, -1, smooth), -2, slope)


def box(a):
    return filtered(filtered(a, -1, [1, 1, 1]), -2, [1, 1, 1])


def harris(img):
    gradient = np.stack(sobel(img))
    matrix = np.moveaxis(box(gradient[:, None] * gradient[None]), (0, 1), (-2, -1))
    return np.linalg.det(matrix) - 0.04 * np.trace(matrix, axis1=-2, axis2=-1)**2


# ---- local Laplacian -------------------------------------------------------------------------------------------------


def halved(a, axis):
    """Every other sum of four neighbours along an axis, weighed 1 3 3 1; the second one is at the place itself."""
    return np.take(filtered(a, axis, [0, 1 / 8, 3 / 8, 3 / 8, 1 / 8]), np.arange(0, a.shape[axis], 2), axis=axis)


def doubled(a, axis, size):
    """Between two pixels there are two new ones, each nearer to one of the old ones."""
    left, right = filtered(a, axis, [1 / 4, 3 / 4, 0]), filtered(a, axis, [0, 3 / 4, 1 / 4])
    both = np.stack([left, right], axis=axis % a.ndim + 1)
    flat = both.reshape(a.shape[:axis % a.ndim] + (2 * a.shape[axis],) + a.shape[axis % a.ndim + 1:])
    return np.take(flat, np.arange(size), axis=axis)


def coarser(a):
    return halved(halved(a, -1), -2)


def finer(a, shape):
    return doubled(doubled(a, -1, shape[-1]), -2, shape[-2])


def gaussian(a, levels):
    pyramid = [a]
    while len(pyramid) < levels:
        pyramid.append(coarser(pyramid[-1]))
    return pyramid


def remap(g, alpha, beta):
    level = np.arange(8)[:, None, None] / 7
    t = np.floor(7 * 256 * g) / 256 - 7 * level
    return level + beta * (g - level) + alpha * t * np.exp(-t**2 / 2)


def choose(layers, g):
    """The hat function of the difference weighs the layers."""
    levels = np.arange(len(layers))[:, None, None]
    return np.sum(layers * np.maximum(0, 1 - np.abs((len(layers) - 1) * g - levels)), axis=0, keepdims=True)


def enhance(g, alpha, beta):
    remapped, plain = gaussian(remap(g, alpha, beta), 8), gaussian(g, 8)
    result = choose(remapped[-1], plain[-1])
    for fine, coarse, level in reversed(list(zip(remapped, remapped[1:], plain))):
        result = choose(fine - finer(coarse, fine.shape), level) + finer(result, fine.shape)
    return result


def local_laplacian(img, alpha, beta):
    """From 0 to 1."""
    colour = img / 65535
    grey = np.tensordot([0.299, 0.587, 0.114], colour, 1)[None]
    return np.clip(enhance(grey, alpha, beta) * (colour + 0.01) / (grey + 0.01), 0, 1)


# ---- interpolation ---------------------------------------------------------------------------------------------------


def downsample(a):
    return filtered(filtered(a, -1, [1 / 4, 1 / 2, 1 / 4]), -2, [1 / 4, 1 / 2, 1 / 4])[..., ::2, ::2]


def stretched(a, axis, size):
    """Linear interpolation between the even places, where the elements of a are."""
    lines = lambda line: np.interp(np.arange(size), 2 * np.arange(len(line)), line)
    return np.apply_along_axis(lines, axis, a)


def blend(fine, coarse):
    return fine + (1 - fine[3]) * stretched(stretched(coarse, -2, fine.shape[-2]), -1, fine.shape[-1])


def premultiply(img):
    return img * np.concatenate([np.repeat(img[3:], 3, axis=0), np.ones_like(img[3:])])


def interpolate(img, levels=10):
    def filled(level, depth):
        return level if depth == 1 else blend(level, filled(downsample(level), depth - 1))

    result = filled(premultiply(img), levels)
    return result / result[3]


# ---- bilateral grid --------------------------------------------------------------------------------------------------


def grid(img):
    """Axes y, x, z, and value and weight."""
    rows, columns = [(n + 7) // 8 + 1 for n in img.shape]
    cells = np.zeros((rows, columns, 12, 2))
    margins = [(4, 8 * n - 4 - size) for n, size in zip((rows, columns), img.shape)]
    padded = np.pad(np.clip(img, 0, 1), margins, mode="edge")
    y, x = np.indices(padded.shape) // 8
    np.add.at(cells, (y, x, np.floor(10 * padded + 0.5).astype(int)), np.stack([padded, np.ones_like(padded)], axis=-1))
    return cells


def grid_blur(cells):
    around = np.pad(cells, [(2, 2)] * 3 + [(0, 0)])
    for axis in range(3):
        around = sum(w * np.roll(around, k - 2, axis) for k, w in enumerate([1, 4, 6, 4, 1]))
    return around[2:-2, 2:-2, 2:-2]


def grid_slice(cells, img):
    """Hat functions of the distance weigh all cells."""
    def hat(where, count):
        return np.maximum(0, 1 - np.abs(np.asarray(where)[..., None] - np.arange(count)))

    in_y, in_x = (hat(np.arange(n) / 8, count) for n, count in zip(img.shape, cells.shape))
    return np.einsum("ya,xb,yxc,abcv->yxv", in_y, in_x, hat(10 * np.clip(img, 0, 1), 12), cells, optimize=True)


def bilateral_grid(img):
    value, weight = np.moveaxis(grid_slice(grid_blur(grid(img)), img), -1, 0)
    return value / weight


# ---- camera ----------------------------------------------------------------------------------------------------------
#
# All of these compute with integers. A mosaic is a raw picture of even size; beyond its border, the next pixel but one
# is repeated, which has the same colour.


def planes(mosaic):
    return np.array([[mosaic[a::2, b::2] for b in range(2)] for a in range(2)])


def mosaic(planes):
    whole = np.zeros((2 * planes.shape[2], 2 * planes.shape[3]), planes.dtype)
    for a, b in np.ndindex(2, 2):
        whole[a::2, b::2] = planes[a, b]
    return whole


def suppress_hot(p):
    return np.minimum(p, np.max([moved(p, axis, by) for axis in (2, 3) for by in (-1, 1)], axis=0))


def neighbours(a, *where):
    """The pixels of a mosaic at some steps down and to the right."""
    around = np.pad(a, 1, mode="reflect")
    return [around[1 + down:1 + down + a.shape[0], 1 + right:1 + right + a.shape[1]] for down, right in where]


def demosaic(raw):
    """Whole pictures of red, green and blue; wherever a colour is not seen, every direction is computed."""
    even_row, even_column = (np.indices(raw.shape) + 1) % 2 == 1
    mean = lambda a, b: (a + b + 1) // 2
    horizontal, vertical, rising, falling = [((-y, -x), (y, x)) for y, x in ((0, 1), (1, 0), (1, -1), (1, 1))]

    def flatter(a, b, seen):
        gaps = [np.abs(np.subtract(*neighbours(raw, *pair))) for pair in (a, b)]
        return np.where(gaps[0] < gaps[1], seen(a), seen(b))

    between = flatter(horizontal, vertical, lambda pair: mean(*neighbours(raw, *pair)))
    green = np.where(even_row == even_column, raw, between)
    carried = lambda pair: mean(*neighbours(raw, *pair)) + green - mean(*neighbours(green, *pair))
    beside, above, across = carried(horizontal), carried(vertical), flatter(rising, falling, carried)
    red = np.select([even_row & ~even_column, even_row, ~even_column], [raw, beside, above], across)
    blue = np.select([~even_row & even_column, ~even_row, even_column], [raw, beside, above], across)
    return red, green, blue


def colour_matrix(m3200, m7000, temperature):
    """In 256ths, but not rounded."""
    return 256 * (m3200 + (m7000 - m3200) * np.interp(1 / temperature, [1 / 7000, 1 / 3200], [1, 0]))


def correct(rgb, m):
    return (np.tensordot(m[:, :3], np.array(rgb), 1) + m[:, 3, None, None]) >> 8


def tone_curve(gamma, contrast, black, white):
    """Not rounded. The upper half of the curve is the lower one, turned around the middle."""
    v = np.clip((np.arange(1024) - black) / (white - black), 0, 1)**(1 / gamma)
    b = 2 - 2**(contrast / 100)
    low = np.minimum(v, 1 - v)
    z = (2 - 2 * b) * low**2 + b * low
    return 255 * np.where(v > 0.5, 1 - z, z)


def sharpen(img, strength):
    blurred = img
    for axis in (1, 2):
        blurred = ((moved(blurred, axis, -1) + moved(blurred, axis, 1) + 1) // 2 + blurred + 1) // 2
    return np.clip(img + (img - blurred) * strength // 32, 0, 255)


def camera_pipe(raw, matrix, curve, strength):
    even = raw[:len(raw) // 2 * 2, :raw.shape[1] // 2 * 2]
    rgb = correct(demosaic(mosaic(suppress_hot(planes(even)))), matrix)
    return sharpen(curve[np.clip(rgb, 0, 1023)], strength)
