#!/usr/bin/python3
"""Paints landscape.png, the picture that the demo sharpens: a lake between mountains, slightly out of focus.

    landscape.py [FILE.png]

NumPy only; the same picture every time. It has edges of every contrast, fine texture and smooth gradients, so that one
sees what a filter does to each of them.
"""

import struct
import sys
import zlib

import numpy as np

WIDTH, HEIGHT = 768, 512
HORIZON = 322  # the far shore
Y, X = np.mgrid[0:HEIGHT, 0:WIDTH].astype(np.float64)


def mix(a, b, t):
    """From colour a to colour b; t has the picture's shape."""
    t = np.clip(t, 0, 1)[..., None]
    return np.asarray(a) * (1 - t) + np.asarray(b) * t


def hashed(*coordinates):
    """A number between 0 and 1 for each lattice point, without any pattern to the eye."""
    h = np.zeros(np.broadcast(*coordinates).shape, np.uint32)
    for c in coordinates:
        h = (h ^ np.asarray(c).astype(np.int64).astype(np.uint32)) * np.uint32(0x9E3779B1)
        h ^= h >> np.uint32(15)
        h *= np.uint32(0x85EBCA77)
        h ^= h >> np.uint32(13)
    return h / 2.0**32


def noise(x, y, seed):
    """Smooth noise between -1 and 1 with features of size 1."""
    ix, iy = np.floor(x), np.floor(y)
    u, v = x - ix, y - iy
    u, v = u * u * (3 - 2 * u), v * v * (3 - 2 * v)
    corner = lambda dx, dy: hashed(ix + dx, iy + dy, np.int64(seed))
    top = corner(0, 0) * (1 - u) + corner(1, 0) * u
    bottom = corner(0, 1) * (1 - u) + corner(1, 1) * u
    return 2 * (top * (1 - v) + bottom * v) - 1


def fractal(x, y, seed, octaves, ridged=False):
    total, weight, scale = 0.0, 0.5, 1.0
    for octave in range(octaves):
        n = noise(x * scale, y * scale, seed + 101 * octave)
        total = total + weight * (1 - 2 * np.abs(n) if ridged else n)
        weight, scale = weight * 0.5, scale * 2.03
    return total


def sky():
    t = Y / HORIZON
    colour = mix((0.16, 0.25, 0.47), (0.98, 0.76, 0.55), t**1.4)
    distance = np.hypot(X - 532, (Y - 196) * 1.02)
    colour = mix(colour, (1.0, 0.86, 0.62), 0.75 * np.exp(-distance / 95))
    clouds = fractal(X / 210, Y / 46, 7, 5) + 0.25 * fractal(X / 40, Y / 11, 19, 3)
    colour = mix(colour, (1.0, 0.83, 0.74), 0.62 * np.clip(clouds * 1.8 - 0.12, 0, 1) * np.clip(1.25 - t, 0, 1))
    return mix(colour, (1.0, 0.97, 0.86), np.clip(31 - distance, 0, 1))


def mountains(colour):
    """Five ranges, from far and pale to near and dark; rock lit from the right, snow on the high ones."""
    ranges = [(246, 78, 235, (0.62, 0.60, 0.68), 11), (262, 70, 170, (0.47, 0.48, 0.60), 23),
              (284, 52, 120, (0.34, 0.37, 0.49), 37), (303, 30, 80, (0.22, 0.28, 0.34), 53),
              (318, 14, 46, (0.13, 0.20, 0.20), 71)]
    for depth, (base, height, scale, shade, seed) in enumerate(ranges):
        crest = base - height * fractal(X[:1] / scale, 0 * X[:1] + seed, seed, 7, ridged=True)
        below = Y - crest
        relief = fractal(X / (scale * 0.32) + 0.2 * below / scale, Y / (scale * 0.21), seed + 5, 6, ridged=True)
        light = np.clip(0.45 + 0.8 * relief, 0, 1)
        rock = mix(np.asarray(shade) * 0.62, np.asarray(shade) * 1.22 + (0.08, 0.03, 0.0), light)
        if depth < 3:
            snow = np.clip((relief * 26 + 30 - below) / 7, 0, 1) * np.clip((262 - Y) / 60, 0, 1)
            rock = mix(rock, (0.97, 0.89, 0.87), snow * (0.55 + 0.45 * light))
        else:  # woods: thin trunks of light and shadow
            trunks = hashed(np.floor(X / 2), np.floor((Y + 5 * noise(X / 6, Y / 9, 3)) / 5), np.int64(seed))
            rock = rock * (0.8 + 0.4 * trunks[..., None])
        haze = mix(rock, (0.93, 0.74, 0.62), np.clip(below / 170, 0, 1) * (0.4 - 0.08 * depth))
        colour = np.where(np.clip(below, 0, 1)[..., None] > 0.5, haze, colour)
    return colour


