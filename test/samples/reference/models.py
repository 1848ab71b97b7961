"""Blocks and models made of many parts."""
import numpy as np

from .attention import grouped_attention, rotate
from .functions import rmsnorm, silu, softmax
from .source import Input, Output


def weights(source, shape, fan_in):
    """bf16 weights of about the size that keeps a layer's output as large as its input."""
    return source.coarse(shape, limit=1, step=1 / 16) * 2.0 ** -round(0.5 * np.log2(max(fan_in, 1)))


def block_params(dims, source, layers):
    """The parameters of a block with a leading dim of `layers`."""
    c, f, kv, g, d, n = dims["C"], dims["F"], dims["KV"], dims["G"], 128, layers
    return {
        "n1": source.coarse((n, c)),
        "wq": weights(source, (n, c, kv, g, d), c),
        "wk": weights(source, (n, c, kv, d), c),
        "wv": weights(source, (n, c, kv, d), c),
        "wo": weights(source, (n, kv, g, d, c), kv * g * d),
        "n2": source.coarse((n, c)),
        "wg": weights(source, (n, c, f), c),
        "wu": weights(source, (n, c, f), c),
        "wd": weights(source, (n, f, c), f),
    }


def block(x, p):
    """One decoder block on x[B, T, C] with the parameters `p` of one layer."""
    batch, length = x.shape[:2]
    position = np.broadcast_to(np.arange(length), (batch, length))
    a = rmsnorm(x, p["n1"], 1e-5)
    q = rotate(np.einsum("btc,chgd->bthgd", a, p["wq"]), position)
    k = rotate(np.einsum("btc,chd->bthd", a, p["wk"]), position)
    v = np.einsum("btc,chd->bthd", a, p["wv"])
    causal = np.tril(np.ones((length, length), dtype=bool))
    r = x + np.einsum("bthgd,hgdc->btc", grouped_attention(q, k, v, causal), p["wo"])
    m = rmsnorm(r, p["n2"], 1e-5)
    return r + (silu(m @ p["wg"]) * (m @ p["wu"])) @ p["wd"]


def transformer_block(dims, source):
    x = source.coarse((dims["B"], dims["T"], dims["C"]))
    params = {name: value[0] for name, value in block_params(dims, source, 1).items()}
    inputs = {"x": Input("bf16", x), **{name: Input("bf16", value) for name, value in params.items()}}
    return inputs, {"y": Output("bf16", block(x, params))}


def transformer_36(dims, source):
    v, c = dims["V"], dims["C"]
    ids = source.integers(0, v - 1, (dims["B"], dims["T"]))
    embedding = source.coarse((v, c))
    params = block_params(dims, source, 36)
    last = source.coarse((c,))
    x = embedding[ids]
    for layer in range(36):
        x = block(x, {name: value[layer] for name, value in params.items()})
    inputs = {"id": Input("i32", ids), "we": Input("bf16", embedding),
              **{name: Input("bf16", value) for name, value in params.items()}, "nf": Input("bf16", last)}
    return inputs, {"logit": Output("bf16", rmsnorm(x, last, 1e-5) @ embedding.T)}


def moe(dims, source):
    """Two experts tie for every token by construction: their columns of the router are equal. All logits are exact in
    f32 in any order of summation, so the choice is determined: the lower number first."""
    t, e, f, hb, k = dims["T"], dims["E"], dims["F"], dims["HB"], 2
    h = 128 * hb
    x, wr = source.coarse((t, h)), source.coarse((h, e))
    wr[:, 3] = wr[:, 1]
    if t > 1:
        x[0] = 0                                # every expert ties
        x[1] = wr[:, 1]                         # experts 1 and 3 are the best
    wg = source.integers(-8, 7, (e, hb, 128, f))
    sg = source.coarse((e, hb, f), limit=1 / 32, step=1 / 512)
    wu, wd = weights(source, (e, h, f), h), weights(source, (e, f, h), f)
    logit = x @ wr
    ids = np.argsort(-logit, axis=1, kind="stable")[:, :k]
    share = softmax(np.take_along_axis(logit, ids, axis=1))
    y = np.zeros((t, h))
    for row in range(t):
        for n in range(k):
            expert = ids[row, n]
            gate = (wg[expert] * sg[expert][:, None, :]).reshape(h, f)
            y[row] += share[row, n] * ((silu(x[row] @ gate) * (x[row] @ wu[expert])) @ wd[expert])
    inputs = {"x": Input("bf16", x), "wr": Input("bf16", wr), "wg": Input("i4", wg), "sg": Input("f16", sg),
              "wu": Input("bf16", wu), "wd": Input("bf16", wd)}
    return inputs, {"y": Output("bf16", y), "id": Output("i32", ids)}


TABLE = {"transformer_block": transformer_block, "transformer_36": transformer_36, "moe": moe}
