#!/usr/bin/env python3
"""The compiled training step learns: gradient descent on one sentence, byte by byte.

  train_text.py --tangc PATH [--steps N]

samples/transformer_train_step.tg is compiled for C at -O0 and -O2, and called step after step from the same random
parameters, each time with the parameters that it gave before. The loss must start near log V (nothing is known), fall
below half of that, and be the same at both levels as long as rounding has not grown.
"""
import argparse
import math
import pathlib
import shutil
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent / "samples"))
sys.dont_write_bytecode = True

from run_samples import FLAGS, Library, call  # noqa: E402

TEXT = b"a kernel is derived, not written, and the last step only prints."
DIMS = {"B": 1, "T": len(TEXT) - 1, "V": 128, "C": 16, "F": 32, "KV": 1, "G": 2}
LAYERS, HEAD = 2, 16
COMPARED = 20


def parameters():
    v, c, f, kv, g = (DIMS[n] for n in ("V", "C", "F", "KV", "G"))
    random = np.random.default_rng(1)

    def weights(*shape, fan_in):
        return (random.standard_normal(shape) / math.sqrt(fan_in)).astype(np.float32)

    return {"we": weights(v, c, fan_in=1), "n1": np.ones((LAYERS, c), np.float32),
            "wq": weights(LAYERS, c, kv, g, HEAD, fan_in=c), "wk": weights(LAYERS, c, kv, HEAD, fan_in=c),
            "wv": weights(LAYERS, c, kv, HEAD, fan_in=c), "wo": weights(LAYERS, kv, g, HEAD, c, fan_in=kv * g * HEAD),
            "n2": np.ones((LAYERS, c), np.float32), "wg": weights(LAYERS, c, f, fan_in=c),
            "wu": weights(LAYERS, c, f, fan_in=c), "wd": weights(LAYERS, f, c, fan_in=f),
            "nf": np.ones(c, np.float32), "wl": 0.1 * weights(c, v, fan_in=c)}


def train(library, steps):
    """The loss before each step."""
    p = parameters()
    fixed = {"text": np.frombuffer(TEXT, np.uint8).astype(np.int32).tobytes(), "rate": np.float32(0.5).tobytes()}
    sizes = {"loss": 4, **{name + "_new": value.nbytes for name, value in p.items()}}
    losses = []
    for _ in range(steps):
        results = library.call({**fixed, **{name: value.tobytes() for name, value in p.items()}}, sizes, {}, DIMS)
        losses.append(float(np.frombuffer(results["loss"], np.float32)[0]))
        p = {name: np.frombuffer(results[name + "_new"], np.float32).reshape(value.shape) for name, value in p.items()}
    return losses


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tangc", required=True)
    parser.add_argument("--steps", type=int, default=100)
    arguments = parser.parse_args()
    compiler = shutil.which("gcc") or shutil.which("clang")
    if not compiler:
        print("skipped: no C compiler is installed")
        return 77
    nothing = math.log(DIMS["V"])
    losses = {}
    with tempfile.TemporaryDirectory() as folder:
        for level in ("-O0", "-O2"):
            out = pathlib.Path(folder) / level[1:]
            call([arguments.tangc, str(ROOT / "samples/transformer_train_step.tg"), "--target", "c", level, "-d", str(out)],
                 f"tangc {level}")
            shared = out / "step.so"
            call([compiler, *FLAGS, str(out / "transformer_train_step.c.c"), "-lm", "-o", str(shared)], compiler)
            losses[level] = train(Library(out / "transformer_train_step.h", "c", shared), arguments.steps)
            print(f"{level}: " + " ".join(f"{x:.3f}" for x in losses[level][:: max(1, arguments.steps // 10)]),
                  f"... {losses[level][-1]:.4f}; log V is {nothing:.3f}")
    faults = [f"{level} starts at {x[0]}, not near log V" for level, x in losses.items() if abs(x[0] - nothing) > 0.5]
    faults += [f"{level} ends at {x[-1]}, not below half of log V" for level, x in losses.items()
               if not x[-1] < nothing / 2]
    apart = max(abs(a - b) for a, b in zip(losses["-O0"][:COMPARED], losses["-O2"][:COMPARED]))
    if not apart < 1e-3:
        faults.append(f"-O0 and -O2 are {apart} apart in the first {COMPARED} steps")
    print(*faults, sep="\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
