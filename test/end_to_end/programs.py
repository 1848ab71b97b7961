"""Small programs, one for each thing that a kernel can be made of, and the data that they are called with.

A program is a text and calls. A call binds dims and names flavours of its inputs:
  plain     numbers around 0 with all bits of their format in use
  ties      few distinct values
  special   plain, with NaN, infinities and zeros of both signs strewn in
  nan, inf  plain, with some NaN alone; with some infinities of one sign
  tiny      1e-39 times a number around 0: below the normal numbers of f32, where a reciprocal overflows
  huge      1e36 times a number around 0
  offset    10000 plus numbers around 0
  lo..hi    integers in that range
Inputs without a flavour are `plain` floats, or integers of their whole declared range.
"""
from dataclasses import dataclass, field
from itertools import product

SIZES = (0, 1, 2, 3, 17, 127, 129)
FEW = (0, 1, 3, 17, 129)


@dataclass
class Call:
    dims: dict
    flavours: dict = field(default_factory=dict)


@dataclass
class Program:
    name: str
    text: str
    calls: list
    tolerance: dict = field(default_factory=dict)  # relative to the largest value, by output, where the format's is not enough
    exact_chosen: bool = True


def calls(flavours=None, **dims):
    """One call for each combination of sizes; a size may be one number."""
    lists = [v if isinstance(v, (tuple, list)) else (v,) for v in dims.values()]
    return [Call(dict(zip(dims, values)), dict(flavours or {})) for values in product(*lists)]


PROGRAMS = []


def program(name, text, calls, **more):
    PROGRAMS.append(Program(name, f"tg 1\ngraph {name}\n{text}", calls, **more))


# --- contractions

program("matmul", """
dim M, N, K
input a : f32[M, K]
input b : f32[K, N]
c[i, j] = sum[k] a[i, k] * b[k, j]
output c : f32[M, N]
""", calls(M=SIZES, N=SIZES, K=17) + calls(M=17, N=3, K=SIZES) + calls(M=129, N=127, K=33))

program("matmul_batched", """
dim B, M, N, K
input a : f32[B, M, K]
input b : f32[B, N, K]
input c : f32[N]
y[e, i, j] = relu((sum[k] a[e, i, k] * b[e, j, k]) + c[j])
d[e, i, j] = max[k] abs(a[e, i, k] - b[e, j, k])
output y : f32[B, M, N]
output d : f32[B, M, N]
""", calls(B=(0, 1, 3), M=FEW[:4], N=FEW[:4], K=5) + calls(B=2, M=17, N=18, K=SIZES))

program("matmul_int8", """
dim M, N, K in 0..4096
input a : i8[M, K]
input b : i8[N, K]
input s : f32[N]
c[i, j] = sum[k] a[i, k] * b[j, k]
y[i, j] = c[i, j] * s[j]
output c : i32[M, N]
output y : f32[M, N]
""", calls(M=FEW, N=FEW, K=17) + calls(M=2, N=5, K=SIZES))

program("matmul_low", """
dim M, N, K
input a : f8e4m3[M, K]
input b : f8e5m2[K, N]
input h : bf16[K, N]
y[i, j] = sum[k] a[i, k] * b[k, j]
z[i, j] = sum[k] a[i, k] * h[k, j]
output y : f32[M, N]
output z : f16[M, N]
""", calls(M=FEW[:4], N=FEW[:4], K=9) + calls(M=5, N=3, K=SIZES))

program("attention", """
dim B, S, T
dim H = 2, G = 2, D = 9
input q : f32[B, S, H, G, D]
input k : f32[B, T, H, D]
input v : f32[B, T, H, D]
s[b, h, g, i, j] = (1 / sqrt(9)) * sum[d] q[b, i, h, g, d] * k[b, j, h, d]
p[b, h, g, i, j] = softmax[j where j - T <= i - S] s[b, h, g, i, j]
o[b, i, h, g, d] = sum[j] p[b, h, g, i, j] * v[b, j, h, d]
output o : f32[B, S, H, G, D]
""", calls(B=1, S=FEW, T=FEW) + calls(B=2, S=(2, 5), T=(3, 4)) + calls({"q": "inf"}, B=1, S=4, T=6))

