#!/usr/bin/env python3
"""Small programs from end to end: one dynamic C artefact each, called at many sizes, against the f64 interpreter.

  run_programs.py --tangc PATH [--jobs N] [PROGRAM...]
  run_programs.py --tangc PATH --nvcc [--jobs N] [PROGRAM...]

Each text of programs.py is compiled once at -O0 and once at -O2; the C is built by each compiler found, warnings as
errors, and called at every size with outputs and workspace full of NaN bytes and guards behind every buffer. Floats
must agree with `tangc run --f64` within 1e-5 of the largest value (or what the output's format allows), NaN and
infinities at the same points, integers exactly; -O0 and -O2 agree alike. --nvcc compiles every program for sm_80
instead and runs nothing.
"""
import argparse
import concurrent.futures
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zlib

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parent / "samples"))
sys.dont_write_bytecode = True

from programs import PROGRAMS, SIZES, Call  # noqa: E402
from reference.source import TOLERANCE  # noqa: E402
from run_samples import FLAGS, Failure, Library, call as execute  # noqa: E402
from storage import BITS, PLAIN, decode, encode, f8_values  # noqa: E402

RANGES = {"i4": (-8, 7), "u4": (0, 15), "bool": (0, 1)}
CUDA = ["-arch=sm_80", "-Werror", "all-warnings", "-Xcicc", "-O0", "-Xptxas", "-O0", "-c"]


class Tensor:
    """A declaration: format, extents, strides and range as expressions over dims."""
    pattern = re.compile(r"^(input|param|output)\s+(\w+)(?:\s+as\s+(\w+))?\s*:\s*(\w+)(?:\[([^\]]*)\])?(?::\[([^\]]*)\])?"
                         r"(?:\s+align\s+\d+)?(?:\s+in\s+(-?\d+)\.\.(-?\d+))?(?:\s+over\s+(\w+))?$")

    def __init__(self, match, fixed):
        self.kind, name, alias, self.format, shape, strides, lo, hi, self.over = match.groups()
        self.name = alias or name
        self.shape = [s.strip() for s in shape.split(",")] if shape else []
        self.strides = [s.strip() for s in strides.split(",")] if strides else None
        self.range = (int(lo), int(hi)) if lo else None
        self.fixed = fixed

    def evaluate(self, terms, dims):
        return [int(eval(t, {}, {**self.fixed, **dims})) for t in terms]

    def extents(self, dims):
        return self.evaluate(self.shape, dims)

    def offsets(self, dims):
        """Where each element lies, and how many elements the memory has."""
        shape = self.extents(dims)
        if not self.strides:
            count = int(np.prod(shape, dtype=np.int64))
            return np.arange(count).reshape(shape), count
        at = np.zeros(shape, np.int64)
        for axis, stride in enumerate(self.evaluate(self.strides, dims)):
            at += np.arange(shape[axis]).reshape([-1 if i == axis else 1 for i in range(len(shape))]) * stride
        return at, int(at.max()) + 1 if at.size else 0

    def pack(self, value, dims):
        at, count = self.offsets(dims)
        memory = np.zeros(count, np.asarray(value).dtype)
        memory[at.ravel()] = np.asarray(value).ravel()
        return encode(self.format, memory)

    def unpack(self, data, dims):
        at, count = self.offsets(dims)
        return decode(self.format, data, [count])[at.ravel()].reshape(at.shape)

    def bytes(self, dims):
        bits = BITS.get(self.format) or np.dtype(PLAIN[self.format]).itemsize * 8
        return (self.offsets(dims)[1] * bits + 7) // 8


def tensors_of(text):
    fixed, found = {}, []
    for line in text.splitlines():
        if line.startswith("dim "):
            for name, value in re.findall(r"(\w+)\s*=\s*(\d+)", line):
                fixed[name] = int(value)
        match = Tensor.pattern.match(line)
        if match:
            found.append(Tensor(match, fixed))
        elif re.match(r"(input|param|output)\b", line):
            raise Failure(f"run_programs.py cannot read `{line}`")
    return found


def range_of(format):
    limits = np.iinfo(PLAIN[format]) if format not in RANGES else None
    return (limits.min, limits.max) if limits else RANGES[format]


def round_to(format, value):
    if format in ("f8e4m3", "f8e5m2"):
        table = f8_values(format)
        finite = np.sort(table[np.isfinite(table)])
        near = finite[np.clip(np.searchsorted(finite, value), 0, len(finite) - 1)]
        return np.where(np.isnan(value), value, near)  # infinities saturate, as where `tangc run` reads them
    if format == "bf16":
        return (value.astype(np.float32).view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32).astype(np.float64)
    return value.astype(PLAIN[format]).astype(np.float64)


