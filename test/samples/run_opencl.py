#!/usr/bin/env python3
"""The samples on an OpenCL device: PoCL on the processor, or whatever stands first.

  run_opencl.py --tangc PATH [--jobs N] [--cache DIR] [SAMPLE...]

For each sample the code for run-time sizes at -O2 is built once and run on all cases, and on odd sizes where SIZES has
some. Those in NAIVE and BOUND also run their first case at -O0, and bound with -D. Every build must be free of warnings, by the device's compiler and by
clang where that is installed. Outputs and workspace are full of NaN bytes with guards behind them, results must agree
with numpy (expect.py), inputs stay as they are, and a second run gives the same bits. Then every code of the short float
formats goes through the device and through C, bit by bit. Exit 77 without a device, a C compiler or the headers.
"""
import argparse
import concurrent.futures
import ctypes
import ctypes.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import expect  # noqa: E402
import run_gpu  # noqa: E402
import run_samples  # noqa: E402
from run_samples import Case, Failure, Library  # noqa: E402
from storage import decode, encode, size_of  # noqa: E402

HOST = ["-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-pedantic", "-shared", "-fPIC"]
# Every sample's own code is checked; the header of all built-in functions is the compiler's.
CLANG = ["-x", "cl", "-cl-std=CL1.2", "-Xclang", "-finclude-default-header", "-target", "spir64", "-Wall", "-Wextra",
         "-Werror", "-fsyntax-only"]
EDGES = (0, 1, 2, 3, 17, 127, 129)
SIZES = {
    "matmul": [{"M": n, "N": m, "K": k} for n, m, k in zip(EDGES, EDGES[1:] + EDGES[:1], EDGES[2:] + EDGES[:2])],
    "softmax": [{"M": 3, "N": n} for n in EDGES],
    "attention": [{"B": 1, "H": 2, "Sq": n, "Sk": m} for n, m in zip(EDGES[1:], EDGES[2:] + EDGES[1:2])],
    "conv2d": [{"N": 1, "C": 2, "K": 3, "OH": n, "OW": m} for n, m in zip(EDGES[1:], EDGES[2:] + EDGES[1:2])],
}
NAIVE = ("matmul", "softmax", "attention", "conv2d", "layer_norm", "train_step", "lstm_sequence", "moe", "kmeans_step")
BOUND = ("matmul", "softmax", "attention", "conv2d", "layer_norm")
GUARD = run_gpu.GUARD
FORMATS = """tg 1
graph formats
dim n in 0..1048576
input x : f32[n]
input h : f16[65536]
input b : bf16[65536]
input e4 : f8e4m3[256]
input e5 : f8e5m2[256]
xh[i] = x[i]
xb[i] = x[i]
x4[i] = x[i]
x5[i] = x[i]
hx[i] = h[i]
bx[i] = b[i]
ex[i] = e4[i]
fx[i] = e5[i]
output xh : f16[n]
output xb : bf16[n]
output x4 : f8e4m3[n]
output x5 : f8e5m2[n]
output hx : f32[65536]
output bx : f32[65536]
output ex : f32[256]
output fx : f32[256]
"""


class Device:
    """The few calls of OpenCL that a test needs; the interface of run_gpu.Device."""

    def __init__(self):
        name = ctypes.util.find_library("OpenCL")
        if not name:
            raise SystemExit(77)
        self.cl = cl = ctypes.CDLL(name)
        for function in ("clCreateContext", "clCreateCommandQueue", "clCreateBuffer"):
            cl[function].restype = ctypes.c_void_p
        platform, self.device, error = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int(0)
        if cl.clGetPlatformIDs(1, ctypes.byref(platform), None) != 0:
            raise SystemExit(77)
        everything = ctypes.c_ulong(0xFFFFFFFF)
        if cl.clGetDeviceIDs(platform, everything, 1, ctypes.byref(self.device), None) != 0:
            raise SystemExit(77)
        self.context = ctypes.c_void_p(cl.clCreateContext(None, 1, ctypes.byref(self.device), None, None, ctypes.byref(error)))
        self.check(error.value, "clCreateContext")
        self.queue = ctypes.c_void_p(cl.clCreateCommandQueue(self.context, self.device, ctypes.c_ulong(0), ctypes.byref(error)))
        self.check(error.value, "clCreateCommandQueue")

    def check(self, status, what):
        if status != 0:
            raise Failure(f"{what}: error {status}")

    def buffer(self, size):
        error = ctypes.c_int(0)
        made = ctypes.c_void_p(self.cl.clCreateBuffer(self.context, ctypes.c_ulong(1), ctypes.c_size_t(size), None,
                                                      ctypes.byref(error)))
        self.check(error.value, "clCreateBuffer")
        return made

    def upload(self, data):
        whole = data + b"\xc3" * GUARD
        made = self.buffer(len(whole))
        self.check(self.cl.clEnqueueWriteBuffer(self.queue, made, 1, ctypes.c_size_t(0), ctypes.c_size_t(len(whole)), whole,
                                                0, None, None), "upload")
        return made

    def download(self, handle, size, name):
        bytes_ = ctypes.create_string_buffer(size + GUARD)
        self.check(self.cl.clEnqueueReadBuffer(self.queue, handle, 1, ctypes.c_size_t(0), ctypes.c_size_t(size + GUARD), bytes_,
                                               0, None, None), f"download of {name}")
        if bytes_.raw[size:] != b"\xc3" * GUARD:
            raise Failure(f"{name}: bytes behind the buffer were written")
        return bytes_.raw[:size]

    def finish(self):
        self.check(self.cl.clFinish(self.queue), "run")

    def free(self, handle):
        self.cl.clReleaseMemObject(handle)

    def log(self, program):
        text, build_log = ctypes.create_string_buffer(4096), ctypes.c_uint(0x1183)
        self.cl.clGetProgramBuildInfo(program, self.device, build_log, ctypes.c_size_t(4095), text, None)
        return text.value.decode(errors="replace").strip()