program("convolution", """
dim N, C, O, P, Q
input x : f32[N, C, 2 * P + 1, 2 * Q]
input w : f32[O, C, 3, 3]
input b : f32[O]
y[n, o, i: P, j: Q] = (sum[c, r, s] (x[n, c, 2 * i + 2 * r - 2, 2 * j + 2 * s - 2] else 0) * w[o, c, r, s]) + b[o]
z[n, c, i: P, j: Q] = max[r: 2, s: 2] x[n, c, 2 * i + r, 2 * j + s]
output y : f32[N, O, P, Q]
output z : f32[N, C, P, Q]
""", calls(N=2, C=3, O=5, P=(0, 1, 2, 9), Q=(0, 1, 2, 17)) + calls(N=(0, 1), C=(0, 1), O=(0, 1), P=3, Q=3)
    + calls(N=1, C=1, O=17, P=3, Q=127))

program("many_operands", """
dim M, N, K
input a : f64[M, K]
input b : f64[N, K]
input c : f64[M, K]
input d : f64[N, K]
input e : f64[M, K]
input f : f64[N, K]
input g : f64[M, K]
input h : f64[N, K]
p[i, j] = sum[k] (a[i, k] * b[j, k] - c[i, k] * d[j, k] + exp(-abs(e[i, k] - f[j, k])) + min(g[i, k], h[j, k]))
output p : f64[M, N]
""", calls(M=(0, 1, 5), N=(0, 1, 18), K=SIZES))

# --- rows

program("softmax_rows", """
dim M, N
input x : f32[M, N]
y[i, j] = softmax[j] x[i, j]
l[i, j] = log_softmax[j] x[i, j]
output y : f32[M, N]
output l : f32[M, N]
""", calls(M=(0, 1, 5), N=SIZES + (128, 1024)) + calls({"x": "special"}, M=17, N=(1, 3, 129))
    + calls({"x": "inf"}, M=9, N=(2, 17)) + calls({"x": "offset"}, M=3, N=(17, 128)) + calls({"x": "nan"}, M=9, N=17))

program("layer_norm_rows", """
dim M, N
input x : f32[M, N]
input w : f32[N]
input b : f32[N]
y[i, j] = layernorm[j](x[i, j], w[j], b[j], 1e-5)
r[i, j] = rmsnorm[j](x[i, j], w[j], 1e-5)
m[i] = mean[j] x[i, j]
v[i] = var[j] x[i, j]
output y : f32[M, N]
output r : bf16[M, N]
output m : f32[M]
output v : f32[M]
""", calls(M=(0, 1, 5), N=SIZES + (128,)) + calls({"x": "nan"}, M=9, N=(17, 128)))

program("rows_bf16", """
dim M, N
input x : bf16[M, N]
s[i] = sum[j] x[i, j]
n[i] = sqrt(sum[j] x[i, j] * x[i, j]) + 1
y[i, j] = x[i, j] / n[i]
t = max[i, j] x[i, j]
output s : f32[M]
output y : bf16[M, N]
output t : f32
""", calls(M=(0, 1, 5), N=SIZES + (128,)), tolerance={"s": 1e-5})

program("rounded_rows", """
dim M, N
input x : f32[M, N]
s[i] = sum[j] x[i, j] * x[i, j]
h[i, j] = exp(x[i, j])
y[i, j] = x[i, j] / s[i] + h[i, j]
output s as t : bf16[M]
output h as g : f16[M, N]
output y : f32[M, N]
store h : bf16
""", calls(M=(0, 1, 5), N=SIZES + (128,)), tolerance={"y": 1 / 128, "g": 1 / 128})

