"""Kernel-level files: compiled, checked and formatted as `.tg` files are."""
import json
import pathlib
import unittest

import support

TWICE = """# Doubles what it is given.
program twice {
  target sm_80
  dim N in 1..65536
  buffer x: argument f32 shape (N)
  buffer y: argument f32 shape (N) written
  arguments (x, y)
  launch y {
    twice(x, y; N) blocks (floordiv(N + 127, 128))
  }
}

# y = 2*x
kernel twice {
  param x: global f32 (N)
  param y: global f32 (N) written
  scalar N: index in 1..65536
  blocks (block: floordiv(N + 127, 128))
  threads (thread: 128)
  number: index <- Pointwise(block*128 + thread)
  if number < N {
    (i) <- Delinearize(number; N)
    a: f32 <- Move(x[i])
    y[i] <- Move(a*2.0)
  }
}
"""

SERIAL = TWICE.replace("  threads (thread: 128)\n", "").replace("  target sm_80\n", "") \
    .replace("floordiv(N + 127, 128)", "N").replace("block*128 + thread", "block")


class SpecTest(support.CliTest):
    def setUp(self):
        super().setUp()
        self.file("twice.spec", TWICE)
        self.file("serial.spec", SERIAL)

    def test_compile(self):
        self.tangc("twice.spec", "-t", "sm_80,sm_90a", "-d", "out", "-MD", "-MF", "out/d")
        self.assertEqual(self.names("out"), ["d", "twice.h", "twice.sm_80.cu", "twice.sm_80.sol.json",
                                             "twice.sm_90a.cu", "twice.sm_90a.sol.json"])
        source = (self.dir / "out/twice.sm_80.cu").read_text()
        self.assertIn("// y = 2*x\n", source)
        self.assertIn("tg_status twice_sm_80_run(", source)
        self.assertIn("const void *x; // f32[N], aligned to 16", (self.dir / "out/twice.h").read_text())
        self.assertIn("twice.spec", (self.dir / "out/d").read_text())
        report = json.loads((self.dir / "out/twice.sm_80.sol.json").read_text())
        self.assertEqual(report["schema"], "tangc.kernels/1")
        self.assertEqual(report["manifest"]["launches"][0]["name"], "y")
        self.assertTrue(any("floors" in text for text in report["not_known"]))
        self.assertNotIn("totals", report)

    def test_one_core(self):
        self.tangc("serial.spec", "-t", "c", "-d", "out")
        self.assertIn("for (int64_t block = 0; block < N; ++block)", (self.dir / "out/serial.c.c").read_text())
        err = self.tangc("twice.spec", "-t", "c", "-d", "out", code=1).err
        self.assertIn("twice.spec:14:8: error: c cannot run kernel `twice`: its blocks have 128 threads, not 1 [E0006]",
                      err)

    def test_what_is_written_compiles_to_the_same(self):
        sample = pathlib.Path(support.ROOT) / "samples/matmul.tg"
        self.tangc(sample, "-t", "sm_80", "-d", "first", "--emit=source,header,spec")
        spec = self.dir / "first/matmul.sm_80.spec"
        (self.dir / "matmul.spec").write_text(spec.read_text())
        self.tangc("matmul.spec", "-t", "sm_80", "-d", "second", "--emit=source,header,spec")
        for name in "matmul.sm_80.cu", "matmul.h", "matmul.sm_80.spec":
            texts = [(self.dir / folder / name).read_text().split("\n") for folder in ("first", "second")]
            # The lines about the command and the input are others.
            first, second = ["\n".join(line for line in text if not line.startswith(("// Options", "// Input")))
                             for text in texts]
            self.assertEqual(first, second)
        self.tangc("fmt", "--check", "matmul.spec")
        self.tangc("check", "matmul.spec")

    def test_errors(self):
        self.file("bad.spec", TWICE.replace("x[i]", "z[i]").replace("a*2.0", "a*2"))
        err = self.tangc("bad.spec", "-t", "sm_80", "-d", "out", code=1).err
        self.assertIn("bad.spec:23:20: error: nothing here is called `z` [E0301]", err)
        self.assertIn("    a: f32 <- Move(z[i])\n", err)
        self.assertFalse((self.dir / "out").exists())
        self.tangc("none.spec", "-t", "sm_80", code=4)
        self.tangc("twice.spec", code=2)
        for words in ["-D", "N=4"], ["--emit=schedule"], ["--specialize=N=4"]:
            self.assertIn("a `.spec` file has no use for", self.tangc("twice.spec", "-t", "sm_80", *words, code=2).err)
        for verb in ["run", "twice.spec", "--random", "1"], ["verify", "twice.spec", "-t", "sm_80"]:
            self.assertIn("has kernels and no equations", self.tangc(*verb, code=2).err)

    def test_instructions_of_another_target(self):
        gemm = pathlib.Path(support.ROOT) / "specs/gemm.spec"
        err = self.tangc(gemm, "-t", "sm_75", "-d", "out", code=1).err
        self.assertIn("error: `cp.async.cg.16.b16` is not native on sm_75 [E1101]", err)
        self.assertIn("help: it runs on", err)

    def test_unproved(self):
        self.file("open.spec", TWICE.replace("  if number < N {", "  if number < N + 1 {"))
        done = self.tangc("open.spec", "-t", "sm_80", "-d", "out")
        self.assertIn("[W0009] [-Wunproved]", done.err)
        self.tangc("open.spec", "-t", "sm_80", "-d", "out", "-Werror=unproved", code=1)
        self.assertEqual(self.tangc("open.spec", "-t", "sm_80", "-d", "out", "-Wno-unproved").err, "")

    def test_check_and_fmt(self):
        self.assertEqual(self.tangc("check", "twice.spec").out, "dim N in 1..65536\n")
        self.tangc("fmt", "--check", "twice.spec")
        self.file("wide.spec", TWICE.replace("Move(a*2.0)", "Move( a * 2.0 )  # exact").replace("  if", "if"))
        self.tangc("fmt", "--check", "wide.spec", code=3)
        self.tangc("fmt", "wide.spec")
        self.assertEqual((self.dir / "wide.spec").read_text(), TWICE.replace("Move(a*2.0)", "Move(a*2.0)  # exact"))
        self.file("bad.spec", TWICE + "}")
        self.tangc("fmt", "bad.spec", code=1)
        self.assertEqual((self.dir / "bad.spec").read_text(), TWICE + "}")


if __name__ == "__main__":
    support.main()
