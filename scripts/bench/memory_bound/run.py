#!/usr/bin/env python3
"""Memory-bound kernels against the device's own copy and torch.compile, side by side in one run.

    for f in scripts/bench/memory_bound/*.tg; do
      tangc $f --target sm_90a -d DIR/dynamic
      for n in 1024 8192 131072; do tangc $f --target sm_90a -D N=$n -d DIR/n$n; done
    done
    python3 scripts/bench/memory_bound/run.py DIR

`fixed`: the row length is bound with -D, as a model's width is; `dynamic`: one artefact for every length.
Needs nvcc, a CUDA device and PyTorch. Random data; buffers rotate over more than three times the L2;
medians of CUDA-event times; one line per kernel and shape: GB/s counted as each input read once and
each output written once, its ratio to the copy bandwidth measured in the same run, and torch.compile's.
"""
import concurrent.futures
import ctypes
import pathlib
import statistics
import subprocess
import sys

import torch
import torch.nn.functional as F

SHAPES = [(32768, 1024), (8192, 8192), (512, 131072)]
TARGET = "sm_90a"


def chain(x, r, w):
    h = x.float() + r.float()
    s = h * w.float() + 0.5
    return (F.silu(s) * h).to(x.dtype)


CASES = {  # name: (matrices, vectors, PyTorch's version)
    "softmax_bf16": (1, 0, lambda x: F.softmax(x.float(), dim=-1).to(x.dtype)),
    "layer_norm_bf16": (1, 2, lambda x, w, b: F.layer_norm(x, x.shape[-1:], w, b, 1e-5)),
    "rms_norm_bf16": (1, 1, lambda x, w: F.rms_norm(x, x.shape[-1:], w, 1e-6)),
    "chain_bf16": (2, 1, chain),
    "cumsum_bf16": (1, 0, lambda x: torch.cumsum(x.float(), -1).to(x.dtype)),
    "cumsum_reverse_bf16": (1, 0, lambda x: torch.cumsum(x.float().flip(-1), -1).flip(-1).to(x.dtype)),
}


def build(folder, name):
    source, library = folder / f"{name}.{TARGET}.cu", folder / f"{name}.so"
    subprocess.run(["nvcc", "-arch=" + TARGET, "-O3", "-shared", "-Xcompiler", "-fPIC", "-o", library, source], check=True)
    return ctypes.CDLL(str(library.resolve()))


def run_of(library, name, m, n):
    run = getattr(library, f"{name}_{TARGET}_run")
    size = getattr(library, f"{name}_{TARGET}_workspace_bytes")
    size.restype = ctypes.c_size_t
    dims = (ctypes.c_int64 * 2)(m, n)
    workspace = torch.empty(max(1, size(dims)), dtype=torch.uint8, device="cuda")
    stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)

    def call(*tensors):
        args = (ctypes.c_void_p * len(tensors))(*[t.data_ptr() for t in tensors])
        status = run(args, dims, ctypes.c_void_p(workspace.data_ptr()), ctypes.c_size_t(workspace.numel()), stream)
        if status != 0:
            raise RuntimeError(f"{name}: status {status}")

    return call


def median_us(function, sets, rounds=5):
    """Median time of one call in a graph that walks all buffer sets."""
    for s in sets[:2]:
        function(*s)
    torch.cuda.synchronize()
    times = []
    for _ in range(rounds):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(4):
            for s in sets:
                function(*s)
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) * 1e3 / (4 * len(sets)))
    return statistics.median(times)


def main():
    folder = pathlib.Path(sys.argv[1])
    torch.manual_seed(1)
    properties = torch.cuda.get_device_properties(0)
    print(f"{properties.name}, torch {torch.__version__}, CUDA {torch.version.cuda}")
    print(f"{'kernel':17}{'dims':>8}{'shape':>12}{'us':>9}{'GB/s':>8}{'/copy':>7}{'compile us':>12}{'ratio':>7}{'max err':>10}")
    worst = {"fixed": 9.0, "dynamic": 9.0}
    wanted = [(kind, name) for kind in ("dynamic", *(f"n{n}" for _, n in SHAPES)) for name in CASES]
    with concurrent.futures.ThreadPoolExecutor() as pool:
        libraries = dict(zip(wanted, pool.map(lambda w: build(folder / w[0], w[1]), wanted)))
    for m, n in SHAPES:
        count = max(3, int(3 * 60e6 / (m * n * 2)) + 1) + 1
        new = lambda *shape: torch.randn(*shape, device="cuda").to(torch.bfloat16)
        pairs = [(new(m, n), new(m, n)) for _ in range(count)]
        copy_us = median_us(lambda a, b: b.copy_(a), pairs)
        copy = 2 * m * n * 2 / copy_us / 1e3
        print(f"{'copy':25}{f'{m}x{n}':>12}{copy_us:9.1f}{copy:8.0f}{1:7.2f}")
        for name, (matrices, vectors, reference) in CASES.items():
            sets = []
            for _ in range(count):
                inputs = [new(m, n) for _ in range(matrices)] + [new(n) for _ in range(vectors)]
                sets.append((*inputs, torch.full((m, n), float("nan"), device="cuda", dtype=torch.bfloat16)))
            compiled = torch.compile(reference, dynamic=False)
            other = median_us(lambda *s: compiled(*s[:-1]), sets)
            expected = reference(*[t.float() for t in sets[0][:-1]])
            for form, folder_name in (("fixed", f"n{n}"), ("dynamic", "dynamic")):
                call = run_of(libraries[folder_name, name], name, m, n)
                for s in sets:
                    s[-1].fill_(float("nan"))
                    call(*s)
                error = ((sets[0][-1].float() - expected).abs().max() / expected.abs().max()).item()
                us = median_us(call, sets)
                rate = (matrices + 1) * m * n * 2 / us / 1e3
                worst[form] = min(worst[form], rate / copy)
                print(f"{name:17}{form:>8}{f'{m}x{n}':>12}{us:9.1f}{rate:8.0f}{rate / copy:7.2f}{other:12.1f}{other / us:7.2f}{error:10.1e}")
    print(f"least share of the copy bandwidth: fixed {worst['fixed']:.2f}, dynamic {worst['dynamic']:.2f}")


if __name__ == "__main__":
    main()