program("normalized_rows", """
dim M, N
input x : f32[M, N]
input w : f32[N]
input scale : f32
s[i] = sum[j] abs(x[i, j] * scale)
y[i, j] = x[i, j] * scale / s[i] * w[j]
output y : f32[M, N]
""", calls({"scale": "tiny"}, M=3, N=(2, 17, 128)) + calls({"scale": "huge"}, M=3, N=(2, 17, 128))
    + calls(M=(0, 1, 5), N=SIZES))

program("bounded_rows", """
dim M, N, W in 1..64
input x : f32[M, N]
input w : f32[N]
input z : f32[N, N]
p[i, j] = softmax[j where j <= i] x[i, j]
q[i, j] = softmax[j where j <= i and j > i - W] x[i, j]
a[i] = argmax[j where j >= i] x[i, j]
m[i] = max[j where 2 * j < i] x[i, j] * w[j]
s[i: M] = sum[j where j - N >= i - M] x[i, j]
r[i] = sum[j where j <= i] z[i, i - j] * z[j, i]
g[i] = sum[j where j <= i] z[i, i - j] * x[0, j] else 0
output p : f32[M, N]
output q : f32[M, N]
output a : i32[M]
output m : f32[M]
output s : f32[M]
output r : f32[N]
output g : f32[N]
""", calls(M=FEW, N=SIZES, W=(1, 5)) + calls(M=300, N=(8, 264), W=64) + calls({"x": "special"}, M=17, N=17, W=3))

program("ordered_rows", """
monoid first(v = 0, k = 0) (a, b) -> (where(a.k > 0, a.v, b.v), max(a.k, b.k))
dim M, N
input x : f32[M, N]
input d : f32[M, N]
(n[i], mean[i], m2[i]) = welford[j](1, x[i, j], 0)
y[i, j] = (x[i, j] - mean[i]) * rsqrt(m2[i] / max(n[i], 1) + 1e-5)
(f[i], k[i]) = first[j where x[i, j] > 0](x[i, j], 1)
(g[i], l[i]) = first[j where j >= i](x[i, j], 1)
(a[i], b[i]) = affine[j](tanh(d[i, j]), x[i, j])
output y : f32[M, N]
output f : f32[M]
output k : f32[M]
output g : f32[M]
output b : f32[M]
""", calls(M=(0, 1, 5), N=SIZES + (128, 1024)) + calls({"x": "ties"}, M=9, N=(2, 17, 300)))

program("integer_rows", """
dim M, N
input q : i32[M, N]
input u : u32[M, N]
t[i] = sum[j] q[i, j]
a[i] = max[j where q[i, j] < -2147483000] q[i, j]
b[i] = sum[j] u[i, j]
c[i, j] = q[i, j] - t[i]
d[i] = min[j] q[i, j]
output t as t32 : i32[M]
output t as t64 : i64[M]
output a : i16[M]
output b : u32[M]
output c : i32[M, N]
output d : i8[M]
""", calls(M=(0, 1, 5), N=SIZES + (128,)))

program("choices", """
dim M, N
input x : f32[M, N]
a[i] = argmax[j] x[i, j]
b[i] = argmin[j] x[i, j]
c[j] = argmax[i] x[i, j]
hi[i] = max[j] x[i, j]
lo[i] = min[j] x[i, j]
(v[i, n], id[i, n]) = topk[j; 3] x[i, j]
(w[i, n], at[i, n]) = topk[j where x[i, j] < 0; 2] x[i, j]
output a : i32[M]
output b : i64[M]
output c : i32[N]
output hi : f32[M]
output lo : f32[M]
output v : f32[M, 3]
output id : i32[M, 3]
output w : f32[M, 2]
output at : i32[M, 2]
""", calls({"x": "ties"}, M=FEW, N=SIZES) + calls({"x": "special"}, M=17, N=SIZES) + calls({"x": "nan"}, M=9, N=(1, 2, 17)))

