"""Steps of training. The gradients come from the forward pass alone: df/dx = Im f(x + ih) / h, exact to rounding for
an analytic f. So everything here works on complex numbers."""
import numpy as np

from .source import Input, Output


def complex_step(f, parameters):
    """The gradient of the real function `f(parameters)` by every parameter."""
    h = 1e-30
    given = {name: value.astype(complex) for name, value in parameters.items()}
    gradients = {}
    for name, value in given.items():
        gradients[name] = np.zeros(value.shape)
        for at in np.ndindex(value.shape):
            value[at] += 1j * h
            gradients[name][at] = f(given).imag / h
            value[at] = parameters[name][at]
    return gradients


def normalized(x, w):
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-5) * w


def turned(x):
    """x[b, t, ..., d]: component d < D/2 and component d + D/2 turned by t * 10000^(-2d/D)."""
    half = x.shape[-1] // 2
    angle = np.arange(x.shape[1])[:, None] * 10000.0 ** (-np.arange(half) / half)
    angle = angle.reshape((x.shape[1],) + (1,) * (x.ndim - 3) + (half,))
    a, b = x[..., :half], x[..., half:]
    return np.concatenate([a * np.cos(angle) - b * np.sin(angle), b * np.cos(angle) + a * np.sin(angle)], axis=-1)


def block(x, p):
    length = x.shape[1]
    a = normalized(x, p["n1"])
    q = turned(np.einsum("btc,chgd->bthgd", a, p["wq"]))
    k = turned(np.einsum("btc,chd->bthd", a, p["wk"]))
    v = np.einsum("btc,chd->bthd", a, p["wv"])
    e = np.exp(np.einsum("bihgd,bjhd->bhgij", q, k) / np.sqrt(q.shape[-1])) * np.tril(np.ones((length, length)))
    o = np.einsum("bhgij,bjhd->bihgd", e / e.sum(axis=-1, keepdims=True), v)
    r = x + np.einsum("bthgd,hgdc->btc", o, p["wo"])
    m = normalized(r, p["n2"])
    gate = m @ p["wg"]
    return r + (gate / (1 + np.exp(-gate)) * (m @ p["wu"])) @ p["wd"]


def language_model(p, text):
    """The mean cross-entropy of each token given those before it."""
    x = p["we"][text[:, :-1]]
    for layer in range(p["n1"].shape[0]):
        x = block(x, {name: value[layer] for name, value in p.items() if name not in ("we", "nf", "wl")})
    logit = normalized(x, p["nf"]) @ p["wl"]
    chosen = np.take_along_axis(logit, text[:, 1:, None], axis=-1)[..., 0]
    return (np.log(np.exp(logit).sum(axis=-1)) - chosen).mean()


def transformer_train_step(dims, source):
    b, t, v, c, f, kv, g = (dims[n] for n in ("B", "T", "V", "C", "F", "KV", "G"))
    d, layers = 16, 2
    shapes = {"we": (v, c), "n1": (layers, c), "wq": (layers, c, kv, g, d), "wk": (layers, c, kv, d),
              "wv": (layers, c, kv, d), "wo": (layers, kv, g, d, c), "n2": (layers, c), "wg": (layers, c, f),
              "wu": (layers, c, f), "wd": (layers, f, c), "nf": (c,), "wl": (c, v)}
    text = source.integers(0, v - 1, (b, t + 1))
    p = {name: source.uniform(shape) for name, shape in shapes.items()}
    rate = 0.5
    gradients = complex_step(lambda at: language_model(at, text), p)
    inputs = {"text": Input("i32", text), "rate": Input("f32", np.array(rate)),
              **{name: Input("f32", value) for name, value in p.items()}}
    outputs = {name + "_new": Output("f32", value - rate * gradients[name]) for name, value in p.items()}
    return inputs, {"loss": Output("f32", np.array(language_model(p, text))), **outputs}


TABLE = {"transformer_train_step": transformer_train_step}
