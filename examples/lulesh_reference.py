"""LULESH in NumPy, for reference.py: the step of the Lagrange leap-frog as the reference code does it, with eight
numbered nodes for each element, on arrays of all elements at once. Vectors are the last axis, corners and directions
(zeta, eta, xi) the first one.
"""

from collections import namedtuple

import numpy as np

State = namedtuple("State", "pos vel nodal_mass e p q v ss volo mass cycle time dt courant hydro")

# Where the nodes of an element lie, along z, y and x; the nodes around each face, in the order that lets its normal
# point outwards; and for each node the six others that the derivative of the volume depends on.
NODES = [(0, 0, 0), (0, 0, 1), (0, 1, 1), (0, 1, 0), (1, 0, 0), (1, 0, 1), (1, 1, 1), (1, 1, 0)]
FACES = [(0, 1, 2, 3), (0, 4, 5, 1), (1, 5, 6, 2), (2, 6, 7, 3), (3, 7, 4, 0), (4, 7, 6, 5)]
AROUND = [(1, 2, 3, 4, 5, 7), (2, 3, 0, 5, 6, 4), (3, 0, 1, 6, 7, 5), (0, 1, 2, 7, 4, 6), (7, 6, 5, 0, 3, 1),
          (4, 7, 6, 1, 0, 2), (5, 4, 7, 2, 1, 3), (6, 5, 4, 3, 2, 0)]
SIGNS = 2.0 * np.array(NODES) - 1
HOURGLASSES = np.stack([SIGNS[:, 0] * SIGNS[:, 1], SIGNS[:, 0] * SIGNS[:, 2], SIGNS[:, 1] * SIGNS[:, 2],
                        SIGNS.prod(axis=1)])
TINY = 1e-36


def dot(a, b):
    return np.sum(a * b, axis=-1)


def at_corners(nodal):
    n = len(nodal) - 1
    return np.stack([nodal[a:a + n, b:b + n, c:c + n] for a, b, c in NODES])


def to_nodes(corners):
    """What all corners at a node have, together."""
    n = corners.shape[1]
    nodal = np.zeros((n + 1, n + 1, n + 1) + corners.shape[4:])
    for (a, b, c), values in zip(NODES, corners):
        nodal[a:a + n, b:b + n, c:c + n] += values
    return nodal


def volume(h):
    return (dot(h[3] - h[1] + h[7] - h[2], np.cross(h[6] - h[3], h[2] - h[0])) +
            dot(h[4] - h[3] + h[5] - h[7], np.cross(h[6] - h[4], h[7] - h[0])) +
            dot(h[1] - h[4] + h[2] - h[5], np.cross(h[6] - h[1], h[5] - h[0]))) / 12


def across(h):
    """Mean differences of what the corners have, along zeta, eta and xi."""
    return np.einsum("cd,ckjiv->dkjiv", SIGNS / 4, h)


def cofactors(edges):
    zeta, eta, xi = edges
    return np.stack([np.cross(xi, eta), np.cross(zeta, xi), np.cross(eta, zeta)])


def next_dt(s, stop):
    dt, left = s.dt, stop - s.time
    if s.cycle != 0:
        new = s.courant / 2 if s.courant < 1e20 else 1e20
        if s.hydro < new:
            new = s.hydro * 2 / 3
        if new >= dt:
            new = dt if new / dt < 1.1 else min(new, 1.2 * dt)
        dt = min(new, 1e-2)
    if dt < left < 4 * dt / 3:
        left = 2 * dt / 3
    return min(dt, left)


def forces(s):
    """Of stress and against hourglasses, at the nodes."""
    h = at_corners(s.pos)
    normal = np.zeros_like(h)
    for face in map(list, FACES):
        p0, p1, p2, p3 = h[face]
        normal[face] += np.cross(p3 - p1, p2 - p0) / 8
    slope = np.stack([(np.cross(h[b] + h[c], h[a] + h[b]) + np.cross(h[a] + h[e], h[d] + h[e]) +
                       np.cross(h[d] + h[f], h[c] + h[f])) / 12 for a, b, c, d, e, f in AROUND])
    now = s.volo * s.v
    modes = np.einsum("mc,ckjiv->mkjiv", HOURGLASSES, h)
    shape = HOURGLASSES[..., None, None, None] - np.einsum("ckjiv,mkjiv->mckji", slope, modes) / now
    swing = np.einsum("mckji,ckjiv->mkjiv", shape, at_corners(s.vel))
    damping = -3.0 * 0.01 * s.ss * s.mass / np.cbrt(now)
    hourglass = damping[..., None] * np.einsum("mckji,mkjiv->ckjiv", shape, swing)
    return to_nodes((s.p + s.q)[..., None] * normal + hourglass)


def length_of(h, volumes):
    """The volume over the area of the largest face, at least for a box."""
    largest = np.zeros_like(volumes)
    for face in FACES:
        a, b = h[face[2]] - h[face[0]], h[face[3]] - h[face[1]]
        f, g = a - b, a + b
        largest = np.maximum(largest, dot(f, f) * dot(g, g) - dot(f, g)**2)
    return 4 * volumes / np.sqrt(largest)