program("filtered", """
dim M, N, K
input x : f32[M, N]
input n : i32[M]
input q : i16[M, N]
s[i] = sum[j where x[i, j] > 0] log(x[i, j])
t[i] = sum[j where j <= i] x[i, j]
u[i] = max[j where j < n[i]] x[i, j]
p[i] = prod[j where mod(i + j, 3) == 0] x[i, j]
c[i] = sum[j where q[i, j] > 100] 1
k[i] = max[j where q[i, j] > 32000] q[i, j]
w[i] = sum[j where i - K <= j and j <= i + K] x[i, j]
y[i, j] = softmax[j where x[i, j] < 1 and j != i] x[i, j]
output s : f32[M]
output t : f32[M]
output u : f32[M]
output p : f32[M]
output c : i64[M]
output k : i16[M]
output w : f32[M]
output y : f32[M, N]
""", calls({"n": "-3..140"}, M=FEW, N=SIZES, K=(2,)) + calls({"n": "-3..140"}, M=5, N=17, K=(0, 1, 200))
    + calls({"x": "nan", "n": "0..9"}, M=17, N=17, K=1))

program("reductions", """
dim M, N
input x : f64[M, N]
input b : bool[M, N]
input u : u32[M, N]
input i : i64[M, N] in -1000000000..1000000000
input g : f16[M, N]
input k : f32
a[m] = any[n] b[m, n]
c[m] = all[n] b[m, n]
d[n] = any[m] (b[m, n] and x[m, n] > k)
s[m] = sum[n] x[m, n] * g[m, n]
t[n] = sum[m] x[m, n]
w = sum[m, n] x[m, n] * x[m, n]
us[m] = sum[n] u[m, n]
un[m] = min[n] u[m, n]
is = sum[m, n] i[m, n]
ix[m] = max[n] i[m, n]
ip[m] = prod[n where n < 2] i[m, n]
e = any[m, n] b[m, n]
f[m] = g[m, 0] else 7
(lm[m], ls[m]) = lse[n](g[m, n], 1)
(wn[m], wm[m], w2[m]) = welford[n](1, x[m, n], 0)
output a : bool[M]
output c : bool[M]
output d : bool[N]
output e : bool
output s : f64[M]
output t : f64[N]
output w : f64
output us : i64[M]
output un : i64[M]
output is : i64
output ix : i64[M]
output ip : i64[M]
output f : f32[M]
output lm : f32[M]
output ls : f32[M]
output wm : f64[M]
output w2 : f64[M]
""", calls(M=FEW, N=SIZES) + calls({"b": "0..0"}, M=3, N=17) + calls({"b": "1..1"}, M=3, N=17))

# --- scans and recurrences

program("scans", """
dim M, N
input x : f32[M, N]
input n : i32[M, N] in -1000..1000
a[i, j] = scan sum[j] x[i, j]
b[i, j] = scan sum[j exclusive] n[i, j]
c[i, j] = scan max[j desc] x[i, j]
d[i, j] = scan sum[i desc exclusive] n[i, j]
e[i, j] = scan sum[i] x[i, j]
g[i, j] = scan sum[j where n[i, j] > 0] n[i, j]
(f[i, j], h[i, j]) = scan affine[j](x[i, j] / 8, n[i, j])
output a : f32[M, N]
output b : i64[M, N]
output c : f32[M, N]
output d : i64[M, N]
output e : f32[M, N]
output g : i64[M, N]
output h : f32[M, N]
""", calls(M=FEW, N=SIZES))

program("recurrence", """
dim T, M, N
input x : f32[T, M]
input h0 : f32[M]
input c0 : f32[M, N]
input w : f32[M, M]
recur t: T carry h = h0, c = c0 {
  z[i] = sum[k] h[k] * w[i, k]
  c[i, j] = c[i, j] / 2 + z[i]
  h[i] = tanh(z[i] / 8) + x[t, i] + mod(t, 3)
} collect hs = h, zs = z
output hs : f32[T, M]
output zs : f32[T, M]
output h as hn : f32[M]
output c as cn : f32[M, N]
""", calls(T=(0, 1, 2, 17), M=(0, 1, 3, 17), N=(0, 3, 18)))

