#!/usr/bin/env python3
"""Inputs and independent expectations for the samples. Needs numpy; reads no .tg file.

  expect.py list                   the names of all cases, one a line
  expect.py show CASE              the case as JSON: name, file (from the project's root), dims, inputs, outputs
  expect.py generate CASE DIR      writes DIR/<input>.npy for every input and param
  expect.py check CASE DIR         compares DIR/<output>.npy with the expectation, one line each; exit 1 on a difference

A case is {"name": ..., "sample": ..., "dims": {...}, "seed": n} in cases.json (programs in samples/) or in
nn_cases.json (programs in test/samples/), with "levels": [...] where not all of -O0 and -O2 reach what it asks for
(naive code loses more to rounding). Formats that numpy lacks are written as f32 or int8, with values that are
exact in the format. Outputs are read as `tangc run` writes them: floats as f32, integers as int64. They must agree to
1e-5 (f32), 1/1024 (f16) or 1/128 (bf16) of the output's largest value, NaN and infinities at the same points, and
integers exactly; an index chosen by comparing floats may be another whose value is as good.
"""
import json
import pathlib
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True

from reference import TABLE  # noqa: E402
from reference.source import NPY, Source, compare, holds  # noqa: E402


def cases():
    """All cases by name, in the order of the files."""
    found = {}
    for file, folder in (("cases.json", "samples"), ("nn_cases.json", "test/samples")):
        for case in json.loads((HERE / file).read_text()):
            case["file"] = f"{folder}/{case['sample']}.tg"
            if found.setdefault(case["name"], case) is not case:
                sys.exit(f"expect.py: two cases are called {case['name']}")
    return found


def evaluate(case):
    """The case's (inputs, outputs)."""
    with np.errstate(all="ignore"):
        inputs, outputs = TABLE[case["sample"]](case["dims"], Source(case["seed"]))
    for name, tensor in inputs.items():
        if not np.all(holds(tensor.format, np.asarray(tensor.value))):
            sys.exit(f"expect.py: {case['name']}: {name} has values that are not exact in {tensor.format}")
    return inputs, outputs


def show(case):
    inputs, outputs = evaluate(case)

    def describe(tensors):
        return [{"name": n, "format": t.format, "shape": list(np.shape(t.value))} for n, t in tensors.items()]

    print(json.dumps({**case, "inputs": describe(inputs), "outputs": describe(outputs)}))


def generate(case, folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name, tensor in evaluate(case)[0].items():
        np.save(folder / f"{name}.npy", np.asarray(tensor.value).astype(NPY[tensor.format], order="C"))


def check(case, folder):
    failed = False
    for name, expected in evaluate(case)[1].items():
        path = folder / f"{name}.npy"
        if path.exists():
            with np.errstate(all="ignore"):
                ok, text = compare(expected, np.load(path))
        else:
            ok, text = False, f"no file {path}"
        print(f"{'ok' if ok else 'FAIL'} {case['name']}.{name}: {text}")
        failed = failed or not ok
    return 1 if failed else 0


def main(arguments):
    known = cases()
    if arguments == ["list"]:
        print("\n".join(known))
        return 0
    if len(arguments) < 2 or arguments[1] not in known:
        print(__doc__ if len(arguments) < 2 else f"expect.py: no case {arguments[1]}", file=sys.stderr)
        return 2
    case = known[arguments[1]]
    if arguments[0] == "show" and len(arguments) == 2:
        show(case)
        return 0
    if arguments[0] == "generate" and len(arguments) == 3:
        generate(case, pathlib.Path(arguments[2]))
        return 0
    if arguments[0] == "check" and len(arguments) == 3:
        return check(case, pathlib.Path(arguments[2]))
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