class Session(Library):
    """A launcher's functions and an open session."""

    def __init__(self, device, header, shared):
        super().__init__(header, "opencl", shared)
        loaded = ctypes.CDLL(str(shared))
        counts = re.findall(r"struct _cl_(?:kernel|mem) \*\w+\[(\d+)\]", header.read_text())
        self.words = (ctypes.c_void_p * (2 + sum(map(int, counts))))()
        self.close = loaded[f"{self.prefix}_opencl_close"]
        status = loaded[f"{self.prefix}_opencl_open"](device.context, device.device, device.queue, self.words)
        log = device.log(ctypes.c_void_p(self.words[1])) if self.words[1] else ""
        if status != 0 or log:
            raise Failure(f"open returned {status}; the build says: {log[:1500]}")

    def end(self):
        self.close(self.words)
        if any(self.words):
            raise Failure("a closed session holds something")


def build(one, device, options, folder):
    """Compiles a case's sample, checks the source, and opens a session."""
    one.generate("opencl", [*options, "--emit=source,header,launcher"], folder)
    stem = one.source.stem
    kernels = folder / f"{stem}.opencl.cl"
    if clang := shutil.which("clang-14") or shutil.which("clang"):
        run_samples.call([clang, *CLANG, kernels], "clang")
    shared = folder / "launcher.so"
    run_samples.call(["cc", *HOST, "-o", shared, folder / f"{stem}.opencl.launcher.c", "-lOpenCL"], "cc")
    return Session(device, folder / f"{stem}.h", shared)


def run(one, device, session, dims, what):
    inputs = {n: encode(t.format, np.asarray(t.value)) for n, t in one.inputs.items()}
    sizes = {n: size_of(t.format, np.shape(t.value)) for n, t in one.outputs.items()}
    first = run_gpu.call(device, session, inputs, sizes, one.over, dims, session.words)
    for name, expected in one.outputs.items():
        run_samples.check(expected, decode(expected.format, first[name], np.shape(expected.value)), f"{what}, {name}")
    if run_gpu.call(device, session, inputs, sizes, one.over, dims, session.words) != first:
        raise Failure(f"{what}: a second run gave other bits")


def run_sample(cases, tangc):
    """All cases of one sample; what failed, one line each."""
    device, failures = Device(), []
    edges = [{**cases[0], "dims": dims, "name": f"{cases[0]['sample']} {dims}"} for dims in SIZES.get(cases[0]["sample"], [])]
    forms = [("O2", ["-O2"], cases + edges)]
    if cases[0]["sample"] in NAIVE:
        forms.append(("O0", ["-O0"], cases[:1]))
    if cases[0]["sample"] in BOUND:
        forms.append(("bound", ["-O2"], cases[:1]))
    for form, options, chosen in forms:
        chosen = [c for c in chosen if options[0] in c.get("levels", options)]
        if not chosen:
            continue
        with tempfile.TemporaryDirectory(prefix="tangc-opencl-") as temporary:
            folder = pathlib.Path(temporary)
            try:
                first = Case(chosen[0], tangc, folder)
                session = build(first, device, [*options, *(first.bindings if form == "bound" else [])], folder)
                for case in chosen:
                    one = first if case is chosen[0] else Case(case, tangc, folder)
                    run(one, device, session, {} if form == "bound" else case["dims"], f"{form} {case['name']}")
                session.end()
            except (Failure, subprocess.TimeoutExpired, OSError, AttributeError) as fault:
                failures.append(f"{chosen[0]['name']} {form}: {fault}")
    return failures


