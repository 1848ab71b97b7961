"""Activations and row functions in numpy, and the references of the programs that test `<nn>` alone."""
import math

import numpy as np

from .source import Input, Output

erf = np.vectorize(math.erf, otypes=[np.float64])


def sigmoid(x):
    return 0.5 * (1 + np.tanh(0.5 * x))


def silu(x):
    return x * sigmoid(x)


def softplus(x):
    return np.logaddexp(0, x)


def relu(x):
    return np.where(x <= 0, 0, x)


def softmax(x):
    """Over the last axis; NaN for a row of -inf."""
    e = np.exp(x - np.max(x, axis=-1, keepdims=True, initial=-np.inf))
    return e / e.sum(axis=-1, keepdims=True)


def masked_softmax(x, keep):
    """Over the last axis where `keep` holds; elsewhere, and in a row that keeps nothing, 0."""
    keep = np.broadcast_to(keep, x.shape)
    out = np.zeros(x.shape)
    for at in np.ndindex(x.shape[:-1]):
        row = keep[at]
        if row.any():
            out[at][row] = softmax(x[at][row])
    return out


def logsumexp(x):
    return np.logaddexp.reduce(x, axis=-1, initial=-np.inf) if x.shape[-1] else np.full(x.shape[:-1], -np.inf)


def rmsnorm(x, w, eps):
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + eps) * w


def layernorm(x, w, b, eps):
    return (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(x.var(axis=-1, keepdims=True) + eps) * w + b


def nn_activations(dims, source):
    """Every activation at ordinary values and at the kinks; more than 64 points have numbers at which exp overflows,
    and NaN, among them. (The tolerance is relative to the largest value, so the two do not share a case.)"""
    x = source.uniform((dims["N"],), -5, 5)
    edges = [0.0, -0.0, 1, -1, 3, -3, 0.5, -0.5, 6] + [100, -100, 1000, -1000, np.nan] * (dims["N"] > 64)
    x[: len(edges)] = edges
    u = source.uniform((dims["N"],), -2, 2)
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)
    gelu = x * 0.5 * (1 + erf(x / math.sqrt(2)))
    elu = np.where(x > 0, x, np.expm1(x))
    selu_scale, selu_alpha = 1.0507009873554804934, 1.6732632423543772848
    rows = {
        "relu": relu(x), "relu6": np.clip(x, 0, 6), "leaky_relu": np.where(x > 0, x, 0.1 * x), "sigmoid": sigmoid(x),
        "softplus": softplus(x), "log_sigmoid": -softplus(-x), "gelu": gelu,
        "gelu_tanh": 0.5 * x * (1 + np.tanh(inner)),
        "quick_gelu": x * sigmoid(1.702 * x), "silu": silu(x), "swish": silu(x), "mish": x * np.tanh(softplus(x)),
        "elu": elu, "selu": selu_scale * np.where(x > 0, x, selu_alpha * np.expm1(x)),
        "celu": np.where(x > 0, x, 2 * np.expm1(x / 2)), "hardsigmoid": np.clip((x + 3) / 6, 0, 1),
        "hardswish": x * np.clip(x + 3, 0, 6) / 6, "hardtanh": np.clip(x, -1, 1), "softsign": x / (1 + np.abs(x)),
        "tanhshrink": x - np.tanh(x), "softshrink": np.sign(x) * np.maximum(np.abs(x) - 0.5, 0),
        "hardshrink": np.where(np.abs(x) <= 0.5, 0, x), "glu": sigmoid(x) * u, "reglu": relu(x) * u, "geglu": gelu * u,
        "swiglu": silu(x) * u, "square": x ** 2, "cube": x ** 3, "clamp": np.clip(x, -2, 2), "lerp": x + 0.25 * (u - x),
    }
    return {"x": Input("f32", x), "u": Input("f32", u)}, {f"y_{n}": Output("f32", v) for n, v in rows.items()}


def nn_rows(dims, source):
    """Every row function over a filter, with a row that has no point, a row of -inf, a single point and large values.

    Column j of row i takes part where j < len[i]; what lies beyond is NaN and must not leak."""
    m, n = dims["M"], dims["N"]
    x = source.uniform((m, n), -3, 3)
    length = source.integers(1, n, (m,))
    length[0], length[1], length[2], length[3] = 0, n, 1, n
    x[1] = -np.inf
    x[3] = source.uniform((n,), 990, 1000)
    x[4, 0], length[4] = -np.inf, n
    x[np.arange(n)[None, :] >= length[:, None]] = np.nan
    w, b = source.uniform((n,), 0.5, 1.5), source.uniform((n,))
    scalars = {name: np.full(m, np.nan) for name in
               ("mean", "var", "std", "var_unbiased", "std_unbiased", "norm1", "norm2", "absmax", "absmin", "logsumexp",
                "lse", "welford_mean", "welford_var")}
    keeping = {name: np.zeros((m, n)) for name in
               ("softmax", "softmin", "log_softmax", "layernorm", "rmsnorm", "normalize")}
    keeping["log_softmax"][:] = -np.inf
    for i in range(m):
        k = int(length[i])
        r = x[i, :k]
        biased = r.var() if k else np.nan
        unbiased = r.var(ddof=1) if k > 1 else np.nan
        # Of nothing, Welford's mean is its identity 0; with infinities it is NaN, as their difference is.
        for name, value in (
                ("mean", r.mean() if k else np.nan), ("var", biased), ("std", np.sqrt(biased)),
                ("var_unbiased", unbiased), ("std_unbiased", np.sqrt(unbiased)), ("norm1", np.abs(r).sum()),
                ("norm2", np.sqrt((r * r).sum())), ("absmax", np.abs(r).max(initial=-np.inf)),
                ("absmin", np.abs(r).min(initial=np.inf)), ("logsumexp", logsumexp(r)), ("lse", logsumexp(r)),
                ("welford_mean", (r.mean() if np.isfinite(r).all() else np.nan) if k else 0), ("welford_var", biased)):
            scalars[name][i] = value
        if k:
            keeping["softmax"][i, :k] = softmax(r)
            keeping["softmin"][i, :k] = softmax(-r)
            keeping["log_softmax"][i, :k] = r - r.max() - np.log(np.exp(r - r.max()).sum())
            keeping["layernorm"][i, :k] = layernorm(r, w[:k], b[:k], 1e-5)
            keeping["rmsnorm"][i, :k] = rmsnorm(r, w[:k], 1e-5)
            keeping["normalize"][i, :k] = r / max(np.sqrt((r * r).sum()), 1e-12)
    inputs = {"x": Input("f32", x), "len": Input("i32", length), "w": Input("f32", w), "b": Input("f32", b)}
    return inputs, {f"y_{name}": Output("f32", value) for name, value in {**scalars, **keeping}.items()}


TABLE = {"nn_activations": nn_activations, "nn_rows": nn_rows}
