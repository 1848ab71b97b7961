#!/usr/bin/env python3
"""specs/mlp.spec and specs/lstm.spec on a device, beside what else would be used for the same, side by side in one run.

    for f in mlp lstm; do tangc specs/$f.spec -t sm_80 -d DIR; done
    python3 scripts/bench/specs/fused.py DIR [--target sm_90a] [--copies N] [mlp] [lstm]

f16. Beside the layers: per layer F.linear and relu_, and torch._addmm_activation, which is cuBLASLt with bias and ReLU as
its epilogue. Beside the step: torch.nn.LSTMCell, and torch.nn.LSTM over one step, which is cuDNN. Each is captured in a
CUDA graph of one call for each set of operands; sets, weights too, rotate over more than three times the L2 (--copies=1: one
set, which the caches keep); medians of CUDA-event times over 30 replays. Errors are relative to the largest value of a float64
computation of the same inputs; outputs are filled with NaN before. Needs nvcc, a CUDA device and PyTorch.
"""
import argparse
import ctypes
import pathlib
import statistics
import subprocess

import torch
import torch.nn.functional as F

L2_SHARE, MOST_COPIES = 3.2, 128
# M, L: compared only, and timed.
MLP_ODD = [(1, 1), (1, 20), (17, 3), (129, 2), (8448, 2), (8449, 3)]
MLP_SIZES = [(128, 20), (1024, 20), (4096, 2), (4096, 5), (4096, 10), (4096, 20), (8192, 20), (16384, 20), (65536, 2), (65536, 20)]
# B, I, H
LSTM_ODD = [(1, 8, 8), (17, 200, 24), (129, 40, 72), (513, 520, 1000)]
LSTM_SIZES = [(64, 512, 512), (128, 512, 512), (128, 1024, 1024), (256, 512, 512), (256, 1024, 1024), (512, 512, 512),
              (512, 1024, 1024), (1024, 512, 512), (1024, 1024, 1024), (4096, 512, 512), (4096, 1024, 1024)]


class Kernel:
    def __init__(self, folder, name, target):
        library = folder / f"{name}.{target}.so"
        major, minor = torch.cuda.get_device_capability()
        # Code of an older generation is translated for this device here, not by its driver.
        here = [f"-arch={target}"] if target.endswith("a") else ["-gencode", f"arch=compute_{target[3:]},code=sm_{major}{minor}"]
        subprocess.run(["nvcc", *here, "-O3", "-shared", "-Xcompiler", "-fPIC", "-o", library,
                        folder / f"{name}.{target}.cu"], check=True)
        self.name, self.run = name, getattr(ctypes.CDLL(str(library.resolve())), f"{name}_{target}_run")

    def call(self, dims, tensors):
        args = (ctypes.c_void_p * len(tensors))(*[t.data_ptr() for t in tensors])
        values = (ctypes.c_int64 * len(dims))(*dims)

        def function(keep=tensors):
            stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
            status = self.run(args, values, None, ctypes.c_size_t(0), stream)
            if status != 0:
                raise RuntimeError(f"{self.name} {dims}: status {status}")

        return function


