"""Recurrences and scans, one step at a time."""
import numpy as np

from .functions import sigmoid, silu, softplus
from .source import Input, Output


def lstm_params(dims, source):
    i, h = dims["I"], dims["H"]
    return {"wx": source.uniform((4, h, i)), "wh": source.uniform((4, h, h)), "bias": source.uniform((4, h))}


def lstm_step(x, h, c, p):
    i, f, g, o = (x @ p["wx"][n].T + h @ p["wh"][n].T + p["bias"][n] for n in range(4))
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def as_f32(values):
    return {name: Input("f32", value) for name, value in values.items()}


def lstm_cell(dims, source):
    b, i, h = dims["B"], dims["I"], dims["H"]
    given = {"x": source.uniform((b, i)), "h": source.uniform((b, h)), "c": source.uniform((b, h))}
    params = lstm_params(dims, source)
    h1, c1 = lstm_step(given["x"], given["h"], given["c"], params)
    return as_f32({**given, **params}), {"h1": Output("f32", h1), "c1": Output("f32", c1)}


def lstm_sequence(dims, source):
    t, b, i, n = dims["T"], dims["B"], dims["I"], dims["H"]
    given = {"x": source.uniform((t, b, i)), "h0": source.uniform((b, n)), "c0": source.uniform((b, n))}
    params = lstm_params(dims, source)
    h, c, hs = given["h0"], given["c0"], np.zeros((t, b, n))
    for step in range(t):
        h, c = lstm_step(given["x"][step], h, c, params)
        hs[step] = h
    return as_f32({**given, **params}), {"hs": Output("f32", hs), "hn": Output("f32", h), "cn": Output("f32", c)}


def gru_sequence(dims, source):
    t, b, i, n = dims["T"], dims["B"], dims["I"], dims["H"]
    x, h0 = source.uniform((t, b, i)), source.uniform((b, n))
    wx, wh = source.uniform((3, n, i)), source.uniform((3, n, n))
    bx, bh = source.uniform((3, n)), source.uniform((3, n))
    h, hs = h0, np.zeros((t, b, n))
    for step in range(t):
        xr, xu, xn = (x[step] @ wx[gate].T + bx[gate] for gate in range(3))
        hr, hu, hn = (h @ wh[gate].T + bh[gate] for gate in range(3))
        update = sigmoid(xu + hu)
        h = (1 - update) * np.tanh(xn + sigmoid(xr + hr) * hn) + update * h
        hs[step] = h
    return as_f32({"x": x, "h0": h0, "wx": wx, "wh": wh, "bx": bx, "bh": bh}), {"hs": Output("f32", hs)}


def prefix_sum(dims, source):
    b, t = dims["B"], dims["T"]
    x, length = source.uniform((b, t), 0, 1), source.integers(0, 1000000, (b,))
    start = np.cumsum(length) - length
    return ({"x": Input("f32", x), "len": Input("i32", length)},
            {"c": Output("f32", np.cumsum(x, axis=1)), "r": Output("f32", np.cumsum(x[:, ::-1], axis=1)[:, ::-1]),
             "start": Output("i64", start)})


def selective_scan(dims, source):
    b, t, d, n = dims["B"], dims["T"], dims["D"], dims["N"]
    x, dt, z = source.uniform((b, t, d)), source.uniform((b, t, d), -3, 1), source.uniform((b, t, d), -2, 2)
    bm, cm = source.uniform((b, t, n)), source.uniform((b, t, n))
    alog, skip, dbias = source.uniform((d, n), 0, 1.5), source.uniform((d,)), source.uniform((d,))
    delta = softplus(dt + dbias)
    state, y = np.zeros((b, d, n)), np.zeros((b, t, d))
    for step in range(t):
        decay = np.exp(-delta[:, step, :, None] * np.exp(alog))
        state = decay * state + (delta[:, step] * x[:, step])[:, :, None] * bm[:, step, None, :]
        y[:, step] = ((state * cm[:, step, None, :]).sum(axis=-1) + skip * x[:, step]) * silu(z[:, step])
    values = {"x": x, "dt": dt, "bm": bm, "cm": cm, "z": z, "alog": alog, "skip": skip, "dbias": dbias}
    return as_f32(values), {"y": Output("f32", y)}