def numbers(tensor, dims, flavour, generator):
    """Values that are exact in the tensor's format."""
    shape = tensor.extents(dims)
    if tensor.format not in ("f64", "f32", "f16", "bf16", "f8e4m3", "f8e5m2"):
        if ".." in flavour:
            lo, hi = map(int, flavour.split(".."))
        else:
            lo, hi = tensor.range or range_of(tensor.format)
        return generator.integers(lo, hi, shape, np.int64, endpoint=True)
    value = np.asarray(generator.standard_normal(shape))
    if flavour == "ties":
        value = np.round(value)
    value = value * {"tiny": 1e-39, "huge": 1e36}.get(flavour, 1) + (10000 if flavour == "offset" else 0)
    value = np.asarray(round_to(tensor.format, value))
    strewn = {"special": [np.nan, np.inf, -np.inf, 0.0, -0.0], "nan": [np.nan], "inf": [np.inf]}.get(flavour)
    if strewn:
        chosen = generator.random(shape) < 0.1
        value = np.where(chosen, np.asarray(strewn)[generator.integers(0, len(strewn), shape)], value)
    return np.asarray(round_to(tensor.format, value))


def difference(tensor, expected, got, tolerance):
    """What disagrees, or nothing."""
    if expected.shape != got.shape:
        return f"shape {got.shape}, expected {expected.shape}"
    if expected.dtype.kind != "f":
        wrong = expected.astype(np.int64) != got
    else:
        finite = np.isfinite(expected)
        largest = np.abs(expected[finite]).max() if finite.any() else 0
        with np.errstate(invalid="ignore"):
            near = np.abs(got - expected) <= tolerance * largest
        wrong = ~np.where(finite, near, (got == expected) | (np.isnan(got) & np.isnan(expected)))
    if not wrong.any():
        return ""
    at = tuple(int(i) for i in np.argwhere(wrong)[0])
    return f"{int(wrong.sum())} of {wrong.size} differ, first at {at}: {got[at]}, expected {expected[at]}"


class Runner:
    def __init__(self, program, tangc, folder):
        self.program, self.tangc, self.folder = program, tangc, folder
        self.tensors = tensors_of(program.text)
        self.source = folder / f"{program.name}.tg"
        self.source.write_text(program.text)
        self.inputs = [t for t in self.tensors if t.kind != "output"]
        self.outputs = [t for t in self.tensors if t.kind == "output"]
        self.over = {t.name: t.over for t in self.outputs if t.over}

    def generate(self, target, level):
        folder = self.folder / f"{target}{level}"
        execute([self.tangc, self.source, "--target", target, level, "-q", "-d", folder], f"{level}")
        return folder

    def build(self, level, compiler):
        folder = self.generate("c", level)
        shared = folder / f"{compiler}.so"
        execute([compiler, *FLAGS, "-o", shared, folder / f"{self.program.name}.c.c", "-lm"], f"{level} {compiler}")
        return Library(folder / f"{self.program.name}.h", "c", shared)

    def interpret(self, call, values):
        arguments = []
        for tensor in self.inputs:
            path = self.folder / f"{tensor.name}.npy"
            value = values[tensor.name]
            np.save(path, value.astype(bool) if tensor.format == "bool" else value)
            arguments += ["--input", f"{tensor.name}={path}"]
        out = self.folder / "run"
        bindings = [f"-D{n}={v}" for n, v in call.dims.items()]
        execute([self.tangc, "run", self.source, *bindings, *arguments, "--f64", "-q", "-o", out], "run")
        return {t.name: np.load(out / f"{t.name}.npy") for t in self.outputs}

    def numbers_of(self, call):
        seed = zlib.crc32(f"{self.program.name} {call}".encode())
        generator = np.random.Generator(np.random.PCG64(seed))
        return {t.name: numbers(t, call.dims, call.flavours.get(t.name, ""), generator) for t in self.inputs}

    def run(self, library, call, values):
        data = {t.name: t.pack(values[t.name], call.dims) for t in self.inputs}
        sizes = {t.name: t.bytes(call.dims) for t in self.outputs}
        found = library.call(data, sizes, self.over, call.dims)
        return {t.name: t.unpack(found[t.name], call.dims) for t in self.outputs}

    def check(self, libraries):
        for call in self.program.calls:
            values = self.numbers_of(call)
            where = f"{call.dims} {call.flavours or ''}".strip()
            try:
                expected = self.interpret(call, values)
            except Failure as fault:
                yield f"{where}: {fault}"
                continue
            for name, library in libraries.items():
                try:
                    got = self.run(library, call, values)
                except Failure as fault:
                    yield f"{name} {where}: {fault}"
                    continue
                for tensor in self.outputs:
                    want = stored(tensor.format, expected[tensor.name])
                    tolerance = self.program.tolerance.get(tensor.name, TOLERANCE.get(tensor.format, 0.13))
                    text = difference(tensor, want, got[tensor.name], tolerance)
                    if text:
                        yield f"{name} {where}, {tensor.name}: {text}"