def short_floats():
    """Numbers around every place where rounding to a short format decides, and what is no number."""
    upper = np.arange(1 << 16, dtype=np.uint32) << 16
    lower = np.array([0, 1, 0x7FFF, 0x8000, 0x8001, 0x0FFF, 0x1000, 0x1001, 0x3000, 0xFFFF], np.uint32)
    return (upper[:, None] | lower[None, :]).ravel().view(np.float32)


def is_nan(format, data):
    return np.isnan(decode(format, data, (len(data) * 8 // {"f32": 32, "f16": 16, "bf16": 16}.get(format, 8),)))


def run_formats(tangc):
    """Every code of the short formats, on the device and in C."""
    device = Device()
    x = short_floats()
    codes = np.arange(1 << 16, dtype=np.uint16)
    inputs = {"x": x.tobytes(), "h": codes.tobytes(), "b": codes.tobytes(), "e4": bytes(range(256)), "e5": bytes(range(256))}
    formats = {"xh": ("f16", x.size), "xb": ("bf16", x.size), "x4": ("f8e4m3", x.size), "x5": ("f8e5m2", x.size),
               "hx": ("f32", 65536), "bx": ("f32", 65536), "ex": ("f32", 256), "fx": ("f32", 256)}
    sizes = {n: size_of(f, (count,)) for n, (f, count) in formats.items()}
    with tempfile.TemporaryDirectory(prefix="tangc-opencl-") as temporary:
        folder = pathlib.Path(temporary)
        (folder / "formats.tg").write_text(FORMATS)
        one = argparse.Namespace(source=folder / "formats.tg", generate=lambda target, options, out: run_samples.call(
            [tangc, folder / "formats.tg", "--target", target, *options, "-d", out], "compile"))
        try:
            session = build(one, device, ["-O2"], folder)
            got = run_gpu.call(device, session, inputs, sizes, {}, {"n": x.size}, session.words)
            session.end()
            one.generate("c", ["-O2"], folder / "c")
            run_samples.call(["cc", *HOST, "-O2", "-o", folder / "c.so", folder / "c" / "formats.c.c", "-lm"], "cc")
            wanted = Library(folder / "c" / "formats.h", "c", folder / "c.so").call(inputs, sizes, {}, {"n": x.size})
        except (Failure, OSError) as fault:
            return [f"formats: {fault}"]
    failures = []
    for name, (format, count) in formats.items():
        a, b = (np.frombuffer(data[name], f"u{sizes[name] // count}") for data in (got, wanted))
        wrong = (a != b) & ~(is_nan(format, got[name]) & is_nan(format, wanted[name]))
        if wrong.any():
            at = int(np.argmax(wrong))
            failures.append(f"formats: {int(wrong.sum())} codes of {name} differ, first element {at}: {a[at]:#x}, in C {b[at]:#x}")
    return failures


def run_alone(name, tangc):
    """A sample in a process of its own, so that a crash of generated code is a failure like any other."""
    done = subprocess.run([sys.executable, __file__, "--tangc", tangc, "--alone", name], capture_output=True, text=True)
    for line in reversed(done.stdout.splitlines()):
        if done.returncode in (0, 1) and line.startswith("["):
            return name, json.loads(line)
    if done.returncode == 77:
        return name, None
    return name, [f"{name}: stopped with {done.returncode}: {done.stderr.strip()[-1500:]}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tangc", required=True)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--cache", type=pathlib.Path, help="where PoCL keeps what it built")
    parser.add_argument("--alone", action="store_true", help="one sample in this process; prints its failures as JSON")
    parser.add_argument("samples", nargs="*")
    options = parser.parse_args()
    samples = {}
    for case in expect.cases().values():
        samples.setdefault(case["sample"], []).append(case)
    names = options.samples or [*samples, "formats"]
    if unknown := [n for n in names if n not in samples and n != "formats"]:
        sys.exit(f"run_opencl.py: no sample {', '.join(unknown)}")
    if options.cache:
        options.cache.mkdir(parents=True, exist_ok=True)
        os.environ["POCL_CACHE_DIR"] = str(options.cache.resolve())
    tangc = str(pathlib.Path(options.tangc).resolve())
    if options.alone:
        failures = run_formats(tangc) if names[0] == "formats" else run_sample(samples[names[0]], tangc)
        print(json.dumps(failures))
        return 1 if failures else 0
    header = subprocess.run(["cc", "-xc", "-E", "-include", "CL/cl.h", "/dev/null"], capture_output=True)
    if header.returncode != 0:
        print("skipped: no C compiler with the OpenCL headers is installed")
        return 77
    failures, failed = [], 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for name, found in pool.map(lambda n: run_alone(n, tangc), names):
            if found is None:
                print("skipped: no OpenCL device")
                return 77
            print(f"{'FAIL' if found else 'ok'} {name}", flush=True)
            failures += found
            failed += bool(found)
    print("\n".join(failures))
    print(f"{len(names)} samples, {failed} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