program("layers", """
dim T
dim L = 3, D = 19
input x : f32[T, D]
param w : f32[L, D, D]
param b : f32[L, D]
h[t, d] = x[t, d]
repeat l in 0..<3 carry h {
  u[t, d] = silu((sum[e] h[t, e] * w[l, d, e]) + b[l, d])
  h[t, d] = h[t, d] + u[t, d] / 4
}
output h as y : f32[T, D]
""", calls(T=SIZES))

# --- views

program("guards", """
dim M, N
input x : f32[M, N]
input b : f32[M, N + 1] align 4
a[i, j] = ((x[i, j - 1] else 0) + x[i, j] + (x[i, j + 1] else 5)) / 3
c[i: M + 2, j: N + 3] = x[i - 1, j - 1] else -1
d[i, j: N] = where(j + 2 < N, x[i, j + 2 - 0] else 9, x[i, j])
e[i, j: N] = b[i, j + 1] - b[i, j]
f[i: 2 * M, j: N] = x[floordiv(i, 2), N - 1 - j] else 0
g[i: M, j: N] = x[M - 1 - i, N - 1 - j]
output a : f32[M, N]
output c : f32[M + 2, N + 3]
output d : f32[M, N]
output e : f32[M, N]
output f : f32[2 * M, N]
output g : f16[M, N]
""", calls(M=FEW[:4], N=SIZES))

# Levels of branches that share what lies below: more paths lead to the innermost reads than can be listed.
program("branches", """
dim N
input x : f32[N]
input z : f32[N]
t0[i] = z[i]
""" + "".join(f"""t{k}[i] = where(x[i] > {k / 10 - 1}, t{k - 1}[i] * 0.75 + 1,
  where((x[i + {k}] else 1) < 0.5, x[i] - t{k - 1}[i], t{max(0, k - 2)}[i]))
""" for k in range(1, 25)) + """y[i] = t24[i]
output y : f32[N]
""", calls(N=SIZES))

program("gathers", """
dim M, N, K, V
input id : i32[M]
input far : i64[M]
input col : i32[N]
input rows : i32[K] in 0..100
input w : f32[V, N]
a[i, j] = w[id[i], j]
b[i, j] = w[far[i], j] else -2
c[i, j] = w[id[i], col[j]] else 3
d[i, k] = w[id[i], rows[k]]
e[i] = sum[j] w[id[i], col[j]]
f[i, j] = w[id[i] * 2 - 1, j] else j
g[i] = sum[j where col[j] >= 0] w[id[i], j] * w[far[i], j]
output a : f32[M, N]
output b : f32[M, N]
output c : f32[M, N]
output d : f32[M, K]
output e : f32[M]
output f : f32[M, N]
output g : f32[M]
""", calls({"id": "-4..20", "col": "-3..25"}, M=FEW, N=SIZES, K=5, V=17) + calls(M=9, N=5, K=3, V=(0, 1, 8)))

program("packed", """
dim M, N
input a : i4[M, N]
input b : u4[M, N]
input s : f32[M]
c[i, j] = a[i, j] * s[i]
d[i] = sum[j] a[i, j] * b[i, j]
e[i, j] = u4(b[i, j] - a[i, j])
f[i: N, j: M] = i4(a[j, i] * 2)
output c : f32[M, N]
output d : i32[M]
output e : i8[M, N]
output f : i8[N, M]
""", calls(M=FEW, N=SIZES))