def limited(gradient):
    """The limiter of the viscosity for the gradients along each axis."""
    phi = np.empty_like(gradient)
    for axis, g in enumerate(gradient):
        g = np.moveaxis(g, axis, 0)
        below = np.concatenate([g[:1], g[:-1]]) / (g + TINY)
        above = np.concatenate([g[1:], 0 * g[:1]]) / (g + TINY)
        slope = np.minimum((below + above) / 2, np.minimum(2 * below, 2 * above))
        phi[axis] = np.moveaxis(np.clip(slope, 0, 1), 0, axis)
    return phi


def gas(s, vnew, delv, ql, qq):
    """Energy, pressure, viscosity and speed of sound."""
    vc = np.clip(vnew, 1e-9, 1e9)
    largest = vc >= 1e9
    comp = np.where(largest, 0, 1 / vc - 1)
    half = np.where(largest | (vc <= 1e-9), comp, 1 / (vc - delv / 2) - 1)
    old = np.where(largest, 0, s.p) + s.q

    def pressure(e, c):
        p = 2 / 3 * (c + 1) * e
        return np.maximum(np.where((np.abs(p) < 1e-7) | largest, 0, p), 0)

    def sound(e, p, c, v):
        square = 2 / 3 * e + v * v * (2 / 3 * (c + 1)) * p
        return np.where(square <= .1111111e-36, .3333333e-18, np.sqrt(np.maximum(square, 0)))

    def bounded(e):
        return np.maximum(np.where(np.abs(e) < 1e-7, 0, e), -1e15)

    e = np.maximum(s.e - delv / 2 * old, -1e15)
    p_half = pressure(e, half)
    q_half = np.where(delv > 0, 0, sound(e, p_half, half, 1 / (1 + half)) * ql + qq)
    e = bounded(e + delv / 2 * (3 * old - 4 * (p_half + q_half)))
    p = pressure(e, comp)
    q = np.where(delv > 0, 0, sound(e, p, comp, vc) * ql + qq)
    e = bounded(e - (7 * old - 8 * (p_half + q_half) + (p + q)) * delv / 6)
    p = pressure(e, comp)
    ss = sound(e, p, comp, vc)
    q = ss * ql + qq
    q = np.where((delv > 0) | (np.abs(q) < 1e-7), 0, q)
    return e, p, q, ss


def step(s, stop=1e-2):
    """The state after a time step, and whether volumes and viscosity are as they should be."""
    dt = next_dt(s, stop)
    acceleration = forces(s) / s.nodal_mass[..., None]
    acceleration[:, :, 0, 0] = acceleration[:, 0, :, 1] = acceleration[0, :, :, 2] = 0
    vel = s.vel + dt * acceleration
    vel[np.abs(vel) < 1e-7] = 0
    pos = s.pos + dt * vel

    h, w = at_corners(pos), at_corners(vel)
    vol = volume(h)
    vnew = vol / s.volo
    delv = vnew - s.v
    motion = across(w)
    half = across(h - dt / 2 * w)
    vdov = np.sum(dot(cofactors(half), motion), axis=0) / dot(half[1], cofactors(half)[1])

    side = cofactors(across(h))
    gradient = dot(side, motion) / vol
    jump = np.minimum(gradient * vol / np.sqrt(dot(side, side) + TINY), 0)
    phi = limited(gradient)
    rho = s.mass / vol
    ql = np.where(vdov > 0, 0, -0.5 * rho * np.sum(jump * (1 - phi), axis=0))
    qq = np.where(vdov > 0, 0, 2 / 3 * rho * np.sum(jump**2 * (1 - phi**2), axis=0))
    e, p, q, ss = gas(s, vnew, delv, ql, qq)

    moving = vdov != 0
    length = length_of(h, vol)
    crossing = length / np.sqrt(ss**2 + np.where(vdov < 0, (16 * length * vdov)**2, 0))
    after = s._replace(pos=pos, vel=vel, e=e, p=p, q=q, ss=ss, v=np.where(np.abs(vnew - 1) < 1e-10, 1, vnew),
                       cycle=s.cycle + 1, time=s.time + dt, dt=dt, courant=np.min(crossing[moving], initial=np.inf),
                       hydro=np.min(0.1 / (np.abs(vdov[moving]) + 1e-20), initial=np.inf))
    return after, bool(np.all(vnew > 0) and np.all(s.q <= 1e12))


def sedov(edge):
    line = 1.125 * np.arange(edge + 1) / edge
    pos = np.stack(np.broadcast_arrays(line, line[:, None], line[:, None, None]), axis=-1)
    volo = volume(at_corners(pos))
    zero = np.zeros_like(volo)
    e = zero.copy()
    e[0, 0, 0] = 3.948746e7 * (edge / 45)**3
    dt = 0.5 * np.cbrt(volo[0, 0, 0]) / np.sqrt(2 * e[0, 0, 0])
    return State(pos=pos, vel=np.zeros_like(pos), nodal_mass=to_nodes(np.stack([volo / 8] * 8)), e=e, p=zero, q=zero,
                 v=zero + 1, ss=zero, volo=volo, mass=volo, cycle=0, time=0.0, dt=dt, courant=np.inf, hydro=np.inf)


def blast(edge, stop=1e-2, limit=9999999):
    s, sane = sedov(edge), True
    while sane and s.time < stop and s.cycle < limit:
        s, sane = step(s, stop)
    return s


if __name__ == "__main__":
    for size in (1, 2, 3, 4, 8):
        final = blast(size)
        print(f"{size}: {final.cycle} steps, energy {final.e[0, 0, 0]:.6e}")
