#!/usr/bin/env python3
"""The samples on a CUDA device, in steps that may run on different machines.

  run_gpu.py generate --tangc PATH --target sm_90a DIR   writes each case's sources at -O0, -O2, and -O2 bound with -D
  run_gpu.py compile --target sm_90a DIR                 nvcc, warnings as errors, into shared objects
  run_gpu.py run --target sm_90a DIR [CASE...]           runs them against numpy: NaN-filled outputs and workspace,
                                                         guards behind every buffer, the same bits twice
  run_gpu.py check --tangc PATH --target sm_80,sm_90a DIR   generate and compile for several targets

--form keeps one form, --one-per-sample one case of each sample. `compile` needs nvcc; `run` needs a device and the CUDA runtime. Exit 77 where they are missing.
"""
import argparse
import concurrent.futures
import ctypes
import pathlib
import shutil
import subprocess
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import expect  # noqa: E402
import run_samples  # noqa: E402
from run_samples import Case, Failure, Library  # noqa: E402
from storage import decode, encode, size_of  # noqa: E402

GUARD = 256
FORMS = {"O0": ["-O0"], "O2": ["-O2"], "bound": ["-O2"]}
FLAGS = ["-O2", "-Werror", "all-warnings", "-shared", "-cudart", "shared", "-Xcompiler", "-fPIC"]
DEVICE = ["-Werror", "all-warnings", "-cubin"]
# Code that is only to be accepted need not be optimised.
FAST = ["-Xcicc", "-O0", "-Xptxas", "-O0"]


def nvcc():
    return shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")


class Device:
    """The few calls of the CUDA runtime that a test needs."""

    def __init__(self):
        candidates = ["libcudart.so", *sorted(map(str, pathlib.Path("/usr/local/cuda/lib64").glob("libcudart.so*")))]
        self.runtime = None
        for name in candidates:
            try:
                self.runtime = ctypes.CDLL(name)
                break
            except OSError:
                continue
        count = ctypes.c_int(0)
        if self.runtime is None or self.runtime.cudaGetDeviceCount(ctypes.byref(count)) != 0 or count.value == 0:
            raise SystemExit(77)

    def check(self, status, what):
        if status != 0:
            self.runtime.cudaGetErrorString.restype = ctypes.c_char_p
            raise Failure(f"{what}: {self.runtime.cudaGetErrorString(status).decode()}")

    def upload(self, data):
        """Device memory that holds `data`, with guard bytes behind it."""
        pointer = ctypes.c_void_p()
        whole = data + b"\xc3" * GUARD
        self.check(self.runtime.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(len(whole))), "cudaMalloc")
        self.check(self.runtime.cudaMemcpy(pointer, whole, ctypes.c_size_t(len(whole)), 1), "upload")
        return pointer

    def finish(self):
        self.check(self.runtime.cudaDeviceSynchronize(), "run")

    def free(self, pointer):
        self.runtime.cudaFree(pointer)

    def download(self, pointer, size, name):
        buffer = ctypes.create_string_buffer(size + GUARD)
        self.check(self.runtime.cudaMemcpy(buffer, pointer, ctypes.c_size_t(size + GUARD), 2), f"download of {name}")
        if buffer.raw[size:size + GUARD] != b"\xc3" * GUARD:
            raise Failure(f"{name}: bytes behind the buffer were written")
        return buffer.raw[:size]


def call(device, library, inputs, sizes, over, dims, stream=None):
    """One call on a device, which has `upload`, `download`, `finish` and `free`; what it wrote."""
    host = dict(inputs)
    for name, size in sizes.items():
        if name not in over:
            host[name] = b"\xff" * size
    pointers = {name: device.upload(data) for name, data in host.items()}
    for name in sizes:
        if name in over:
            pointers[name] = pointers[over[name]]
    arguments = (ctypes.c_void_p * max(1, len(library.args)))(*[pointers[library.name_of(f, pointers)] for f in library.args])
    values = (ctypes.c_int64 * max(1, len(library.dims)))(*[dims.get(library.name_of(d, dims), 0) for d in library.dims])
    need = library.workspace(values)
    if need > 1 << 34:
        raise Failure(f"the workspace would have {need} bytes")
    workspace = device.upload(b"\xff" * need)
    status = library.run(arguments, values, workspace, ctypes.c_size_t(need), stream)
    if status != 0:
        raise Failure(f"the launcher returned status {status}")
    device.finish()
    found = {n: device.download(pointers[n], size, n) for n, size in sizes.items()}
    device.download(workspace, need, "the workspace")
    for name, data in inputs.items():
        if name not in over.values() and device.download(pointers[name], len(data), name) != data:
            raise Failure(f"input {name} was written")
    for pointer in {p.value: p for p in [*pointers.values(), workspace]}.values():
        device.free(pointer)
    return found


