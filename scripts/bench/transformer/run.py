#!/usr/bin/env python3
"""The transformer block of samples/ beside PyTorch in a CUDA graph, side by side in one run.

    for c in 512 1024; do for t in 128 512 2048; do tangc samples/transformer_block.tg --target sm_90a:h200 \\
        -D B=1 -D T=$t -D C=$c -D KV=$((c / 128)) -D G=1 -D F=$((4 * c)) -d DIR/$c-$t; done; done
    python3 scripts/bench/transformer/run.py DIR [--f32] [--kernels]

bf16, or f32 with products in TF32 (`sed 's/: bf16/: f32/'` on the sample, --allow-tf32); `--kernels` adds the time of each of our
kernels. Both captured in a graph and replayed; medians of CUDA-event times over 20 replays. PyTorch: F.rms_norm, matmuls,
scaled_dot_product_attention, rotary angles prepared outside the graph (ours computes them inside). The error is relative to
the largest value of the same block in float64. Needs nvcc, a CUDA device and PyTorch.
"""
import argparse
import concurrent.futures
import ctypes
import math
import pathlib
import statistics
import subprocess

import torch
import torch.nn.functional as F

TARGET, NAME, HEAD = "sm_90a", "transformer_block", 128
ARGUMENTS = ["x", "n1", "wq", "wk", "wv", "wo", "n2", "wg", "wu", "wd"]


def build(folder):
    library = folder / f"{NAME}.so"
    subprocess.run(["nvcc", f"-arch={TARGET}", "-O3", "-shared", "-Xcompiler", "-fPIC", "-o", library,
                    folder / f"{NAME}.{TARGET}.cu"], check=True)
    return ctypes.CDLL(str(library.resolve()))


def tensors(t, c, dtype):
    heads, f = c // HEAD, 4 * c
    shapes = {"x": (1, t, c), "n1": (c,), "wq": (c, heads, 1, HEAD), "wk": (c, heads, HEAD), "wv": (c, heads, HEAD),
              "wo": (heads, 1, HEAD, c), "n2": (c,), "wg": (c, f), "wu": (c, f), "wd": (f, c)}
    scale = lambda name, shape: 1 if name in ("x", "n1", "n2") else 1 / math.sqrt(f if name == "wd" else c)
    return {n: (torch.randn(*s, device="cuda") * scale(n, s)).to(dtype) for n, s in shapes.items()}


def angles(t, dtype):
    rate = torch.exp(-math.log(10000) / (HEAD // 2) * torch.arange(HEAD // 2, device="cuda", dtype=torch.float64))
    turn = torch.arange(t, device="cuda", dtype=torch.float64)[:, None] * rate
    return turn.cos().to(dtype), turn.sin().to(dtype)


def block(w, co, si):
    def turn(h):
        a, b = h.chunk(2, -1)
        return torch.cat([a * co - b * si, b * co + a * si], -1)

    x, c = w["x"], w["x"].shape[-1]
    a = F.rms_norm(x, (c,), w["n1"], 1e-5)
    q, k, v = ((a @ w[n].reshape(c, -1)).view(1, x.shape[1], -1, HEAD).transpose(1, 2) for n in ("wq", "wk", "wv"))
    o = F.scaled_dot_product_attention(turn(q), turn(k), v, is_causal=True)
    r = x + o.transpose(1, 2).reshape(1, x.shape[1], -1) @ w["wo"].reshape(-1, c)
    m = F.rms_norm(r, (c,), w["n2"], 1e-5)
    return r + (F.silu(m @ w["wg"]) * (m @ w["wu"])) @ w["wd"]


def graph_us(function):
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            function()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        function()
    times = []
    for _ in range(20):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) * 1e3)
    return statistics.median(times)


def show_kernels(function):
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        for _ in range(10):
            function()
        torch.cuda.synchronize()
    for row in profile.key_averages():
        print(f"    {row.key:.60} {row.device_time_total / 10:8.2f} us")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("--f32", action="store_true")
    parser.add_argument("--kernels", action="store_true")
    options = parser.parse_args()
    root, dtype = options.root, torch.float32 if options.f32 else torch.bfloat16
    torch.backends.cuda.matmul.allow_tf32 = True
    folders = sorted((p for p in root.iterdir() if p.is_dir()), key=lambda p: tuple(map(int, p.name.split("-"))))
    torch.manual_seed(1)
    print(f"{torch.cuda.get_device_properties(0).name}, torch {torch.__version__}, CUDA {torch.version.cuda}")
    with concurrent.futures.ThreadPoolExecutor() as pool:
        libraries = list(pool.map(build, folders))
    for folder, library in zip(folders, libraries):
        c, t = map(int, folder.name.split("-"))
        w = tensors(t, c, dtype)
        y = torch.full_like(w["x"], float("nan"))
        run, size = getattr(library, f"{NAME}_{TARGET}_run"), getattr(library, f"{NAME}_{TARGET}_workspace_bytes")
        size.restype = ctypes.c_size_t
        workspace = torch.full((max(1, size(None)),), 255, dtype=torch.uint8, device="cuda")
        args = (ctypes.c_void_p * 11)(*[w[n].data_ptr() for n in ARGUMENTS], y.data_ptr())

        def ours():
            stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
            status = run(args, None, ctypes.c_void_p(workspace.data_ptr()), ctypes.c_size_t(workspace.numel()), stream)
            if status != 0:
                raise RuntimeError(f"status {status}")

        us = graph_us(ours)
        exact = block({n: v.double() for n, v in w.items()}, *angles(t, torch.float64))
        error = ((y.double() - exact).abs().max() / exact.abs().max()).item()
        co, si = angles(t, dtype)
        other = graph_us(lambda: block(w, co, si))
        print(f"C {c:5} T {t:5}: {us:8.1f} us, PyTorch {other:8.1f} us, ratio {other / us:.2f}, error {error:.1e}", flush=True)
        if options.kernels:
            show_kernels(ours)


if __name__ == "__main__":
    main()
