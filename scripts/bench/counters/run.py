#!/usr/bin/env python3
"""The simulator's counters beside the hardware's, for three kernels.

    for f in gemm/gemm_nn attention/attention memory_bound/softmax_bf16; do
      tangc scripts/bench/$f.tg --target sm_90a -d DIR; done
    python3 scripts/bench/counters/run.py DIR        profiles each launch with ncu and prints the counters
    simulate_file scripts/bench/gemm/gemm_nn.tg sm_90a -D M=136 -D N=200 -D K=264 --counts     what to compare with

Needs nvcc, ncu and a CUDA device whose counters may be read.
"""
import csv
import ctypes
import io
import pathlib
import subprocess
import sys

import numpy as np

TARGET = "sm_90a"
# name: dims in the program's order, elements of each argument (2 bytes each), and what stands in front of them.
CASES = {
    "gemm_nn": ((136, 200, 264), (136 * 264, 264 * 200, 136 * 200)),
    "attention": ((1, 2, 200), (2 * 200 * 64,) * 4),
    "softmax_bf16": ((33, 1000), (33 * 1000,) * 2),
}
METRICS = ("regex:^(l1tex__t_sectors_pipe_lsu_mem_global_op_(ld|st|ldgsts.*)|"
           "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.*|l1tex__data_pipe_lsu_wavefronts_mem_shared.*|"
           "lts__t_sectors_srcunit_tex_op_(read|write)|smsp?__inst_executed_pipe_tensor.*)\\.sum$")


def launch(folder, name):
    """One launch on random bits that are no NaN: what ncu looks at."""
    dims, sizes = CASES[name]
    runtime = ctypes.CDLL("libcudart.so")
    library = ctypes.CDLL(str((folder / f"{name}.so").resolve()))
    rng = np.random.default_rng(1)
    pointers = []
    for size in sizes:
        pointer, data = ctypes.c_void_p(), (rng.integers(0, 256, size) + 0x3c00).astype(np.uint16)
        assert runtime.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(2 * size)) == 0
        assert runtime.cudaMemcpy(pointer, data.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(2 * size), 1) == 0
        pointers.append(pointer)
    args = (ctypes.c_void_p * len(pointers))(*pointers)
    values = (ctypes.c_int64 * len(dims))(*dims)
    status = getattr(library, f"{name}_{TARGET}_run")(args, values, None, ctypes.c_size_t(0), None)
    assert status == 0 and runtime.cudaDeviceSynchronize() == 0, status


def main():
    folder = pathlib.Path(sys.argv[1])
    if len(sys.argv) > 2:
        return launch(folder, sys.argv[2])
    for name in CASES:
        subprocess.run(["nvcc", f"-arch={TARGET}", "-O3", "-shared", "-cudart", "shared", "-Xcompiler", "-fPIC", "-o",
                        folder / f"{name}.so", folder / f"{name}.{TARGET}.cu"], check=True)
        done = subprocess.run(["ncu", "--clock-control", "none", "--csv", "--metrics", METRICS, sys.executable, __file__,
                               folder, name], capture_output=True, text=True)
        print(f"{name} {CASES[name][0]}")
        lines = [line for line in done.stdout.splitlines() if line.startswith('"')]
        for row in csv.DictReader(io.StringIO("\n".join(lines))):
            if row["Metric Value"] not in ("0", ""):
                print(f"  {row['Metric Name']}: {row['Metric Value']}")
        if not lines:
            print(done.stdout[-2000:], done.stderr[-2000:])


if __name__ == "__main__":
    main()