program("narrow", """
dim N
input a : f8e4m3[N]
input b : f8e5m2[N]
input c : bf16[N]
input d : f16[N]
x[i] = a[i] * b[i]
y[i] = a[i] + c[i]
z[i] = d[i] * d[i]
w[i] = c[i] * 300
output x : f8e4m3[N]
output y : f8e5m2[N]
output z : f16[N]
output w : bf16[N]
""", calls(N=SIZES + (128,)) + calls({"a": "special", "b": "special", "c": "special", "d": "special"}, N=(17, 128, 255)))

program("strided", """
dim M, N in 0..1000
dim LD in 0..1100
input x : f32[M, N]:[1200, 1]
input y : f32[M, N]:[1, M]
input z : f32[N]:[3]
input e : bf16[M, N]:[N + 1, 1] align 2
a[i, j] = x[i, j] + y[i, j] * z[j]
s[i] = sum[j] x[i, j]
t[i] = sum[j] y[i, j] * e[i, j]
p[i, k: M] = sum[j] x[i, j] * y[k, j]
output a : f32[M, N]:[N, 1]
output s : f32[M]
output t : f32[M]
output p : f32[M, M]
""".replace("dim LD in 0..1100\n", ""), calls(M=FEW, N=SIZES))

program("in_place", """
dim M, N
input x : f32[M, N]
input at : i32[M]
input v : f32[M]
input c : f32[N]
y[i, j] = where(j == at[i], v[i], x[i, j])
d[j] = c[j] * 2 + 1
output y : f32[M, N] over x
output d : f32[N] over c
""", calls({"at": "-2..18"}, M=FEW, N=SIZES) + calls({"at": "0..3", "x": "special"}, M=9, N=5))

program("in_place_far", """
dim M, N
input x : f32[M]
input h : f32[M, N]
y[i: M] = (x[i - 1] else 0) + x[i]
z[i] = y[i] + x[M - 1 - i]
s[i] = sum[j] h[i, j]
g[i, j] = h[i, j] / (abs(s[i]) + 1)
t[j] = sum[i] g[i, j] * x[i]
output y as shifted : f32[M] over x
output z : f32[M]
output s : f32[M]
output g : f32[M, N] over h
output t : f32[N]
""", calls(M=FEW, N=(0, 1, 3, 17, 128)))

# --- elements

program("elements", """
dim N
input x : f32[N]
input y : f32[N]
a[i] = exp(x[i]) + log(abs(x[i])) * sqrt(abs(y[i]))
b[i] = sin(x[i]) * cos(y[i]) + tan(x[i] / 4) + tanh(x[i]) + erf(y[i])
c[i] = exp2(x[i]) - log2(abs(y[i]) + 1) + rsqrt(abs(x[i]) + 1) + atan2(x[i], y[i])
d[i] = floor(x[i]) + 10 * ceil(y[i]) + 100 * round(x[i] * 2) + 1000 * sign(y[i])
e[i] = max(x[i], y[i]) - min(x[i], 0)
f[i] = pow(abs(x[i]), 1.5) + gelu(y[i]) + softplus(x[i]) + sigmoid(y[i])
g[i] = where(x[i] < y[i] or not (x[i] == x[i]), x[i] / y[i], mod(i, 3))
h[i] = i32(x[i] * 1000)
k[i] = i8(y[i] * 100)
l[i] = x[i] >= y[i] and x[i] != 0
output a : f32[N]
output b : f32[N]
output c : f32[N]
output d : f32[N]
output e : f32[N]
output f : f32[N]
output g : f32[N]
output h : i32[N]
output k : i8[N]
output l : bool[N]
""", calls(N=SIZES + (128,)) + calls({"x": "special", "y": "special"}, N=(17, 127, 128)) + calls({"x": "ties", "y": "ties"}, N=129))

