"""Steps of iterative methods outside neural networks."""
import numpy as np

from .source import Input, Output


def kmeans_step(dims, source):
    """Coordinates are multiples of 1/16, so distances are exact and a tie between centres is one in every order."""
    p, k, d = dims["P"], dims["K"], dims["D"]
    x, c = source.coarse((p, d)), source.coarse((k, d))
    if k > 2:
        c[2] = c[0]                             # a tie: centre 2 gets no point
        c[k - 1] = 64                           # too far for any point
    dist = ((x[:, None, :] - c[None, :, :]) ** 2).sum(axis=-1)
    label = np.argmin(dist, axis=1)
    count = np.bincount(label, minlength=k)
    moved = c.copy()
    for centre in np.flatnonzero(count):
        moved[centre] = x[label == centre].mean(axis=0)
    return ({"x": Input("f32", x), "c": Input("f32", c)},
            {"label": Output("i32", label), "next": Output("f32", moved), "count": Output("i32", count),
             "inertia": Output("f32", np.array(dist.min(axis=1).sum()))})


def nbody_step(dims, source):
    n = dims["N"]
    pos, vel = source.uniform((n, 3)), source.uniform((n, 3), -0.1, 0.1)
    mass, dt = source.uniform((n,), 0.5, 1.5), source.uniform((), 0.005, 0.01)
    acc = np.zeros((n, 3))
    for i in range(n):
        for j in range(n):
            if i != j:
                away = pos[j] - pos[i]
                acc[i] += mass[j] * away / (away @ away + 1e-4) ** 1.5
    vel1 = vel + dt * acc
    return ({"pos": Input("f32", pos), "vel": Input("f32", vel), "mass": Input("f32", mass), "dt": Input("f32", dt)},
            {"pos1": Output("f32", pos + dt * vel1), "vel1": Output("f32", vel1)})


TABLE = {"kmeans_step": kmeans_step, "nbody_step": nbody_step}