def linear_recurrence(dims, source):
    b, t, n = dims["B"], dims["T"], 4
    matrix, u = source.uniform((b, t, n, n), -0.5, 0.5), source.uniform((b, t, n))
    state, h = np.zeros((b, n)), np.zeros((b, t, n))
    product, products = np.broadcast_to(np.eye(n), (b, n, n)), np.zeros((b, t, n, n))
    for step in range(t):
        state = np.einsum("bij,bj->bi", matrix[:, step], state) + u[:, step]
        product = matrix[:, step] @ product
        h[:, step], products[:, step] = state, product
    return as_f32({"P": matrix, "u": u}), {"h": Output("f32", h), "A": Output("f32", products)}


def ssd(dims, source):
    b, t, h, p, n = dims["B"], dims["T"], dims["H"], 64, 64
    x, dt = source.uniform((b, t, h, p)), source.uniform((b, t, h), -3, 1)
    bm, cm = source.uniform((b, t, n)), source.uniform((b, t, n))
    alog, skip, dbias = source.uniform((h,), 0, 1.5), source.uniform((h,)), source.uniform((h,))
    delta = softplus(dt + dbias)
    state, y = np.zeros((b, h, p, n)), np.zeros((b, t, h, p))
    for step in range(t):
        decay = np.exp(-delta[:, step] * np.exp(alog))
        added = (delta[:, step, :, None] * x[:, step])[..., None] * bm[:, step, None, None, :]
        state = decay[:, :, None, None] * state + added
        y[:, step] = np.einsum("bhpn,bn->bhp", state, cm[:, step]) + skip[:, None] * x[:, step]
    values = {"x": x, "dt": dt, "bm": bm, "cm": cm, "alog": alog, "skip": skip, "dbias": dbias}
    return as_f32(values), {"y": Output("f32", y)}


def gated_delta(dims, source):
    b, t, h, n = dims["B"], dims["T"], dims["H"], 64
    q, k, v = (source.uniform((b, t, h, n)) for _ in range(3))
    g, w, state = source.uniform((b, t, h), -3, 1), source.uniform((b, t, h), -2, 2), source.uniform((b, h, n, n))
    values = {"q": q, "k": k, "v": v, "g": g, "w": w, "s0": state}
    key = k / np.sqrt((k * k).sum(axis=-1, keepdims=True) + 1e-6)
    kept, corrected, o = np.exp(-softplus(g)), sigmoid(w), np.zeros((b, t, h, n))
    for step in range(t):
        state = kept[:, step, :, None, None] * state
        error = v[:, step] - np.einsum("bhvk,bhk->bhv", state, key[:, step])
        state = state + corrected[:, step, :, None, None] * error[..., None] * key[:, step, :, None, :]
        o[:, step] = np.einsum("bhvk,bhk->bhv", state, q[:, step])
    return as_f32(values), {"o": Output("f32", o), "last": Output("f32", state)}


def gated_delta_scan(dims, source):
    b, t, h, nk, nv = dims["B"], dims["T"], dims["H"], 4, 3
    q, k, v = source.uniform((b, t, h, nk)), source.uniform((b, t, h, nk)), source.uniform((b, t, h, nv))
    a, c = source.uniform((b, t, h), 0.5, 1), source.uniform((b, t, h), 0, 1)
    state, o = np.zeros((b, h, nv, nk)), np.zeros((b, t, h, nv))
    for step in range(t):
        outer = np.einsum("bhi,bhj->bhij", k[:, step], k[:, step])
        kept = a[:, step, :, None, None] * (np.eye(nk) - c[:, step, :, None, None] * outer)
        state = state @ kept + (c[:, step, :, None] * v[:, step])[..., None] * k[:, step, :, None, :]
        o[:, step] = np.einsum("bhvk,bhk->bhv", state, q[:, step])
    return as_f32({"q": q, "k": k, "v": v, "a": a, "c": c}), {"o": Output("f32", o)}


TABLE = {"lstm_cell": lstm_cell, "lstm_sequence": lstm_sequence, "gru_sequence": gru_sequence,
         "prefix_sum": prefix_sum, "selective_scan": selective_scan, "linear_recurrence": linear_recurrence,
         "ssd": ssd, "gated_delta": gated_delta, "gated_delta_scan": gated_delta_scan}
