#!/usr/bin/env python3
"""Causal attention, forward and backward, beside PyTorch: time, memory and error, side by side in one run.

    for f in scripts/bench/attention/*.tg; do tangc $f --target sm_90a -d DIR; done
    python3 scripts/bench/attention/run.py DIR [--width D] [--heads H] [--no-math] [S...]

D is what the programs say, 64 unless they were changed. Shared objects in DIR are taken as they are.

`flash` is PyTorch's fused attention (tensor cores), `math` its plain one, which stores S x S scores. Workspace is
what the caller must give tangc's launcher; PyTorch's is the peak of its allocator above the operands and results.
Errors are relative to the largest value of a float64 computation of the last 64 rows (dq, o) and columns (dk, dv)
of the first head. Needs nvcc, a CUDA device and PyTorch.
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
from torch.nn.attention import SDPBackend, sdpa_kernel

TARGET = "sm_90a"


def build(folder, name):
    source, library = folder / f"{name}.{TARGET}.cu", folder / f"{name}.so"
    if not library.exists():
        subprocess.run(["nvcc", "-arch=" + TARGET, "-O3", "-shared", "-Xcompiler", "-fPIC", "-o", library, source], check=True)
    return ctypes.CDLL(str(library.resolve()))


def launcher(library, name, dims):
    run = getattr(library, f"{name}_{TARGET}_run")
    size = getattr(library, f"{name}_{TARGET}_workspace_bytes")
    size.restype = ctypes.c_size_t
    values = (ctypes.c_int64 * len(dims))(*dims)
    workspace = torch.full((max(1, size(values)),), 255, dtype=torch.uint8, device="cuda")

    def call(*tensors):
        args = (ctypes.c_void_p * len(tensors))(*[t.data_ptr() for t in tensors])
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        status = run(args, values, ctypes.c_void_p(workspace.data_ptr()), ctypes.c_size_t(workspace.numel()), stream)
        if status != 0:
            raise RuntimeError(f"{name}: status {status}")

    return call, size(values)


def median_ms(function, rounds):
    function()
    torch.cuda.synchronize()
    times = []
    for _ in range(rounds):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        function()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end))
    return statistics.median(times)


def peak_above(function):
    """Bytes of the allocator's peak above what is held before and what stays held after."""
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    kept = function()
    torch.cuda.synchronize()
    results = sum(t.numel() * t.element_size() for t in kept)
    return torch.cuda.max_memory_allocated() - before - results


def exact(q, k, v, go, rows=64):
    """float64 values of the first head: o and dq of the last rows, dk and dv of the last columns."""
    q, k, v, go = (t[0, 0].double() for t in (q, k, v, go))
    length = q.shape[0]
    last = slice(length - rows, length)
    mask = torch.arange(length, device="cuda")[None, :] > torch.arange(length - rows, length, device="cuda")[:, None]
    p = (q[last] @ k.T / math.sqrt(q.shape[-1])).masked_fill(mask, -math.inf).softmax(-1)
    o = p @ v
    dp = go[last] @ v.T
    ds = p * (dp - (o * go[last]).sum(-1, keepdim=True)) / math.sqrt(q.shape[-1])
    return {"o": o, "dq": ds @ k, "dk": ds[:, last].T @ q[last], "dv": p[:, last].T @ go[last]}


def error(found, expected):
    return ((found[0, 0, -expected.shape[0]:].double() - expected).abs().max() / expected.abs().max()).item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--heads", type=int, default=16)
    parser.add_argument("--no-math", action="store_true")
    parser.add_argument("lengths", type=int, nargs="*")
    options = parser.parse_intermixed_args()
    folder, lengths = options.folder, options.lengths or [512, 1024, 4096, 16384]
    torch.manual_seed(1)
    print(f"{torch.cuda.get_device_properties(0).name}, torch {torch.__version__}, CUDA {torch.version.cuda}")
    names = ("attention", "attention_backward")
    with concurrent.futures.ThreadPoolExecutor() as pool:
        forward, backward = pool.map(lambda n: build(folder, n), names)
    print(f"{'pass':9}{'S':>7}{'ms':>9}{'workspace MB':>14}{'flash ms':>10}{'MB':>8}{'math ms':>9}{'MB':>8}{'flash/ours':>11}  max err")
    for length in lengths:
        shape = (1, options.heads, length, options.width)
        q, k, v, go = (torch.randn(shape, device="cuda").half() for _ in range(4))
        wanted = exact(q, k, v, go)
        nan = lambda: torch.full(shape, float("nan"), device="cuda", dtype=torch.float16)
        rounds = 9
        o, dq, dk, dv = nan(), nan(), nan(), nan()
        run_forward, forward_bytes = launcher(forward, names[0], (1, options.heads, length))
        run_backward, backward_bytes = launcher(backward, names[1], (1, options.heads, length))
        ours = median_ms(lambda: run_forward(q, k, v, o), rounds)
        ours_back = median_ms(lambda: run_backward(q, k, v, go, dq, dk, dv), rounds)
        peers = {}
        for name, backend in (("flash", SDPBackend.FLASH_ATTENTION), ("math", SDPBackend.MATH)):
            if name == "math" and options.no_math:
                peers[name] = (math.nan,) * 4
                continue
            with sdpa_kernel(backend):
                leaves = [t.clone().requires_grad_() for t in (q, k, v)]
                step = lambda: [F.scaled_dot_product_attention(q, k, v, is_causal=True)]
                def step_back():
                    loss = F.scaled_dot_product_attention(*leaves, is_causal=True)
                    return list(torch.autograd.grad(loss, leaves, go))
                peers[name] = (median_ms(step, rounds), peak_above(step), median_ms(step_back, rounds), peak_above(step_back))
        for label, ms, size, at, found in (("forward", ours, forward_bytes, 0, {"o": o}),
                                           ("backward", ours_back, backward_bytes, 2, {"dq": dq, "dk": dk, "dv": dv})):
            (f, fm), (m, mm) = peers["flash"][at:at + 2], peers["math"][at:at + 2]
            errors = " ".join(f"{n} {error(t, wanted[n]):.1e}" for n, t in found.items())
            print(f"{label:9}{length:7}{ms:9.2f}{size / 1e6:14.2f}{f:10.3f}{fm / 1e6:8.1f}{m:9.2f}{mm / 1e6:8.0f}{f / ms:11.3f}  {errors}", flush=True)


if __name__ == "__main__":
    main()