def graph_us(functions):
    """One call, the mean over the functions; the median over replays."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for function in functions[:2]:
            function()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for function in functions:
            function()
    for _ in range(3):
        graph.replay()
    torch.cuda.synchronize()
    times = []
    for _ in range(30):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) * 1e3 / len(functions))
    return statistics.median(times)


def time_or_reason(functions):
    try:
        return graph_us(functions)
    except (RuntimeError, AttributeError) as error:
        torch.cuda.synchronize()
        print(f"  not measured: {str(error).splitlines()[0]}")
        return float("nan")


def error_of(got, exact):
    return ((got.double() - exact).abs().max() / exact.abs().max()).item()


def copies_of(one_set, asked):
    size = sum(t.numel() * t.element_size() for t in one_set)
    l2 = torch.cuda.get_device_properties(0).L2_cache_size
    return asked or min(MOST_COPIES, max(2, int(L2_SHARE * l2 / size) + 1))


def layers(m, l):
    """Weights that keep the size of what they multiply: 128 terms of which ReLU left half."""
    x = torch.randn(m, 128, device="cuda", dtype=torch.float16)
    w = (torch.randn(l, 128, 128, device="cuda") * (2 / 128) ** 0.5).half()
    b = (torch.randn(l, 128, device="cuda") * 0.1).half()
    return x, w, b


def layers_exactly(x, w, b):
    y = x.double()
    for weight, bias in zip(w.double(), b.double()):
        y = torch.relu(y @ weight.T + bias)
    return y


def linear_chain(x, w, b):
    for weight, bias in zip(w, b):
        x = F.linear(x, weight, bias).relu_()
    return x


def epilogue_chain(x, w, b):
    for weight, bias in zip(w, b):
        x = torch._addmm_activation(bias, x, weight.T, use_gelu=False)
    return x


def mlp(kernel, asked):
    print("\nmlp: L layers of 128 wide\n      M   L  copies  error     (chain)   ours us  linear+relu us  addmm_activation us  ratios")
    for m, l in MLP_ODD + MLP_SIZES:
        timed = (m, l) not in MLP_ODD
        x, w, b = layers(m, l)
        y = torch.full_like(x, float("nan"))
        kernel.call((m, l), (x, w, b.float(), y))()
        torch.cuda.synchronize()
        exact = layers_exactly(x, w, b)
        errors = f"{m:7} {l:3} {{:7}}  {error_of(y, exact):.1e}  {error_of(linear_chain(x, w, b), exact):.1e}"
        if not timed:
            print(errors.format(""), flush=True)
            continue
        sets = [(x, w, b)]
        sets += [layers(m, l) for _ in range(copies_of((x, w, b, y), asked) - 1)]
        wide = [(x, w, b.float(), torch.empty_like(x)) for x, w, b in sets]
        ours = graph_us([kernel.call((m, l), s) for s in wide])
        plain = time_or_reason([lambda s=s: linear_chain(*s) for s in sets])
        fused = time_or_reason([lambda s=s: epilogue_chain(*s) for s in sets])
        print(f"{errors.format(len(sets))}  {ours:8.1f}  {plain:14.1f}  {fused:19.1f}  {plain / ours:.2f} {fused / ours:.2f}", flush=True)


class Step:
    def __init__(self, batch, inputs, hidden):
        self.dims = batch, inputs, hidden
        self.cell = torch.nn.LSTMCell(inputs, hidden, device="cuda", dtype=torch.float16)
        self.x = torch.randn(batch, inputs, device="cuda", dtype=torch.float16)
        self.h, self.c = (torch.randn(2, batch, hidden, device="cuda") * 0.5).half()
        self.bias = (self.cell.bias_ih.float() + self.cell.bias_hh.float()).contiguous()
        self.h1, self.c1 = (torch.full_like(self.h, float("nan")) for _ in range(2))

    def arguments(self):
        return [self.x, self.h, self.c, self.cell.weight_ih, self.cell.weight_hh, self.bias, self.h1, self.c1]

    def exactly(self):
        z = self.x.double() @ self.cell.weight_ih.double().T + self.h.double() @ self.cell.weight_hh.double().T + self.bias.double()
        i, f, g, o = z.chunk(4, 1)
        c1 = torch.sigmoid(f) * self.c.double() + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(c1), c1

    def cell_call(self):
        return self.cell(self.x, (self.h, self.c))

    def sequence_call(self):
        """cuDNN's step, of the same weights."""
        net = torch.nn.LSTM(self.cell.input_size, self.cell.hidden_size, device="cuda", dtype=torch.float16)
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
            getattr(net, f"{name}_l0").copy_(getattr(self.cell, name))
        net.eval().flatten_parameters()
        return lambda: net(self.x[None], (self.h[None], self.c[None]))


def lstm(kernel, asked):
    print("\nlstm: a step\n      B     I     H  copies  error h  error c  (cell)    ours us  LSTMCell us  cuDNN us  ratios")
    for dims in LSTM_ODD + LSTM_SIZES:
        step = Step(*dims)
        kernel.call(dims, step.arguments())()
        torch.cuda.synchronize()
        h1, c1 = step.exactly()
        theirs = max(error_of(got, exact) for got, exact in zip(step.cell_call(), (h1, c1)))
        errors = f"{dims[0]:7} {dims[1]:5} {dims[2]:5} {{:7}}  {error_of(step.h1, h1):.1e}  {error_of(step.c1, c1):.1e}  {theirs:.1e}"
        if dims in LSTM_ODD:
            print(errors.format(""), flush=True)
            continue
        steps = [step] + [Step(*dims) for _ in range(copies_of(step.arguments(), asked) - 1)]
        ours = graph_us([kernel.call(dims, s.arguments()) for s in steps])
        cell = time_or_reason([s.cell_call for s in steps])
        cudnn = time_or_reason([s.sequence_call() for s in steps])
        print(f"{errors.format(len(steps))}  {ours:8.1f}  {cell:11.1f}  {cudnn:8.1f}  {cell / ours:.2f} {cudnn / ours:.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--target", default="sm_80")
    parser.add_argument("--copies", type=int)
    parser.add_argument("names", nargs="*")
    options = parser.parse_intermixed_args()
    torch.manual_seed(1)
    print(f"{torch.cuda.get_device_properties(0).name}, torch {torch.__version__}, CUDA {torch.version.cuda}, code of {options.target}")
    benches = {"mlp": mlp, "lstm": lstm}
    for name in options.names or benches:
        with torch.no_grad():
            benches[name](Kernel(options.folder, name, options.target), options.copies)


if __name__ == "__main__":
    main()