program("integers", """
dim N
input a : i32[N]
input b : i16[N]
input c : u8[N]
input d : i64[N] in -1000000000000..1000000000000
add[i] = a[i] + b[i]
mul[i] = a[i] * c[i]
fd[i] = floordiv(a[i], b[i])
md[i] = mod(d[i], b[i])
bits[i] = bitxor(bitand(a[i], 65535), bitor(c[i], 3)) + shl(c[i], 3) + shr(a[i], 5)
lo[i] = u8(b[i])
near[i] = a[i] * c[i]
top = max[i] a[i]
ab[i] = abs(min(a[i], d[i]))
sub[i] = c[i] - 200
re[i] = f64(d[i]) / 7
output add : i64[N]
output mul : i64[N]
output fd : i64[N]
output md : i64[N]
output bits : i64[N]
output lo : u8[N]
output near : i32[N]
output near as unsigned : u32[N]
output top : i16
output ab : i64[N]
output sub : i16[N]
output re : f64[N]
""", calls(N=SIZES + (128,)) + calls({"b": "-2..2", "c": "0..9"}, N=127))

program("scalars", """
dim N
input k : f32
input n : i32 in 0..10
input x : f32[N]
loss = (sum[i] x[i] * k) + n
y[i] = x[i] * k + n
z = where(n > 5, k, 1 / k)
t[i: 3] = k + i
output loss : f32
output y : f32[N]
output z : f32
output t : f32[3]
""", calls(N=SIZES))

# --- gradients

program("grad_linear", """
dim M, N, K
input x : f32[M, K]
input w : f32[K, N]
input b : f32[N]
y[i, j] = relu((sum[k] x[i, k] * w[k, j]) + b[j])
loss = sum[i, j] y[i, j] * y[i, j]
grad loss wrt x -> dx, w -> dw, b -> db
output dx : f32[M, K]
output dw : f32[K, N]
output db : f32[N]
""", calls(M=FEW, N=(1, 17), K=(3, 33)) + calls(M=5, N=6, K=SIZES))

program("grad_attention", """
dim S, D
input q : f32[S, D]
input k : f32[S, D]
input v : f32[S, D]
input do : f32[S, D]
s[i, j] = 0.25 * sum[d] q[i, d] * k[j, d]
p[i, j] = softmax[j where j <= i] s[i, j]
o[i, d] = sum[j] p[i, j] * v[j, d]
grad o with do wrt q -> dq, k -> dk, v -> dv
output dq : f32[S, D]
output dk : f32[S, D]
output dv : f32[S, D]
""", calls(S=SIZES, D=(1, 16)), tolerance={"dq": 2e-4, "dk": 2e-4})

program("grad_cross_entropy", """
dim N, V = 37, D
input h : f32[N, D]
param u : f32[V, D]
input t : i32[N] in 0..36
x[i, v] = sum[d] h[i, d] * u[v, d]
p[i, v] = log_softmax[v] x[i, v]
loss = -(sum[i] p[i, t[i]])
grad loss wrt h -> dh, u -> du
output loss : f32
output dh : f32[N, D]
output du : f32[V, D]
""", calls(N=FEW, D=(1, 16)))

program("grad_layer_norm", """
dim M, N
input x : f32[M, N]
input w : f32[N]
input dy : f32[M, N]
y[i, j] = layernorm[j](x[i, j], w[j], 0, 1e-2)
grad y with dy wrt x -> dx, w -> dw
output dx : f32[M, N]
output dw : f32[N]
""", calls(M=FEW, N=(2, 3, 17, 129)))

program("grad_rms_norm", """
dim M, N in 1..4096
input x : bf16[M, N]
input w : bf16[N]
input dy : bf16[M, N]
y[i, j] = rmsnorm[j](x[i, j], w[j], 1e-5)
grad y with dy wrt x -> dx, w -> dw
output dx : f32[M, N]
output dw : f32[N]
""", calls(M=FEW, N=(3, 17, 129)), tolerance={"dx": 1e-4})

program("grad_convolution", """
dim C, O, H
input x : f32[C, H]
input w : f32[O, C, 3]
y[o, i: H] = sum[c, r] (x[c, 2*i + 2*r - 2] else 0) * w[o, c, r]
loss = sum[o, i] y[o, i] * y[o, i]
grad loss wrt x -> dx, w -> dw
output dx : f32[C, H]
output dw : f32[O, C, 3]
""", calls(C=(1, 3), O=(1, 4), H=SIZES))

