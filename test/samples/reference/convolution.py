"""Convolutions and the stencil, with padding made by hand and loops over the filter."""
import numpy as np

from .functions import relu
from .source import Input, Output


def padded(x, p):
    """The last two axes with p zeros on every side."""
    return np.pad(x, [(0, 0)] * (x.ndim - 2) + [(p, p), (p, p)])


def correlate3x3(x, w):
    """Stride 1, padding 1: x[N, C, H, W] with w[K, C, 3, 3]."""
    h, width = x.shape[2:]
    big = padded(x, 1)
    return sum(np.einsum("nchw,kc->nkhw", big[:, :, r:r + h, s:s + width], w[:, :, r, s])
               for r in range(3) for s in range(3))


def conv2d(dims, source):
    n, c, k, oh, ow = (dims[d] for d in ("N", "C", "K", "OH", "OW"))
    h, w = 2 * oh, 2 * ow
    x, f, b = source.uniform((n, c, h, w)), source.uniform((k, c, 3, 3)), source.uniform((k,))
    big = padded(x, 2)
    y = np.zeros((n, k, oh, ow))
    for i in range(oh):
        for j in range(ow):
            patch = big[:, :, 2 * i:2 * i + 5:2, 2 * j:2 * j + 5:2]
            y[:, :, i, j] = np.tensordot(patch, f, axes=([1, 2, 3], [1, 2, 3])) + b
    return {"x": Input("f32", x), "w": Input("f32", f), "b": Input("f32", b)}, {"y": Output("f32", y)}


def depthwise_conv(dims, source):
    n, c, h, w = (dims[d] for d in ("N", "C", "H", "W"))
    x, f = source.coarse((n, c, h, w)), source.coarse((c, 3, 3))
    scale, shift = source.uniform((c,), 0.5, 1.5), source.uniform((c,))
    big = padded(x, 1)
    z = sum(big[:, :, r:r + h, s:s + w] * f[None, :, r, s, None, None] for r in range(3) for s in range(3))
    y = np.clip(z * scale[:, None, None] + shift[:, None, None], 0, 6)
    return ({"x": Input("f16", x), "w": Input("f16", f), "scale": Input("f32", scale), "shift": Input("f32", shift)},
            {"y": Output("f16", y)})


def transposed_conv(dims, source):
    """Scatters each input pixel through the filter, as the definition says."""
    n, c, k, h, w = (dims[d] for d in ("N", "C", "K", "H", "W"))
    x, f, b = source.uniform((n, c, h, w)), source.uniform((c, k, 4, 4)), source.uniform((k,))
    big = np.zeros((n, k, 2 * h + 2, 2 * w + 2))
    for i in range(h):
        for j in range(w):
            big[:, :, 2 * i:2 * i + 4, 2 * j:2 * j + 4] += np.tensordot(x[:, :, i, j], f, axes=([1], [0]))
    y = big[:, :, 1:-1, 1:-1] + b[:, None, None]
    return ({"x": Input("f32", x), "w": Input("f32", f), "b": Input("f32", b)},
            {"y": Output("f32", y.reshape(n, k, h, 2, w, 2))})


def resnet_block(dims, source):
    n, c, h, w = (dims[d] for d in ("N", "C", "H", "W"))
    x = source.coarse((n, c, h, w))
    w1, w2 = source.coarse((c, c, 3, 3), limit=1, step=1 / 8), source.coarse((c, c, 3, 3), limit=1, step=1 / 8)
    g1, b1, g2, b2 = (source.uniform((c,)) for _ in range(4))
    column = lambda v: v[:, None, None]
    a = relu(correlate3x3(x, w1) * column(g1) + column(b1))
    y = relu(correlate3x3(a, w2) * column(g2) + column(b2) + x)
    inputs = {"x": Input("f16", x), "w1": Input("f16", w1), "g1": Input("f32", g1), "b1": Input("f32", b1),
              "w2": Input("f16", w2), "g2": Input("f32", g2), "b2": Input("f32", b2)}
    return inputs, {"y": Output("f16", y)}


def stencil3x3(dims, source):
    h, w = dims["H"], dims["W"]
    u, dt = source.uniform((h, w)), source.uniform((), 0.1, 0.2)
    big = padded(u, 1)
    side = big[:-2, 1:-1] + big[2:, 1:-1] + big[1:-1, :-2] + big[1:-1, 2:]
    corner = big[:-2, :-2] + big[:-2, 2:] + big[2:, :-2] + big[2:, 2:]
    v = u + dt * (4 * side + corner - 20 * u) / 6
    return {"u": Input("f32", u), "dt": Input("f32", dt)}, {"v": Output("f32", v)}


TABLE = {"conv2d": conv2d, "depthwise_conv": depthwise_conv, "transposed_conv": transposed_conv,
         "resnet_block": resnet_block, "stencil3x3": stencil3x3}
