"""Matrix products, norms, losses and look-ups."""
import numpy as np

from .functions import layernorm, logsumexp, relu, rmsnorm, sigmoid, silu, softmax as softmax_rows
from .source import Input, Output


def linear_relu(dims, source):
    x = source.coarse((dims["M"], dims["K"]))
    w = source.coarse((dims["K"], dims["N"]))
    b = source.uniform((dims["N"],))
    return ({"x": Input("f16", x), "w": Input("f16", w), "b": Input("f32", b)},
            {"y": Output("f16", relu(x @ w + b))})


def matmul(dims, source):
    a = source.coarse((dims["M"], dims["K"]))
    b = source.coarse((dims["K"], dims["N"]))
    return {"a": Input("bf16", a), "b": Input("bf16", b)}, {"c": Output("bf16", a @ b)}


def elementwise_chain(dims, source):
    shape = (dims["M"], dims["N"])
    x, g = source.coarse(shape, limit=8), source.coarse(shape)
    scale, shift = source.coarse(shape[1:]), source.coarse(shape[1:])
    if g.size:
        g.flat[0], g.flat[-1] = 200, -200       # where exp overflows in f32
    given = {"x": x, "g": g, "scale": scale, "shift": shift}
    return ({name: Input("bf16", value) for name, value in given.items()},
            {"y": Output("bf16", x + silu(x * scale + shift) * sigmoid(g))})


def softmax(dims, source):
    x = source.coarse((dims["M"], dims["N"]), limit=8)
    if dims["N"] and dims["M"] > 2:
        x[0, 0] = -np.inf
        x[1] = 900 + 4 * source.integers(-2, 2, (dims["N"],))       # exp overflows unless the row's max is taken off
        x[2] = -np.inf                          # NaN, as every point takes part
    return {"x": Input("bf16", x), "t": Input("f32", np.array(0.75))}, {"y": Output("bf16", softmax_rows(x / 0.75))}


def layer_norm(dims, source):
    x = source.coarse((dims["M"], dims["N"]))
    w, b = source.coarse((dims["N"],)), source.coarse((dims["N"],))
    if dims["M"] > 1:
        x[0], x[0, 0] = 0.5, 0.5 + 1 / 64       # a variance no larger than eps
        x[1] = 96 + source.coarse((dims["N"],), limit=2, step=0.5)     # a mean far larger than the deviation
    return ({"x": Input("bf16", x), "w": Input("bf16", w), "b": Input("bf16", b)},
            {"y": Output("bf16", layernorm(x, w, b, 1e-5))})


def rms_norm(dims, source):
    shape = (dims["M"], dims["N"])
    x, r, w = source.coarse(shape), source.coarse(shape), source.coarse(shape[1:])
    if dims["M"] > 1:
        r[0] = -x[0]                            # a row of zeros
    return ({"x": Input("bf16", x), "r": Input("bf16", r), "w": Input("bf16", w)},
            {"h": Output("bf16", x + r), "y": Output("bf16", rmsnorm(x + r, w, 1e-6))})


def cross_entropy(dims, source):
    n, c = dims["N"], dims["C"]
    logit = source.uniform((n, c), -4, 4)
    target = source.integers(0, c - 1, (n,))
    if n > 3:
        target[1] = -100                        # ignored
        logit[2, (target[2] + 1) % c] = -np.inf
        logit[3] += 500
        logit = logit.astype(np.float32).astype(np.float64)
    used = target >= 0
    nll = np.where(used, logsumexp(logit) - logit[np.arange(n), np.maximum(target, 0)], 0)
    mean = nll.sum() / used.sum() if used.any() else np.nan
    return ({"logit": Input("f32", logit), "target": Input("i32", target)},
            {"nll": Output("f32", nll), "loss": Output("f32", np.array(mean))})


def train_step(dims, source):
    n, d, h, c = dims["N"], dims["D"], dims["H"], dims["C"]
    x, w1, b1, w2 = source.uniform((n, d)), source.uniform((d, h)), source.uniform((h,)), source.uniform((h, c))
    target = source.integers(0, c - 1, (n,))
    rate = 0.25
    a = x @ w1 + b1
    hidden = relu(a)
    p = hidden @ w2
    p = p - logsumexp(p)[:, None]
    one = np.arange(c) == target[:, None]
    dlogit = np.exp(p) - one
    da = np.where(a > 0, dlogit @ w2.T, 0)
    return ({"x": Input("f32", x), "target": Input("i32", target), "w1": Input("f32", w1), "b1": Input("f32", b1),
             "w2": Input("f32", w2), "rate": Input("f32", np.array(rate))},
            {"loss": Output("f32", np.array(-p[one].sum())), "w1n": Output("f32", w1 - rate * (x.T @ da)),
             "b1n": Output("f32", b1 - rate * da.sum(axis=0)), "w2n": Output("f32", w2 - rate * (hidden.T @ dlogit))})


def swiglu_mlp(dims, source):
    t, c, f = dims["T"], dims["C"], dims["F"]
    x, wg, wu, wd = source.coarse((t, c)), source.coarse((c, f)), source.coarse((c, f)), source.coarse((f, c))
    return ({"x": Input("bf16", x), "wg": Input("bf16", wg), "wu": Input("bf16", wu), "wd": Input("bf16", wd)},
            {"y": Output("bf16", (silu(x @ wg) * (x @ wu)) @ wd)})


def embedding(dims, source):
    b, t, v, c = dims["B"], dims["T"], dims["V"], dims["C"]
    wte, wpe = source.coarse((v, c)), source.coarse((t, c))
    ids = source.integers(0, v - 1, (b, t))
    if ids.size > 2:
        ids.flat[0], ids.flat[1], ids.flat[2] = -1, v, 2 ** 31 - 1      # outside the table: 0
    inside = (ids >= 0) & (ids < v)
    rows = np.where(inside[..., None], wte[np.where(inside, ids, 0)], 0)
    return ({"id": Input("i32", ids), "wte": Input("f16", wte), "wpe": Input("f16", wpe)},
            {"y": Output("f16", rows + wpe)})


def int8_matmul(dims, source):
    m, n, k = dims["M"], dims["N"], dims["K"]
    x, w = source.integers(-128, 127, (m, k)), source.integers(-128, 127, (k, n))
    x[:1], w[:, :1] = -128, -128                # the largest sum there is
    sx, sw = source.uniform((m,), 0.001, 0.01), source.uniform((n,), 0.001, 0.01)
    acc = x @ w
    return ({"x": Input("i8", x), "w": Input("i8", w), "sx": Input("f32", sx), "sw": Input("f32", sw)},
            {"acc": Output("i32", acc), "y": Output("f16", acc * sx[:, None] * sw)})


TABLE = {"linear_relu": linear_relu, "matmul": matmul, "elementwise_chain": elementwise_chain, "softmax": softmax,
         "layer_norm": layer_norm, "rms_norm": rms_norm, "cross_entropy": cross_entropy, "train_step": train_step, "swiglu_mlp": swiglu_mlp,
         "embedding": embedding, "int8_matmul": int8_matmul}
