#!/usr/bin/env python3
"""Matrix products beside cuBLAS, side by side in one run.

    for f in scripts/bench/gemm/gemm_[ntg]*.tg; do
      tangc $f --target sm_80:h200 --specialize='M=128,N=4096,K=4096;M=256,N=256,K=65536' -d DIR; done
    python3 scripts/bench/gemm/run.py DIR [MxNxK...]

Random bf16 data (f32.py has products of f32); operands rotate over more than three times the L2; medians of CUDA-event times. `ratio` is cuBLAS's
time over ours. `gemm_gelu` is compared with the plain product of cuBLAS, and its cost over our own plain product is
shown. Errors are relative to the largest value of a float32 product. Sizes that `--specialize` names may run in parts. Needs nvcc, a CUDA device and PyTorch.
"""
import concurrent.futures
import ctypes
import pathlib
import statistics
import subprocess
import sys

import torch
import torch.nn.functional as F

TARGET = "sm_80"
SHAPES = ["1024x1024x1024", "2048x2048x2048", "4096x4096x4096", "8192x8192x8192", "128x4096x4096", "512x2304x768",
          "4096x12288x4096", "256x256x65536", "4097x4095x4096", "2049x2047x2049"]
NAMES = ["gemm_nn", "gemm_nt", "gemm_tn", "gemm_tt", "gemm_gelu"]


def build(folder, name):
    source, library = folder / f"{name}.{TARGET}.cu", folder / f"{name}.so"
    subprocess.run(["nvcc", "-arch=" + TARGET, "-O3", "-shared", "-Xcompiler", "-fPIC", "-o", library, source], check=True)
    return ctypes.CDLL(str(library.resolve()))


def launcher(library, name, dims):
    run = getattr(library, f"{name}_{TARGET}_run")
    size = getattr(library, f"{name}_{TARGET}_workspace_bytes")
    size.restype = ctypes.c_size_t
    values = (ctypes.c_int64 * 3)(*dims)
    workspace = torch.full((max(1, size(values)),), 255, dtype=torch.uint8, device="cuda")
    stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)

    def call(*tensors):
        args = (ctypes.c_void_p * len(tensors))(*[t.data_ptr() for t in tensors])
        status = run(args, values, ctypes.c_void_p(workspace.data_ptr()), ctypes.c_size_t(workspace.numel()), stream)
        if status != 0:
            raise RuntimeError(f"{name}: status {status}")

    return call


def median_us(function, sets, rounds=7):
    for s in sets[:2]:
        function(*s)
    torch.cuda.synchronize()
    times = []
    for _ in range(rounds):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for s in sets:
            function(*s)
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) * 1e3 / len(sets))
    return statistics.median(times)


def main():
    folder = pathlib.Path(sys.argv[1])
    shapes = [tuple(map(int, s.split("x"))) for s in (sys.argv[2:] or SHAPES)]
    torch.manual_seed(1)
    print(f"{torch.cuda.get_device_properties(0).name}, torch {torch.__version__}, CUDA {torch.version.cuda}")
    with concurrent.futures.ThreadPoolExecutor() as pool:
        libraries = dict(zip(NAMES, pool.map(lambda n: build(folder, n), NAMES)))
    print(f"{'shape':>18}{'kernel':>11}{'us':>10}{'TFLOP/s':>9}{'cuBLAS us':>11}{'ratio':>7}{'/plain':>8}{'max err':>10}")
    for m, n, k in shapes:
        count = max(3, int(200e6 / (2 * (m * k + k * n + m * n))))
        new = lambda *shape: torch.randn(*shape, device="cuda").to(torch.bfloat16)
        plain = None
        for name in NAMES:
            ta, tb = (name[5] == "t", name[6] == "t") if name != "gemm_gelu" else (False, False)
            sets = []
            for _ in range(count):
                inputs = [new(k, m) if ta else new(m, k), new(n, k) if tb else new(k, n)]
                if name == "gemm_gelu":
                    inputs.append(new(n))
                sets.append((*inputs, torch.full((m, n), float("nan"), device="cuda", dtype=torch.bfloat16)))
            out = torch.empty(m, n, device="cuda", dtype=torch.bfloat16)
            other = median_us(lambda a, b, *_: torch.matmul(a.t() if ta else a, b.t() if tb else b, out=out), sets)
            call = launcher(libraries[name], name, (m, n, k))
            us = median_us(call, sets)
            a, b = sets[0][0].float(), sets[0][1].float()
            expected = (a.t() if ta else a) @ (b.t() if tb else b)
            if name == "gemm_gelu":
                expected = F.gelu(expected + sets[0][2].float(), approximate="tanh")
            error = ((sets[0][-1].float() - expected).abs().max() / expected.abs().max()).item()
            plain = us if name == "gemm_nn" else plain
            cost = f"{us / plain:8.2f}" if name == "gemm_gelu" else " " * 8
            print(f"{f'{m}x{n}x{k}':>18}{name:>11}{us:10.1f}{2e-6 * m * n * k / us:9.0f}{other:11.1f}{other / us:7.2f}{cost}{error:10.1e}",
                  flush=True)


if __name__ == "__main__":
    main()
