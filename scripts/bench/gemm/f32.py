#!/usr/bin/env python3
"""Matrix products of f32 beside cuBLAS: as f32, as one tf32 product, and as three of tf32 or bf16 (the law split_precision).

    python3 scripts/bench/gemm/f32.py gen TANGC DIR     # writes sources, where tangc is
    python3 scripts/bench/gemm/f32.py run DIR [MxNxK...] # compiles them unless it was done, and measures

Random normal f32 data; operands rotate over more than three times the L2; medians of CUDA-event times. `IEEE` and `TF32`
are the ratios of cuBLAS's time, without and with `allow_tf32`, over ours: above 1 we are faster. Errors are relative to the
largest value of a float64 product. Sizes in SPECIALIZED may run in parts. Running needs nvcc, a CUDA device and PyTorch; folders may be copied in between.
"""
import concurrent.futures
import ctypes
import pathlib
import subprocess
import sys

TARGET = "sm_80"
DEVICE = "h200"
SHAPES = ["1024x1024x1024", "2048x2048x2048", "4096x4096x4096", "8192x8192x8192", "256x4096x4096", "128x128x4096",
          "64x4096x4096", "4100x4092x4096", "2049x2047x2049", "4095x4097x4095"]
SPECIALIZED = "M=256,N=4096,K=4096;M=128,N=128,K=4096"
NAMES = ["gemm_f32_nn", "gemm_f32_nt"]
WAYS = {"f32": [], "tf32": ["--allow-tf32"], "tf32x3": ["--error-budget=1e-5"], "bf16x3": ["--error-budget=1e-4"]}


def generate(tangc, folder):
    here = pathlib.Path(__file__).resolve().parent
    for way, options in WAYS.items():
        (folder / way).mkdir(parents=True, exist_ok=True)
        for name in NAMES:
            subprocess.run([tangc, here / f"{name}.tg", "--target", f"{TARGET}:{DEVICE}", "-d", folder / way,
                            f"--specialize={SPECIALIZED}", *options],
                           check=True)


def build(folder, way, name):
    source, library = folder / way / f"{name}.{TARGET}.cu", folder / way / f"{name}.so"
    if not library.exists() or library.stat().st_mtime < source.stat().st_mtime:
        subprocess.run(["nvcc", "-arch=" + TARGET, "-O3", "-shared", "-Xcompiler", "-fPIC", "-o", library, source], check=True)
    return library


def measure(torch, run, libraries, shape):
    m, n, k = shape
    count = max(3, int(200e6 / (4 * (m * k + k * n + m * n))))
    for name in NAMES:
        transposed = name.endswith("nt")
        sets = [(torch.randn(m, k, device="cuda"), torch.randn(*((n, k) if transposed else (k, n)), device="cuda"),
                 torch.full((m, n), float("nan"), device="cuda")) for _ in range(count)]
        product = lambda a, b: torch.matmul(a, b.t() if transposed else b)
        expected = product(sets[0][0].double(), sets[0][1].double())
        largest = expected.abs().max()

        def line(way, us, result, ieee=None, tf32=None):
            error = ((result.double() - expected).abs().max() / largest).item()
            ratios = "".join(f"{other / us:7.2f}" if other else " " * 7 for other in (ieee, tf32))
            print(f"{'x'.join(map(str, shape)):>18}{name:>13}{way:>13}{us:10.1f}{2e-6 * m * n * k / us:9.1f}{ratios}{error:10.1e}",
                  flush=True)

        peers = {}
        for peer, allowed in ("cuBLAS IEEE", False), ("cuBLAS TF32", True):
            torch.backends.cuda.matmul.allow_tf32 = allowed
            out = torch.empty(m, n, device="cuda")
            peers[peer] = run.median_us(lambda a, b, _: torch.matmul(a, b.t() if transposed else b, out=out), sets)
            line(peer, peers[peer], product(*sets[0][:2]))
        torch.backends.cuda.matmul.allow_tf32 = False
        for way in WAYS:
            for s in sets:
                s[2].fill_(float("nan"))
            us = run.median_us(run.launcher(libraries[way, name], name, shape), sets)
            line(way, us, sets[0][2], peers["cuBLAS IEEE"], peers["cuBLAS TF32"])


def main():
    verb, rest = sys.argv[1], sys.argv[2:]
    if verb == "gen":
        return generate(rest[0], pathlib.Path(rest[1]))
    import torch

    import run

    folder = pathlib.Path(rest[0])
    shapes = [tuple(map(int, s.split("x"))) for s in (rest[1:] or SHAPES)]
    torch.manual_seed(1)
    print(f"{torch.cuda.get_device_properties(0).name}, torch {torch.__version__}, CUDA {torch.version.cuda}")
    pairs = [(way, name) for way in WAYS for name in NAMES]
    with concurrent.futures.ThreadPoolExecutor() as pool:
        paths = list(pool.map(lambda pair: build(folder, *pair), pairs))
    libraries = {pair: ctypes.CDLL(str(path.resolve())) for pair, path in zip(pairs, paths)}
    print(f"{'shape':>18}{'kernel':>13}{'way':>13}{'us':>10}{'TFLOP/s':>9}{'IEEE':>7}{'TF32':>7}{'max err':>10}")
    for shape in shapes:
        measure(torch, run, libraries, shape)


if __name__ == "__main__":
    main()