def lake(colour):
    """The scene again, upside down, broken by waves that grow towards us."""
    depth = np.clip(Y - HORIZON, 0, None)
    wave = (0.6 + depth / 26) * noise(X / (9 + depth / 3), Y / (1.2 + depth / 42), 5)
    mirror_y = np.clip(HORIZON - 1 - depth * 1.45 + 2.2 * wave, 0, HORIZON - 1).astype(int)
    mirror_x = np.clip(X + 1.3 * wave, 0, WIDTH - 1).astype(int)
    water = colour[mirror_y, mirror_x] * (0.80, 0.85, 0.90) * (1 - 0.0012 * depth[..., None])
    glitter = np.clip(wave / (0.6 + depth / 26) - 0.45, 0, 1) * np.exp(-np.abs(X - 532) / (16 + depth * 0.35))
    water = mix(water, (1.0, 0.90, 0.68), 1.6 * glitter)
    return np.where((Y >= HORIZON)[..., None], water, colour)


def trees(colour):
    """Firs on the near shore: for each, rows of drooping branches."""
    shore = 470 + 13 * fractal(X[0] / 170, 0 * X[0], 91, 4)
    mask = np.clip(Y - shore[None, :], 0, 1)
    spots = np.random.default_rng(12).permutation(np.concatenate([np.linspace(8, 268, 24), np.linspace(610, 764, 15)]))
    for number, x in enumerate(spots):
        grow = np.random.default_rng(number)
        height = (70 + 105 * grow.random()) * (1 - 0.45 * np.clip(min(abs(x - 285), abs(x - 590)) < 60, 0, 1))
        foot = shore[int(x)] + 6
        up = (foot - Y) / height
        branch = (Y * (0.19 + 0.05 * grow.random()) + np.abs(X - x) * -0.12 + number) % 1
        reach = height * 0.21 * (1 - up) * (0.45 + 0.55 * branch) * (0.85 + 0.3 * hashed(Y, np.int64(number)))
        inside = (up > 0) & (up < 1) & (np.abs(X - x) < np.maximum(reach, 0.8))
        mask = np.maximum(mask, inside)
    needles = 0.75 + 0.5 * hashed(np.floor(X / 2), np.floor(Y / 2), np.int64(1))
    dark = np.asarray((0.055, 0.085, 0.075)) * needles[..., None]
    rim = np.asarray((0.30, 0.20, 0.10)) * np.clip((X - 420) / 500, 0, 1)[..., None]
    return np.where(mask[..., None] > 0.5, dark + 0.25 * rim, colour)


def out_of_focus(colour):
    """A small blur, as a lens makes it."""
    weights = np.array([0.06, 0.24, 0.40, 0.24, 0.06])
    for axis in (0, 1):
        pads = [(2, 2) if a == axis else (0, 0) for a in range(3)]
        padded = np.pad(colour, pads, mode="edge")
        size = colour.shape[axis]
        colour = sum(w * np.take(padded, np.arange(k, k + size), axis) for k, w in enumerate(weights))
    return colour


def png(pixels):
    """The bytes of an RGB file; each row is stored with the filter that leaves the smallest differences."""
    height, width, _ = pixels.shape
    above = np.zeros((width, 3), np.int16)
    rows = []
    for row in pixels.astype(np.int16):
        left, corner = np.roll(row, 1, 0), np.roll(above, 1, 0)
        left[0] = corner[0] = 0
        guess = left + above - corner
        a, b, c = np.abs(guess - left), np.abs(guess - above), np.abs(guess - corner)
        paeth = np.where((a <= b) & (a <= c), left, np.where(b <= c, above, corner))
        filtered = [((row - p) & 255).astype(np.uint8) for p in (0 * row, left, above, (left + above) // 2, paeth)]
        costs = [np.abs(f.astype(np.int8).astype(np.int64)).sum() for f in filtered]
        best = int(np.argmin(costs))
        rows.append(bytes([best]) + filtered[best].tobytes())
        above = row

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"".join(rows), 9))
            + chunk(b"IEND", b""))


def main():
    colour = out_of_focus(trees(lake(mountains(sky()))))
    levels = 85  # few enough levels to keep the file small, too many to see
    pixels = (np.round(np.clip(colour, 0, 1) * levels) * 255 / levels).round().astype(np.uint8)
    with open(sys.argv[1] if len(sys.argv) > 1 else "landscape.png", "wb") as file:
        file.write(png(pixels))


if __name__ == "__main__":
    main()