def stored(format, value):
    """Overflow as the format has it: f16 to infinity, both f8 formats and integers to their largest value."""
    if value.dtype.kind != "f":
        return value if format == "bool" else value.clip(*range_of(format))
    largest = {"f8e4m3": 448.0, "f8e5m2": 57344.0}.get(format)
    if largest:
        return np.clip(value, -largest, largest)
    if format == "f16":
        with np.errstate(over="ignore"):
            return np.where(np.isinf(value.astype(np.float16)), np.sign(value) * np.inf, value)
    return value


def layer_norm_of_large_rows(runner, libraries):
    """Rows of 10000 + small numbers against numpy. The mean of n terms near m has an error below n * 2^-24 * m however
    they are added, in practice below 2 * sqrt(n) * 2^-24 * m; `y` carries it divided by the deviation."""
    for rows, n in ((3, 17), (5, 128), (2, 1000)):
        call = Call({"M": rows, "N": n}, {"x": "offset"})
        values = runner.numbers_of(call)
        x, w, b = (values[k] for k in "xwb")
        mean, deviation = x.mean(1, keepdims=True), np.sqrt(x.var(1, keepdims=True) + 1e-5)
        expected = (x - mean) / deviation * w + b
        allowed = 2 * np.sqrt(n) * 2.0 ** -24 * 10000 / deviation * np.abs(w) + 1e-5 * np.abs(expected).max()
        for name, library in libraries.items():
            error = np.abs(runner.run(library, call, values)["y"] - expected)
            if not (error <= allowed).all():
                yield f"{name}: rows of {n} near 10000: error {error.max():.3g}"


EXTRA = {"layer_norm_rows": layer_norm_of_large_rows}


def run_program(program, tangc):
    failures = []
    with tempfile.TemporaryDirectory(prefix="tangc-program-") as temporary:
        try:
            runner = Runner(program, tangc, pathlib.Path(temporary))
            forms = [("-O2", c) for c in ("gcc", "clang") if shutil.which(c)]
            forms += [("-O0", forms[0][1])]
            libraries = {f"{level} {compiler}": runner.build(level, compiler) for level, compiler in forms}
            failures += runner.check(libraries)
            failures += EXTRA.get(program.name, lambda *_: [])(runner, libraries)
        except (Failure, subprocess.TimeoutExpired, OSError, AttributeError) as fault:
            failures.append(str(fault))
    return failures


def compile_cuda(program, tangc, nvcc):
    with tempfile.TemporaryDirectory(prefix="tangc-program-") as temporary:
        try:
            runner = Runner(program, tangc, pathlib.Path(temporary))
            source = runner.generate("sm_80", "-O2") / f"{program.name}.sm_80.cu"
            execute([nvcc, *CUDA, "-o", source.with_suffix(".o"), source], "nvcc")
        except (Failure, subprocess.TimeoutExpired, OSError) as fault:
            return [str(fault)]
    return []


def run_alone(program, tangc):
    """In a process of its own, so that a crash of generated code is a failure like any other."""
    done = subprocess.run([sys.executable, __file__, "--tangc", tangc, "--alone", program.name], capture_output=True,
                          text=True)
    if done.returncode in (0, 1) and done.stdout.startswith("["):
        return json.loads(done.stdout)
    return [f"stopped with {done.returncode}: {done.stderr.strip()[-1500:]}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tangc", required=True)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--nvcc", action="store_true")
    parser.add_argument("--alone", action="store_true", help="one program in this process; prints its failures as JSON")
    parser.add_argument("programs", nargs="*")
    arguments = parser.parse_args()
    known = {p.name: p for p in PROGRAMS}
    unknown = [p for p in arguments.programs if p not in known]
    if unknown:
        sys.exit(f"run_programs.py: no program {', '.join(unknown)}")
    tangc = str(pathlib.Path(arguments.tangc).resolve())
    chosen = [known[n] for n in arguments.programs or known]
    if arguments.alone:
        failures = run_program(chosen[0], tangc)
        print(json.dumps(failures))
        return 1 if failures else 0
    nvcc = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
    if arguments.nvcc and not nvcc:
        print("skipped: nvcc is not installed")
        return 77
    if not arguments.nvcc and not shutil.which("gcc") and not shutil.which("clang"):
        print("skipped: no C compiler is installed")
        return 77
    work = (lambda p: compile_cuda(p, tangc, nvcc)) if arguments.nvcc else (lambda p: run_alone(p, tangc))
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for program, failures in zip(chosen, pool.map(work, chosen)):
            print(f"{'FAIL' if failures else 'ok'} {program.name}", flush=True)
            for failure in failures[:8]:
                print(f"  {failure}", flush=True)
            if len(failures) > 8:
                print(f"  and {len(failures) - 8} more")
            failed += bool(failures)
    print(f"{len(chosen)} programs, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
