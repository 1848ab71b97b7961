"""What the tests of the command line share: a folder of their own, small programs, and runs of tangc."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TANGC = os.environ["TANGC"]

RELU = """tg 1
graph relu_rows
dim M in 1..64
dim N in 1..64
input x : f32[M, N]
y[i, j] = relu(x[i, j])
output y : f32[M, N]
"""


class Result:
    def __init__(self, done):
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr


class CliTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="tangc-cli-")
        self.addCleanup(holder.cleanup)
        self.dir = pathlib.Path(holder.name)
        self.file("relu.tg", RELU)

    def file(self, name, text):
        path = self.dir / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def tangc(self, *words, code=0, stdin=None, env=None, cwd=None):
        """Runs tangc in the test's folder; `code` is the exit code it must have, or None for any."""
        environment = {k: v for k, v in os.environ.items() if k != "NO_COLOR"}
        environment.update(env or {})
        done = subprocess.run([TANGC, *map(str, words)], cwd=cwd or self.dir, input=stdin, env=environment,
                              capture_output=True, text=True, timeout=300)
        if code is not None:
            self.assertEqual(done.returncode, code, f"tangc {' '.join(map(str, words))}\n{done.stdout}{done.stderr}")
        return Result(done)

    def names(self, folder="."):
        """Every file below a folder, relative to it."""
        base = self.dir / folder
        return sorted(p.relative_to(base).as_posix() for p in base.rglob("*") if p.is_file())


def main():
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
