"""`--specialize`: sizes with code of their own, from the command line to the running program."""
import ctypes
import json
import shutil
import subprocess
import unittest

from support import RELU, CliTest, main

# Two kernels with a tensor between them: nothing a gather reads is recomputed.
ROWS = """tg 1
graph rows
dim S in 0..200
dim E in 2..6 step 2
input x : f32[S, E]
input id : i32[S]
m[i, e] = exp(x[i, e]) / sum[k] exp(x[i, k])
y[i] = sum[e] m[id[i], e] * e
output y : f32[S]
"""


class Specialize(CliTest):
    def setUp(self):
        super().setUp()
        self.file("rows.tg", ROWS)

    def load(self, *words):
        """The C of rows.tg as a library: (workspace_bytes, run) as functions of dims."""
        self.tangc("rows.tg", "-t", "c", *words, "-d", "out")
        subprocess.run(["cc", "-std=c11", "-O1", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "out/rows.c.c",
                        "-lm", "-o", "rows.so"], cwd=self.dir, check=True)
        library = ctypes.CDLL(str(self.dir / "rows.so"))
        library.rows_c_workspace_bytes.restype = ctypes.c_size_t

        def bytes_of(s, e):
            return library.rows_c_workspace_bytes((ctypes.c_int64 * 2)(s, e))

        def run(s, e, x, ids):
            size = min(bytes_of(s, e), 1 << 16)
            space = ctypes.create_string_buffer(size + 256)
            start = ctypes.addressof(space) + -ctypes.addressof(space) % 256
            fields = [(ctypes.c_float * (s * e + 8))(*x), (ctypes.c_int32 * (s + 8))(*ids), (ctypes.c_float * (s + 8))()]
            args = (ctypes.c_void_p * 3)(*[ctypes.addressof(f) for f in fields])
            status = library.rows_c_run(args, (ctypes.c_int64 * 2)(s, e), ctypes.c_void_p(start), ctypes.c_size_t(size), None)
            return status, list(fields[2])[:s]

        return bytes_of, run

    @unittest.skipUnless(shutil.which("cc"), "no C compiler")
    def test_every_size_is_right(self):
        general_bytes, general = self.load()
        special_bytes, special = self.load("--specialize=S=1;S%16=0,E=4;S=60..100/5;E=6")
        source = (self.dir / "out/rows.c.c").read_text()
        for condition in ("dims->S == 1", "dims->S % 16 == 0 && dims->E == 4",
                          "dims->S >= 60 && dims->S <= 100 && dims->S % 5 == 0", "dims->E == 6"):
            self.assertIn(f"if ({condition}) return", source)
        for e in 2, 4, 6:
            for s in [*range(0, 34), 60, 61, 64, 80, 95, 100, 199, 200]:
                x = [((7 * i) % 13) / 4 for i in range(s * e)]
                ids = [(5 * i) % s for i in range(s)]
                want, got = general(s, e, x, ids), special(s, e, x, ids)
                self.assertEqual((want[0], got[0]), (0, 0), (s, e))
                for a, b in zip(want[1], got[1]):
                    self.assertAlmostEqual(a, b, 5, (s, e))
                self.assertEqual(general_bytes(s, e), special_bytes(s, e), (s, e))
        for s, e in (-1, 2), (201, 2), (1, 3), (16, 8), (64, 0):
            self.assertEqual(special_bytes(s, e), 2**64 - 1)
            self.assertEqual(special(s, e, [], [])[0] if s >= 0 else 2, 2)

    def test_general_variant(self):
        """It is added where no case is for all sizes, and only there."""
        for cases, number in {"S=1": 2, "S=1;S=0..": 2, "S=0..": 1, "S=0..200;": None, "S=1..": 2, "E%2=0": 1,
                              "S=0..100;S=101..": 3}.items():
            if number is None:
                self.tangc("rows.tg", "-t", "c", f"--specialize={cases}", code=2)
                continue
            self.tangc("rows.tg", "-t", "c", f"--specialize={cases}")
            source = (self.dir / "rows.c.c").read_text()
            self.assertEqual(source.count("// Variant "), number if number > 1 else 0, cases)
            report = json.loads((self.dir / "rows.c.sol.json").read_text())
            self.assertEqual(len(report.get("variants", [])), number - 1, cases)

    def test_kernels_of_several_variants_are_printed_once(self):
        self.tangc("rows.tg", "-t", "c,sm_80", "--specialize=S=1..;S=0", "--emit=source")
        self.tangc("rows.tg", "-t", "c,sm_80", "--emit=source", "-d", "plain")
        for name in "rows.c.c", "rows.sm_80.cu":
            def kernels(text):
                return text.count("// schedule: ")
            self.assertLessEqual(kernels((self.dir / name).read_text()), 2 * kernels((self.dir / "plain" / name).read_text()))

    def test_report(self):
        self.tangc("rows.tg", "-t", "sm_80", "--specialize=S=1;S%16=0")
        report = json.loads((self.dir / "rows.sm_80.sol.json").read_text())
        first, second = report["variants"]
        self.assertEqual((first["when"], first["dims"]["S"]), ("S == 1", 1))
        self.assertEqual((second["when"], second["dims"]["S"] % 16), ("S % 16 == 0", 0))
        source = (self.dir / "rows.sm_80.cu").read_text()
        for part in report, first, second:
            for kernel in part["manifest"]["kernels"]:
                self.assertIn(f" {kernel['symbol']}(", source)
        text = self.tangc("report", "rows.sm_80.sol.json").out
        self.assertIn("variant 1, S == 1: ", text)
        name = first["kernels"][0]["name"]
        self.assertTrue(name.endswith("@1"))
        self.file("t.csv", f"{name},{first['kernels'][0]['floor']['us'] * 2}\n")
        self.tangc("report", "rows.sm_80.sol.json", "--measured", "t.csv", "-o", "m.json", "--require-sol=0.4")
        self.assertIsNotNone(json.loads((self.dir / "m.json").read_text())["variants"][0]["kernels"][0]["measured"])
        self.tangc("report", "rows.sm_80.sol.json", "--measured", "t.csv", "--require-sol=0.6", code=3)
        self.tangc("report", "rows.sm_80.sol.json", "m.json")

    @unittest.skipUnless(shutil.which("cc"), "no C compiler")
    def test_verify_and_test_program_try_every_variant(self):
        words = ["rows.tg", "-t", "c", "--specialize=S=1;S%16=0;S=1..30"]
        self.assertIn("in 4 variants, all outputs equal", self.tangc("verify", *words).out)
        self.tangc(*words, "--emit=source,header,test")
        build = ["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "rows.c.c", "rows.c.test.c", "-lm", "-o", "t"]
        subprocess.run(build, cwd=self.dir, check=True)
        self.assertEqual(subprocess.run(["./t"], cwd=self.dir).returncode, 0)
        source = (self.dir / "rows.c.c").read_text()
        for number in range(1, 5):
            broken = source.replace(f"return rows_c_variant_{number}_run(args", "return (tg_status)(args == 0")
            self.file("rows.c.c", broken.replace("(args == 0, dims, workspace, bytes, stream)", "(args == 0)")
                      .replace(f"tg_status rows_c_variant_{number}_run", f"__attribute__((unused)) tg_status rows_c_variant_{number}_run"))
            subprocess.run(build, cwd=self.dir, check=True)
            self.assertEqual(subprocess.run(["./t"], cwd=self.dir, capture_output=True).returncode, 1, number)

    def test_emitted_stages(self):
        self.tangc("rows.tg", "-t", "c", "--specialize=S=1", "--emit=graph,schedule,spec,tg")
        self.tangc("check", "rows.graph.tg")
        for name in "rows.c.schedule.yaml", "rows.c.spec":
            self.assertEqual((self.dir / name).read_text().count("# Variant "), 2, name)
        self.tangc("rows.tg", "-t", "c", "--specialize=S=1", "--dump-dir=dumps", "--emit=source")
        names = self.names("dumps")
        for variant in "variant1", "variant2":
            self.assertTrue(any(n.endswith(f"-lower.c.{variant}.spec") for n in names), names)
            self.assertTrue(any(n.endswith(f"-tighten_bounds.{variant}.tg") for n in names), names)

    def test_refused(self):
        for cases, text in {
                "S": "no condition", "S=": "no condition", "S=x": "no condition",
                "S=2..1": "no condition", "S%0=0": "no condition", "S%4=1": "no condition", "S=-1": "no condition",
                "=1": "no condition", "S=1..2/0": "no condition", "S=1;": "no condition", "S=/2..4": "no condition",
                "T=1": "no dim of that name", "S=201": "no such value in 0..200", "E=3": "no such value in 2..6 step 2",
                "S=1,S=2": "no such value", "S=0..;S=1": "`S=1` is never chosen, because `S=0..` stands before it",
                "S%2=0;S%16=0": "never chosen", "S=1;S=1": "never chosen"}.items():
            self.assertIn(text, self.tangc("rows.tg", "-t", "c", f"--specialize={cases}", code=2).err, cases)
        self.assertIn("no dim of that name", self.tangc("rows.tg", "-t", "c", "-DS=4", "--specialize=S=1", code=2).err)
        self.assertEqual(self.names(), ["relu.tg", "rows.tg"])


if __name__ == "__main__":
    main()
