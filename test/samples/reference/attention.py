"""Attention in its variants, and rotary positions."""
import math

import numpy as np

from .functions import masked_softmax, softmax
from .source import Input, Output


def heads(dims, source, format, sq, sk):
    """q, k and v of shape [B, S, H, 64] as inputs."""
    shape = lambda s: (dims["B"], s, dims["H"], 64)
    return {name: Input(format, source.coarse(shape(s), limit=1, step=1 / 8)) for name, s in
            (("q", sq), ("k", sk), ("v", sk))}


def scores(inputs):
    """q k^T / sqrt(D) as [B, H, Sq, Sk]."""
    return np.einsum("bihd,bjhd->bhij", inputs["q"].value, inputs["k"].value) / math.sqrt(64)


def mix(p, inputs):
    return np.einsum("bhij,bjhd->bihd", p, inputs["v"].value)


def attention(dims, source):
    inputs = heads(dims, source, "f16", dims["Sq"], dims["Sk"])
    inputs["q"].value[0, 0] *= 64               # large scores: one key takes all
    return inputs, {"o": Output("f16", mix(softmax(scores(inputs)), inputs))}


def sliding_window(dims, source):
    inputs = heads(dims, source, "f16", dims["S"], dims["S"])
    i, j = np.arange(dims["S"])[:, None], np.arange(dims["S"])[None, :]
    p = masked_softmax(scores(inputs), (j <= i) & (j > i - dims["W"]))
    return inputs, {"o": Output("f16", mix(p, inputs))}


def alibi(dims, source):
    inputs = heads(dims, source, "bf16", dims["S"], dims["S"])
    i, j = np.arange(dims["S"])[:, None], np.arange(dims["S"])[None, :]
    slope = 2.0 ** (-8 * (np.arange(dims["H"]) + 1) / dims["H"])
    p = masked_softmax(scores(inputs) - slope[:, None, None] * (i - j), j <= i)
    return inputs, {"o": Output("bf16", mix(p, inputs))}


def grouped_attention(q, k, v, keep, score=lambda s: s):
    """q[B, Sq, KV, G, D], k and v[B, Sk, KV, D]; key j counts for query i where keep[i, j]."""
    s = score(np.einsum("bihgd,bjhd->bhgij", q, k) / math.sqrt(q.shape[-1]))
    return np.einsum("bhgij,bjhd->bihgd", masked_softmax(s, keep), v)


def gqa_causal(dims, source):
    b, sq, sk, kv, g, d = dims["B"], dims["Sq"], dims["Sk"], 8, 4, 128
    q = source.coarse((b, sq, kv, g, d), limit=32, step=1 / 4)      # scores at which the cap is felt
    k, v = source.coarse((b, sk, kv, d)), source.coarse((b, sk, kv, d))
    keep = np.arange(sk)[None, :] - sk <= np.arange(sq)[:, None] - sq
    o = grouped_attention(q, k, v, keep, lambda s: 30 * np.tanh(s / 30))
    return {"q": Input("bf16", q), "k": Input("bf16", k), "v": Input("bf16", v)}, {"o": Output("bf16", o)}


def rotate(x, position):
    """x[B, T, ..., D] turned by position[B, T], half-split, as a product of complex numbers."""
    half = x.shape[-1] // 2
    angle = position[..., None] * 10000.0 ** (-np.arange(half) / half)
    turn = np.exp(1j * angle).reshape(angle.shape[:2] + (1,) * (x.ndim - 3) + (half,))
    z = (x[..., :half] + 1j * x[..., half:]) * turn
    return np.concatenate([z.real, z.imag], axis=-1)


def rope(dims, source):
    shape = (dims["B"], dims["T"], dims["H"], 128)
    x, pos = source.coarse(shape), source.integers(0, 999, shape[:2])
    return {"x": Input("bf16", x), "pos": Input("i32", pos)}, {"y": Output("bf16", rotate(x, pos))}


def paged_kv(dims, source):
    """Sequence by sequence, key by key; the last sequence is empty and one page number lies outside the pool."""
    b, pages, r, kv, g = (dims[n] for n in ("B", "P", "R", "KV", "G"))
    s, d = 16 * r, 64
    q = source.coarse((b, kv, g, d), limit=1, step=1 / 8)
    k = source.coarse((pages, 16, kv, d), limit=1, step=1 / 8)
    v = source.coarse((pages, 16, kv, d), limit=1, step=1 / 8)
    table = source.integers(0, pages - 1, (b, r))
    length = source.integers(1, s, (b,))
    length[0], length[-1] = s - 3, 0
    table[0, 0] = pages
    o = np.zeros((b, kv, g, d))
    for n in range(b):
        keys, values = np.zeros((length[n], kv, d)), np.zeros((length[n], kv, d))
        for j in range(length[n]):
            page = table[n, j // 16]
            if 0 <= page < pages:
                keys[j], values[j] = k[page, j % 16], v[page, j % 16]
        if length[n]:
            p = softmax(np.einsum("hgd,jhd->hgj", q[n], keys) / math.sqrt(d))
            o[n] = np.einsum("hgj,jhd->hgd", p, values)
    inputs = {"q": Input("bf16", q), "k": Input("bf16", k), "v": Input("bf16", v), "tbl": Input("i32", table),
              "len": Input("i32", length)}
    return inputs, {"o": Output("bf16", o)}


def kv_append(dims, source):
    b, s, kv, d = (dims[n] for n in ("B", "S", "KV", "D"))
    cache, k = source.coarse((b, s, kv, d)), source.coarse((b, kv, d))
    at = source.integers(0, s - 1, (b,))
    at[-1] = s                                  # outside: nothing is written
    grown = cache.copy()
    for n in range(b):
        if 0 <= at[n] < s:
            grown[n, at[n]] = k[n]
    inputs = {"cache": Input("bf16", cache), "k": Input("bf16", k), "at": Input("i32", at)}
    return inputs, {"grown": Output("bf16", grown)}


TABLE = {"attention": attention, "sliding_window": sliding_window, "alibi": alibi, "gqa_causal": gqa_causal,
         "rope": rope, "paged_kv": paged_kv, "kv_append": kv_append}