def cases_of(options):
    known = expect.cases()
    chosen = [known[n] for n in (options.cases or known)]
    if options.one_per_sample:
        chosen = list({case["file"]: case for case in reversed(chosen)}.values())[::-1]
    return chosen


def generate(options):
    for case in cases_of(options):
        one = Case(case, options.tangc, options.folder / case["name"])
        for form in options.form:
            flags = FORMS[form]
            if (form == "bound" and not one.bindings) or flags[0] not in case.get("levels", flags):
                continue
            one.generate(options.target, [*flags, *(one.bindings if form == "bound" else [])], one.folder / form)


def forms_in(options):
    for case in cases_of(options):
        for form in options.form:
            folder = options.folder / case["name"] / form
            source = folder / f"{pathlib.Path(case['file']).stem}.{options.target}.cu"
            if source.exists():
                yield case, form, folder, source


def compile_all(options):
    if not nvcc():
        print("skipped: nvcc is not installed")
        return 77

    def one(item):
        case, form, folder, source = item
        flags, suffix = (DEVICE, "cubin") if options.device_only else (FLAGS, "so")
        if options.only_accept:
            flags = flags + FAST
        output = folder / f"{options.target}.{suffix}"
        done = subprocess.run([nvcc(), f"-arch={options.target}", *flags, "-o", output, source], capture_output=True,
                              text=True)
        return f"{case['name']} {form}: {(done.stdout + done.stderr)[:1500]}" if done.returncode else ""

    work = list(forms_in(options))
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        failures = [f for f in pool.map(one, work) if f]
    print("\n".join(failures))
    print(f"{len(work)} sources compiled for {options.target}, {len(failures)} failed")
    return 1 if failures or not work else 0


def check(options):
    if not nvcc():
        print("skipped: nvcc is not installed")
        return 77
    failed = 0
    for number, target in enumerate(options.target.split(",")):
        # The host code of all targets is the same.
        one = argparse.Namespace(**{**vars(options), "target": target, "folder": options.folder / target,
                                    "device_only": number > 0, "only_accept": True})
        generate(one)
        failed += compile_all(one)
    return 1 if failed else 0


def run(options):
    device = Device()
    failures, count = [], 0
    for case, form, folder, source in forms_in(options):
        count += 1
        try:
            one = Case(case, "", folder)
            library = Library(folder / f"{source.name.split('.')[0]}.h", options.target, folder / f"{options.target}.so")
            inputs = {n: encode(t.format, np.asarray(t.value)) for n, t in one.inputs.items()}
            sizes = {n: size_of(t.format, np.shape(t.value)) for n, t in one.outputs.items()}
            dims = {} if form == "bound" else case["dims"]
            first = call(device, library, inputs, sizes, one.over, dims)
            for name, expected in one.outputs.items():
                run_samples.check(expected, decode(expected.format, first[name], np.shape(expected.value)), name)
            if call(device, library, inputs, sizes, one.over, dims) != first:
                raise Failure("a second run gave other bits")
            print(f"ok {case['name']} {form}", flush=True)
        except (Failure, OSError, AttributeError) as fault:
            failures.append(f"{case['name']} {form}: {fault}")
            print(f"FAIL {failures[-1]}", flush=True)
    print("\n".join(failures))
    print(f"{count} runs on the device, {len(failures)} failed")
    return 1 if failures or not count else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=["generate", "compile", "run", "check"])
    parser.add_argument("--tangc")
    parser.add_argument("--target", default="sm_90a")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--form", action="append", choices=list(FORMS))
    parser.add_argument("--one-per-sample", action="store_true")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("cases", nargs="*")
    options = parser.parse_args()
    options.form, options.device_only, options.only_accept = options.form or list(FORMS), False, False
    return {"generate": generate, "compile": compile_all, "run": run, "check": check}[options.step](options) or 0


if __name__ == "__main__":
    sys.exit(main())
