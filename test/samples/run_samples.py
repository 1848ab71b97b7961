#!/usr/bin/env python3
"""Every sample from end to end, on its small cases: interpreter against numpy, generated C against both.

  run_samples.py --tangc PATH [--jobs N] [--sanitize] [--failures FILE] [CASE...]

For each case: `tangc run` on the inputs of expect.py must give what expect.py expects. Then the generated C, with
dims left for run time at -O0 and -O2 and bound with -D at -O2, is compiled with each compiler found, warnings as
errors, and called with outputs and workspace full of NaN bytes and guards behind every buffer. It must agree with
the expectation and, within 1e-5 of the largest value, with the interpreter; running it again must give the same bits.
With --sanitize the C is built by gcc with its address and undefined behaviour sanitizers, and buffers have exactly the
size that they need.
"""
import argparse
import concurrent.futures
import ctypes
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
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))

import expect  # noqa: E402
from reference.source import Output, compare  # noqa: E402
from storage import decode, encode, size_of  # noqa: E402

FLAGS = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-pedantic", "-shared", "-fPIC"]
SANITIZE = ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
GUARD = 64
LIBC = ctypes.CDLL(None)


class Failure(Exception):
    pass


def call(command, what):
    environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment)
    if done.returncode != 0:
        text = (done.stderr or done.stdout).strip()
        raise Failure(f"{what}: exit {done.returncode}: {text[:1500]}")
    return done.stdout


class Buffer:
    """`size` bytes at an address that 64 divides, with guard bytes behind them; under a sanitizer, which guards the
    memory of `posix_memalign` by itself, without."""
    exact = False

    def __init__(self, size, fill):
        if Buffer.exact:
            address = ctypes.c_void_p()
            if LIBC.posix_memalign(ctypes.byref(address), ctypes.c_size_t(64), ctypes.c_size_t(size)) != 0:
                raise MemoryError(size)
            self.pointer, self.guard = address, np.full(0, 0xC3, np.uint8)
            self.bytes = np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(address.value))
            self.fill(fill)
            return
        raw = np.full(size + GUARD + 64, 0xC3, np.uint8)
        start = -raw.ctypes.data % 64
        self.raw, self.bytes, self.guard = raw, raw[start:start + size], raw[start + size:start + size + GUARD]
        self.fill(fill)
        self.pointer = ctypes.c_void_p(raw.ctypes.data + start)

    def fill(self, data):
        self.bytes[:] = np.frombuffer(data, np.uint8) if isinstance(data, bytes) else data

    def check(self, name):
        if (self.guard != 0xC3).any():
            raise Failure(f"{name}: bytes behind the buffer were written")


class Library:
    """The public functions of a generated header and its shared object."""

    def __init__(self, header, target, shared):
        text = header.read_text()
        run = re.search(r"tg_status\s+(\w+)_" + target + r"_run\(", text)
        self.prefix = run.group(1)
        self.dims = self.fields(text, "dims")
        self.args = self.fields(text, "args")
        loaded = ctypes.CDLL(str(shared))
        self.run = loaded[f"{self.prefix}_{target}_run"]
        self.workspace = loaded[f"{self.prefix}_{target}_workspace_bytes"]
        self.workspace.restype = ctypes.c_size_t

    def fields(self, text, kind):
        body = re.search(r"typedef struct \{([^}]*)\}\s*" + f"{self.prefix}_{kind};", text).group(1)
        body = re.sub(r"/\*.*?\*/|//[^\n]*", "", body, flags=re.S)
        names = []
        for declaration in body.split(";"):
            names += re.findall(r"(\w+)\s*(?=,|$)", declaration.strip())
        return names

    @staticmethod
    def name_of(field, known):
        """The name that a field stands for: keywords and standard macros gain `_`."""
        return field if field in known else field[:-1] if field[-1] == "_" and field[:-1] in known else None

    def call(self, inputs, outputs, over, dims):
        buffers = {n: Buffer(len(data), data) for n, data in inputs.items()}
        for name, size in outputs.items():
            if name in over:
                buffers[name] = buffers[over[name]]
            else:
                buffers[name] = Buffer(size, 0xFF)
        missing = [f for f in self.args if self.name_of(f, buffers) is None]
        missing += [f for f in self.dims if dims and self.name_of(f, dims) is None]
        if missing:
            raise Failure(f"fields {missing} have no data")
        arguments = (ctypes.c_void_p * max(1, len(self.args)))(*[buffers[self.name_of(f, buffers)].pointer for f in self.args])
        sizes = (ctypes.c_int64 * max(1, len(self.dims)))(*[dims.get(self.name_of(d, dims), 0) for d in self.dims])
        need = self.workspace(sizes)
        if need > 1 << 34:
            raise Failure(f"the workspace would have {need} bytes")
        workspace = Buffer(need, 0xFF)
        status = self.run(arguments, sizes, workspace.pointer if need else None, ctypes.c_size_t(need), None)
        if status != 0:
            raise Failure(f"the launcher returned status {status}")
        for name, buffer in {**buffers, "the workspace": workspace}.items():
            buffer.check(name)
        for name, data in inputs.items():
            if name not in over.values() and (buffers[name].bytes != np.frombuffer(data, np.uint8)).any():
                raise Failure(f"input {name} was written")
        return {name: buffers[name].bytes.tobytes() for name in outputs}


def check(expected, got, what):
    ok, text = compare(expected, got)
    if not ok:
        raise Failure(f"{what}: {text}")