program("grad_max_pool", """
dim H, W
input x : f32[2*H, 2*W]
input dy : f32[H, W]
y[i: H, j: W] = max[r: 2, s: 2] x[2*i + r, 2*j + s]
grad y with dy wrt x -> dx
output dx : f32[2*H, 2*W]
""", calls(H=FEW[:4], W=FEW[:4]) + calls({"x": "ties"}, H=17, W=5))

program("grad_max_rows", """
dim M, N
input x : f32[M, N]
input dy : f32[M]
input dp : f32[M]
m[i] = max[j] x[i, j]
q[i] = prod[j where j < 4] x[i, j]
grad m with dy wrt x -> dm
grad q with dp wrt x -> dq
output dm : f32[M, N]
output dq : f32[M, N]
""", calls(M=FEW, N=SIZES) + calls({"x": "ties"}, M=17, N=17))

program("grad_embedding", """
dim T, V, D
input e : f32[V, D]
input id : i32[T] in 0..2
input dy : f32[T, D]
y[t, d] = e[id[t], d]
grad y with dy wrt e -> de
output de : f32[V, D]
""", calls(T=SIZES, V=(3, 5), D=(1, 16)))

program("grad_routing", """
dim T, H = 8, E = 5, F = 6
input x : f32[T, H]
param wr : f32[H, E]
param wu : f32[E, H, F]
logit[t, e] = sum[h] x[t, h] * wr[h, e]
(gate[t, n], id[t, n]) = topk[e; 2] logit[t, e]
a[t, n] = softmax[n] gate[t, n]
z[t, n, f] = silu(sum[h] x[t, h] * wu[id[t, n], h, f])
y[t, f] = sum[n] a[t, n] * z[t, n, f]
loss = sum[t, f] y[t, f] * y[t, f]
grad loss wrt x -> dx, wr -> dr, wu -> du
output dx : f32[T, H]
output dr : f32[H, E]
output du : f32[E, H, F]
""", calls(T=FEW))

program("grad_scans", """
dim B, T
input x : f32[B, T]
input d : f32[B, T]
input dy : f32[B, T]
f[b, t] = sigmoid(d[b, t])
c[b, t] = scan sum[t] (x[b, t] * f[b, t])
(a[b, t], h[b, t]) = scan affine[t](f[b, t], x[b, t])
m[b, t] = scan max[t exclusive] x[b, t]
y[b, t] = c[b, t] * h[b, t] + where(m[b, t] == -inf, 0, m[b, t])
grad y with dy wrt x -> dx, d -> dd
output dx : f32[B, T]
output dd : f32[B, T]
""", calls(B=(1, 3), T=(0, 1, 2, 3, 17)))

program("grad_recurrence", """
dim T, H = 4
input x : f32[T, H]
param w : f32[H, H]
input h0 : f32[H]
recur t: T carry h = h0 {
  a[i] = sum[k] w[k, i] * h[k]
  h[i] = tanh(0.5 * a[i] + x[t, i])
} collect hs = h
loss = (sum[t, i] hs[t, i] * hs[t, i]) + (sum[i] h[i])
grad loss wrt x -> dx, w -> dw, h0 -> dh
output dx : f32[T, H]
output dw : f32[H, H]
output dh : f32[H]
""", calls(T=(0, 1, 2, 3, 17)))

program("grad_twice", """
dim M, N
input x : f32[M, N]
input v : f32[M, N]
p[i, j] = softmax[j] x[i, j]
loss = sum[i, j] p[i, j] * p[i, j]
grad loss wrt x -> dx
along = sum[i, j] dx[i, j] * v[i, j]
grad along wrt x -> hv
output hv : f32[M, N]
""", calls(M=(1, 3), N=(1, 2, 3, 17)))
