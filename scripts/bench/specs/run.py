#!/usr/bin/env python3
"""The kernels of specs/ on a device, beside PyTorch: errors and times, side by side in one run.

    for f in specs/*.spec; do tangc $f -t sm_80 -d DIR; done
    python3 scripts/bench/specs/run.py DIR

Outputs are filled with NaN before. Errors are relative to the largest value of a float64 computation of the same
rounded inputs. Odd sizes are only compared, the last size of each kernel is timed too (medians of CUDA-event times).
Needs nvcc, a CUDA device and PyTorch.
"""
import ctypes
import pathlib
import statistics
import subprocess
import sys

import torch
import torch.nn.functional as F

TARGET = "sm_80"


def matrices(m, n, k):
    new = lambda *shape: torch.randn(*shape, device="cuda").to(torch.bfloat16)
    return [new(m, k), new(k, n)]


def rows(m, n):
    new = lambda *shape: torch.randn(*shape, device="cuda").to(torch.bfloat16)
    return [new(m, n), new(n), new(n)]


def heads(b, h, sq, sk):
    new = lambda s: torch.randn(b, s, h, 64, device="cuda", dtype=torch.float16)
    return [new(sq), new(sk), new(sk)]


def attend(q, k, v):
    turned = [t.transpose(1, 2) for t in (q, k, v)]
    return F.scaled_dot_product_attention(*turned).transpose(1, 2)


# name: inputs of dims, what PyTorch computes, the output's shape, sizes
KERNELS = {
    "gemm": (matrices, torch.matmul, lambda m, n, k: (m, n), [(1, 8, 8), (127, 136, 40), (4096, 4096, 4096)]),
    "gemm_bias_relu": (lambda m, n, k: [*matrices(m, n, k), torch.randn(n, device="cuda")],
                       lambda a, b, c: torch.relu(torch.matmul(a, b) + c.to(a.dtype)), lambda m, n, k: (m, n),
                       [(3, 8, 16), (129, 264, 72), (4096, 4096, 4096)]),
    "layer_norm": (rows, lambda x, w, b: F.layer_norm(x, x.shape[-1:], w, b, 1e-5), lambda m, n: (m, n),
                   [(1, 8), (17, 200), (32768, 1024)]),
    "attention": (heads, attend, lambda b, h, sq, sk: (b, sq, h, 64), [(1, 1, 1, 1), (2, 3, 127, 129), (1, 16, 4096, 4096)]),
}


def median_us(function):
    function()
    torch.cuda.synchronize()
    times = []
    for _ in range(15):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        function()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) * 1e3)
    return statistics.median(times)


def main():
    folder = pathlib.Path(sys.argv[1])
    torch.manual_seed(1)
    print(f"{torch.cuda.get_device_properties(0).name}, torch {torch.__version__}, CUDA {torch.version.cuda}")
    for name, (inputs_of, torch_of, shape_of, sizes) in KERNELS.items():
        library = folder / f"{name}.so"
        subprocess.run(["nvcc", f"-arch={TARGET}", "-O3", "-shared", "-Xcompiler", "-fPIC", "-o", library,
                        folder / f"{name}.{TARGET}.cu"], check=True)
        code = ctypes.CDLL(str(library.resolve()))
        run = getattr(code, f"{name}_{TARGET}_run")
        for dims in sizes:
            inputs = inputs_of(*dims)
            output = torch.full(shape_of(*dims), float("nan"), device="cuda", dtype=inputs[0].dtype)
            args = (ctypes.c_void_p * (len(inputs) + 1))(*[t.data_ptr() for t in (*inputs, output)])
            values = (ctypes.c_int64 * len(dims))(*dims)
            stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)

            def call():
                status = run(args, values, None, ctypes.c_size_t(0), stream)
                if status != 0:
                    raise RuntimeError(f"{name}: status {status}")

            call()
            small = dims != sizes[-1]
            expected = torch_of(*[t.double() if small else t.float() for t in inputs]).double()
            error = ((output.double() - expected).abs().max() / expected.abs().max()).item()
            line = f"{name:>15} {'x'.join(map(str, dims)):>18} error {error:.1e}"
            if not small:
                ours, other = median_us(call), median_us(lambda: torch_of(*inputs))
                line += f"  {ours:.1f} us, PyTorch {other:.1f} us, ratio {other / ours:.2f}"
            print(line, flush=True)


if __name__ == "__main__":
    main()
