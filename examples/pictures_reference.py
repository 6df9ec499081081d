"""The picture pipelines in NumPy, in double precision: whole pictures at a time, shifted and sliced.

Pictures are arrays of rows and columns, with further axes in front of them. At the border the nearest pixel is repeated.
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