class Case:
    def __init__(self, case, tangc, folder):
        self.case, self.tangc, self.folder = case, tangc, folder
        self.source = ROOT / case["file"]
        self.inputs, self.outputs = expect.evaluate(case)
        text = re.sub(r"#[^\n]*", "", self.source.read_text())
        self.over = dict(re.findall(r"^\s*output\s+(\w+)\b.*\bover\s+(\w+)", text, re.M))
        self.bindings = [f"-D{n}={v}" for n, v in case["dims"].items()]

    def interpret(self):
        """Runs the interpreter, and holds it to the expectation."""
        given = self.folder / "in"
        expect.generate(self.case, given)
        arguments = [a for n in self.inputs for a in ("--input", f"{n}={given / n}.npy")]
        found = {}
        for mode in ([], ["--f64"]):
            out = self.folder / f"run{len(mode)}"
            call([self.tangc, "run", self.source, *self.bindings, *arguments, "-q", "-o", out, *mode], "run")
            found[len(mode)] = {n: np.load(out / f"{n}.npy") for n in self.outputs}
        for name, expected in self.outputs.items():
            check(expected, found[0][name], f"interpreter, {name}")
        return found[1]

    def generate(self, target, options, folder):
        call([self.tangc, self.source, "--target", target, *options, "-d", folder], f"compile {' '.join(options)}")

    def build(self, compiler, folder):
        stem = self.source.stem
        shared = folder / f"{compiler}.so"
        call([compiler, *FLAGS, *(SANITIZE if Buffer.exact else []), "-o", shared, folder / f"{stem}.c.c", "-lm"], compiler)
        return Library(folder / f"{stem}.h", "c", shared)

    def compare(self, library, interpreted, what, dims):
        inputs = {n: encode(t.format, np.asarray(t.value)) for n, t in self.inputs.items()}
        sizes = {n: size_of(t.format, np.shape(t.value)) for n, t in self.outputs.items()}
        first = library.call(inputs, sizes, self.over, dims)
        for name, expected in self.outputs.items():
            got = decode(expected.format, first[name], np.shape(expected.value))
            check(expected, got, f"{what}, {name}")
            check(Output(expected.format, interpreted[name], expected.chosen), got,
                  f"{what}, {name}, against the interpreter")
        again = library.call(inputs, sizes, self.over, dims)
        if again != first:
            raise Failure(f"{what}: a second run gave other bits")


def run_case(case, tangc, compilers):
    """Everything about one case; what failed, one line each."""
    failures = []
    with tempfile.TemporaryDirectory(prefix="tangc-sample-") as temporary:
        one = Case(case, tangc, pathlib.Path(temporary))
        try:
            interpreted = one.interpret()
        except (Failure, subprocess.TimeoutExpired, OSError) as fault:
            failures.append(f"{case['name']}: {fault}")
            interpreted = {n: np.asarray(t.value) for n, t in one.outputs.items()}
        # Under the sanitizers what users run is enough: each form is compiled again.
        forms = (("-O2", False), ("-O2", True)) if Buffer.exact else (("-O0", False), ("-O2", False), ("-O2", True))
        for level, bound in forms:
            if (bound and not one.bindings) or level not in case.get("levels", [level]):
                continue
            folder = one.folder / f"{level}{bound}"
            what = f"{level}{' bound' if bound else ''}"
            try:
                one.generate("c", [level, *(one.bindings if bound else [])], folder)
                for compiler in compilers[:1] if bound else compilers:
                    one.compare(one.build(compiler, folder), interpreted, f"{what} {compiler}",
                                {} if bound else case["dims"])
            except (Failure, subprocess.TimeoutExpired, OSError, AttributeError) as fault:
                failures.append(f"{case['name']} {what}: {fault}")
    return failures


def run_alone(name, tangc, sanitize):
    """A case in a process of its own, so that a crash of generated code is a failure like any other."""
    environment, words = dict(os.environ), ["--tangc", tangc, "--alone", name]
    if sanitize:
        library = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True).stdout.strip()
        environment.update(LD_PRELOAD=library, ASAN_OPTIONS="detect_leaks=0")
        words.append("--sanitize")
    done = subprocess.run([sys.executable, __file__, *words], capture_output=True, text=True, env=environment)
    if done.returncode in (0, 1) and done.stdout.startswith("["):
        return name, json.loads(done.stdout)
    return name, [f"{name}: stopped with {done.returncode}: {done.stderr.strip()[-1500:]}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tangc", required=True)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--failures", help="also write the failures to this file")
    parser.add_argument("--sanitize", action="store_true")
    parser.add_argument("--alone", action="store_true", help="one case in this process; prints its failures as JSON")
    parser.add_argument("cases", nargs="*")
    arguments = parser.parse_args()
    known = expect.cases()
    unknown = [c for c in arguments.cases if c not in known]
    if unknown:
        sys.exit(f"run_samples.py: no case {', '.join(unknown)}")
    Buffer.exact = arguments.sanitize
    compilers = [c for c in (["gcc"] if arguments.sanitize else ["gcc", "clang"]) if shutil.which(c)]
    if not compilers:
        print("skipped: no C compiler is installed")
        return 77
    tangc = str(pathlib.Path(arguments.tangc).resolve())
    if arguments.alone:
        failures = run_case(known[arguments.cases[0]], tangc, compilers)
        print(json.dumps(failures))
        return 1 if failures else 0
    names = arguments.cases or list(known)
    failures, failed = [], 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for name, found in pool.map(lambda n: run_alone(n, tangc, arguments.sanitize), names):
            print(f"{'FAIL' if found else 'ok'} {name}", flush=True)
            failures += found
            failed += bool(found)
    print("\n".join(failures))
    print(f"{len(names)} cases, {failed} failed, with {', '.join(compilers)}")
    if arguments.failures:
        pathlib.Path(arguments.failures).write_text("".join(f + "\n" for f in failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
