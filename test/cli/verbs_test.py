"""check, fmt, run, verify, targets, explain, report: what they print, and their exit codes."""
import ast
import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import time
import unittest
import xml.etree.ElementTree

from support import RELU, TANGC, CliTest, main


def npy(path, shape, values, kind="<f4"):
    """Writes a version 1.0 .npy file."""
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {tuple(shape)!r}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    form = {"<f4": "f", "<f8": "d", "<i8": "q", "<i4": "i"}[kind]
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() +
                     struct.pack(f"<{len(values)}{form}", *values))


def read_npy(path):
    data = path.read_bytes()
    size = struct.unpack("<H", data[8:10])[0]
    header = ast.literal_eval(data[10:10 + size].decode())
    form = {"<f4": ("f", 4), "<f8": ("d", 8), "<i8": ("q", 8), "|b1": ("?", 1)}[header["descr"]]
    body = data[10 + size:]
    return header["shape"], list(struct.unpack(f"<{len(body) // form[1]}{form[0]}", body)), header["descr"]


class Check(CliTest):
    def test_lists_dims_and_writes_nothing(self):
        self.assertEqual(self.tangc("check", "relu.tg").out, "dim M in 1..64\ndim N in 1..64\n")
        self.assertEqual(self.tangc("check", "-q", "relu.tg").out, "")
        self.assertEqual(self.names(), ["relu.tg"])

    def test_several_files(self):
        self.file("bad.tg", "tg 1\nnonsense\n")
        self.file("plain.tg", "tg 1\ngraph p\ninput x : f32[4]\ny[i] = x[i]\noutput y : f32[4]\n")
        self.assertEqual(self.tangc("check", "relu.tg", "plain.tg").out, "relu.tg:\ndim M in 1..64\ndim N in 1..64\n")
        err = self.tangc("check", "bad.tg", "relu.tg", "none.tg", code=1).err
        self.assertIn("bad.tg:2:1", err)
        self.assertIn("cannot read `none.tg`", err)

    def test_monoid_laws(self):
        self.file("m.tg", "tg 1\ngraph m\nmonoid minus(s = 0) (a, b) -> (a.s - b.s)\ninput x : f32[8]\n"
                          "y = minus[k](x[k])\noutput y : f32\n")
        self.assertRegex(self.tangc("check", "m.tg", code=1).err, r"E055[01]")

    def test_standard_input(self):
        self.tangc("check", "-", stdin="tg 1\nnonsense\n", code=1)


class Format(CliTest):
    def test_in_place_and_checked(self):
        self.file("f.tg", "tg 1\ngraph   f # note\ninput x:f32[4]\ny[i]=x[i]+1\noutput y:f32[4]\n")
        self.assertIn("not in canonical form", self.tangc("fmt", "--check", "f.tg", code=3).err)
        self.tangc("fmt", "f.tg")
        self.tangc("fmt", "--check", "f.tg")
        text = (self.dir / "f.tg").read_text()
        self.assertIn("# note", text)
        self.assertIn("y[i] = x[i] + 1", text)
        self.assertEqual(self.tangc("fmt", "-", stdin=text).out, text)

    def test_bad_files_stay(self):
        self.file("f.tg", "tg 1\ny = = 2\n")
        self.tangc("fmt", "f.tg", code=1)
        self.assertEqual((self.dir / "f.tg").read_text(), "tg 1\ny = = 2\n")


class Run(CliTest):
    def test_values(self):
        npy(self.dir / "x.npy", (2, 3), [-1, 2, -3, 4, float("nan"), 0.5])
        out = self.tangc("run", "relu.tg", "--input", "x=x.npy", "-o", "out").out
        self.assertTrue(out.startswith("y : f32[2, 3]"), out)
        shape, values, kind = read_npy(self.dir / "out/y.npy")
        self.assertEqual((shape, kind, values[:4], values[5]), ((2, 3), "<f4", [0, 2, 0, 4], 0.5))
        self.assertNotEqual(values[4], values[4])

    def test_dims(self):
        self.assertIn("dim `M` has no value", self.tangc("run", "relu.tg", "--random", "1", code=2).err)
        self.tangc("run", "relu.tg", "--random", "1", "-D", "M=2", "-D", "N=2")
        npy(self.dir / "x.npy", (65, 1), [0] * 65)
        self.tangc("run", "relu.tg", "--input", "x=x.npy", code=2)

    def test_faults_of_data(self):
        npy(self.dir / "x.npy", (6,), range(6))
        self.tangc("run", "relu.tg", "-DM=2", "-DN=3", "--input", "x=x.npy", code=1)
        self.tangc("run", "relu.tg", "-DM=2", "-DN=3", code=1)
        err = self.tangc("run", "relu.tg", "--input", "x=none.npy", code=4).err
        self.assertIn("cannot read `none.npy`: No such file", err)
        self.assertNotIn("has no value", err)  # the data would have said it
        self.tangc("run", "relu.tg", "-DM=2", "-DN=3", "--input", "z=x.npy", code=2)
        self.tangc("run", "relu.tg", "-DM=2", "-DN=3", "--input", "x", code=2)
        self.tangc("run", "relu.tg", "-DM=2", "-DN=3", "--random", "-1", code=2)
        err = self.tangc("run", "relu.tg", "-DM=2", "-DN=3", "--input", "x=x.npy", "--input", "x=x.npy", code=2).err
        self.assertIn("`--input` gives `x` twice", err)

    def test_overflow(self):
        self.file("o.tg", "tg 1\ngraph o\ninput a : i64[2]\ny = sum[i] a[i]\noutput y : i64\n")
        npy(self.dir / "a.npy", (2,), [2**63 - 1, 1], "<i8")
        self.assertIn("E0905", self.tangc("run", "o.tg", "--input", "a=a.npy", code=1).err)

    def test_rounding(self):
        self.file("r.tg", "tg 1\ngraph r\ninput x : f64[1]\ny[i] = x[i] + 0.1\noutput y : f16[1]\n")
        npy(self.dir / "x.npy", (1,), [1.0], "<f8")
        self.tangc("run", "r.tg", "--input", "x=x.npy", "-o", "a")
        self.tangc("run", "r.tg", "--input", "x=x.npy", "-o", "b", "--f64")
        self.assertEqual(read_npy(self.dir / "a/y.npy")[1], [struct.unpack("<e", struct.pack("<e", 1.1))[0]])
        self.assertEqual(read_npy(self.dir / "b/y.npy")[1:], ([1.1], "<f8"))

    def test_safetensors(self):
        data = struct.pack("<4f", 1, -2, 3, -4)
        header = json.dumps({"ext.x": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]}}).encode()
        (self.dir / "m.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + data)
        self.file("s.tg", (self.dir / "relu.tg").read_text().replace("input x", 'input x "ext.x"'))
        for words in (["--input", "x=m.safetensors"], ["--input", "ext.x=m.safetensors"], ["--input", "m.safetensors"]):
            self.tangc("run", "s.tg", *words, "-o", "out", "-q")
            self.assertEqual(read_npy(self.dir / "out/y.npy")[1], [1, 0, 3, 0])

    def test_writes_safetensors(self):
        """All outputs in one file, each in its own format; what is written is read again."""
        types = {"f64": ("F64", 8), "f32": ("F32", 4), "f16": ("F16", 2), "bf16": ("BF16", 2), "f8e4m3": ("F8_E4M3", 1),
                 "f8e5m2": ("F8_E5M2", 1), "i64": ("I64", 8), "i32": ("I32", 4), "i8": ("I8", 1), "u4": ("U8", 1)}
        lines = ["tg 1", "graph t", "input x : f32[2, 3]", "input n : i64[2, 3]"]
        for name in types:
            lines.append(f"o_{name}[i, j] = {'x' if name[0] in 'fb' else 'n'}[i, j]")
            lines.append(f"output o_{name} : {name}[2, 3]")
        self.file("t.tg", "\n".join(lines) + "\n")
        npy(self.dir / "x.npy", (2, 3), [0, 1, -2, 1.5, 0.25, 8])
        npy(self.dir / "n.npy", (2, 3), [0, 1, 2, 3, 4, 5], "<i8")
        self.tangc("run", "t.tg", "--input", "x=x.npy", "--input", "n=n.npy", "-o", "new/all.safetensors")
        self.assertEqual(self.names("new"), ["all.safetensors"])
        data = (self.dir / "new/all.safetensors").read_bytes()
        length = struct.unpack("<Q", data[:8])[0]
        self.assertEqual(length % 8, 0)
        header, body = json.loads(data[8:8 + length]), data[8 + length:]
        self.assertEqual(sorted(header), sorted("o_" + name for name in types))
        end = 0
        for name, entry in header.items():  # in the order of the header: no holes, all aligned
            dtype, size = types[name[2:]]
            self.assertEqual((entry["dtype"], entry["shape"], entry["data_offsets"]), (dtype, [2, 3], [end, end + 6 * size]))
            self.assertEqual(end % size, 0)
            end += 6 * size
        self.assertEqual(end, len(body))
        part = lambda name: body[slice(*header["o_" + name]["data_offsets"])]
        self.assertEqual(struct.unpack("<6e", part("f16")), (0, 1, -2, 1.5, 0.25, 8))
        self.assertEqual(struct.unpack("<6d", part("f64")), (0, 1, -2, 1.5, 0.25, 8))
        self.assertEqual(struct.unpack("<6H", part("bf16")), (0, 0x3f80, 0xc000, 0x3fc0, 0x3e80, 0x4100))
        self.assertEqual(part("f8e4m3"), bytes([0, 0x38, 0xc0, 0x3c, 0x28, 0x50]))
        self.assertEqual(part("f8e5m2"), bytes([0, 0x3c, 0xc0, 0x3e, 0x34, 0x48]))
        self.assertEqual(struct.unpack("<6i", part("i32")), (0, 1, 2, 3, 4, 5))
        self.assertEqual(part("u4"), bytes(range(6)))
        # As inputs of another program, from that file.
        self.file("s.tg", "tg 1\ngraph s\ninput o_bf16 : bf16[2, 3]\ninput o_i8 : i8[2, 3]\n"
                  "z[i, j] = o_bf16[i, j] + o_i8[i, j]\noutput z : f32[2, 3]\n")
        self.tangc("run", "s.tg", "--input", "new/all.safetensors", "-o", "out")
        self.assertEqual(read_npy(self.dir / "out/z.npy")[1], [0, 2, 0, 4.5, 4.25, 13])

    def test_unrounded_safetensors(self):
        self.file("r.tg", "tg 1\ngraph r\ninput x : f64[1]\ny[i] = x[i] + 0.1\noutput y : f16[1]\n")
        npy(self.dir / "x.npy", (1,), [1.0], "<f8")
        self.tangc("run", "r.tg", "--input", "x=x.npy", "-o", "y.safetensors", "--f64")
        data = (self.dir / "y.safetensors").read_bytes()
        self.assertIn(b'"dtype":"F64"', data)
        self.assertEqual(struct.unpack("<d", data[-8:]), (1.1,))

    def test_safetensors_outputs_replace_no_input(self):
        self.tangc("run", "relu.tg", "-DM=2", "-DN=2", "--random", "1", "-o", "x.safetensors")
        before = (self.dir / "x.safetensors").read_bytes()
        self.file("y.tg", RELU.replace("y", "z").replace("x", "y"))
        for words in (["--input", "y=x.safetensors"], ["--input", "x.safetensors"]):
            err = self.tangc("run", "y.tg", *words, "-o", "x.safetensors", code=2).err
            self.assertIn("the output `x.safetensors` would replace the input", err)
        self.assertEqual(before, (self.dir / "x.safetensors").read_bytes())
        (self.dir / "folder.safetensors").mkdir()
        self.assertIn("a folder stands there",
                      self.tangc("run", "y.tg", "--input", "x.safetensors", "-o", "folder.safetensors", code=4).err)
        self.file("m.tg", RELU.replace("y[", "__metadata__[").replace("output y", "output __metadata__"))
        words = ["run", "m.tg", "-DM=2", "-DN=2", "--random", "1", "-o"]
        self.assertIn("cannot hold a tensor called `__metadata__`", self.tangc(*words, "m.safetensors", code=2).err)
        self.tangc(*words, "m")

    def test_random_is_stated(self):
        words = ["run", "relu.tg", "-D", "M=4", "-D", "N=4", "-o"]
        self.tangc(*words, "a", "--random", "7")
        self.tangc(*words, "b", "--random", "7")
        self.tangc(*words, "c", "--random", "8")
        a, b, c = ((self.dir / d / "y.npy").read_bytes() for d in "abc")
        self.assertEqual(a, b)
        self.assertNotEqual(a, c)


class Verify(CliTest):
    @unittest.skipUnless(shutil.which("cc"), "no C compiler")
    def test_c(self):
        out = self.tangc("verify", "relu.tg", "-t", "c", "--random", "5").out
        self.assertRegex(out, r"^c: 1 kernel, all outputs equal the interpreter\n"
                              r"  at M = \d+, N = \d+, inputs of seed 5\n"
                              r"    `y`: largest error \d\.\de[+-]\d+ of its largest value, \d\.\de[+-]\d+ allowed\n$")

    @unittest.skipUnless(shutil.which("cc"), "no C compiler")
    def test_names_what_differs(self):
        """A compiler that turns every maximum into a wrong one stands for a fault."""
        self.file("badcc", "#!/bin/sh\nsed -i 's/= c ? 0.0f/= c ? 1.0f/; s/? 0.0f :/? 1.0f :/' kernels.c\nexec cc \"$@\"\n").chmod(0o755)
        err = self.tangc("verify", "relu.tg", "-t", "c", f"--compiler={self.dir}/badcc", code=3).err
        self.assertRegex(err, r"y: \d+ of \d+ elements differ, first element")

    @unittest.skipUnless(shutil.which("cc"), "no C compiler")
    def test_digits_that_f32_loses(self):
        """The cosine of a large number is no fault of the code, and is said."""
        self.file("far.tg", "tg 1\ngraph far\ndim N = 64\ninput p : i32[N] in 1000000..1048576\n"
                            "y[i] = cos(p[i] * 0.9)\nz[i] = p[i] * 0.9\noutput y : f32[N]\noutput z : f32[N]\n")
        out = self.tangc("verify", "far.tg", "-t", "c").out
        self.assertRegex(out, r"`y` within 0\.\d+ of its largest value")
        self.assertNotIn("`z` within", out)
        self.file("badcc", "#!/bin/sh\nsed -i 's/cosf(/sinf(/' kernels.c\nexec cc \"$@\"\n").chmod(0o755)
        self.tangc("verify", "far.tg", "-t", "c", f"--compiler={self.dir}/badcc", code=3)

    def test_without_tools(self):
        err = self.tangc("verify", "relu.tg", "-t", "c", "--compiler=/none/cc", code=4).err
        self.assertIn("/none/cc", err)
        self.tangc("verify", "relu.tg", "-t", "c", code=4, env={"PATH": "/none"})

    def test_signals(self):
        """What ends it ends what it started, and leaves nothing behind."""
        self.file("slow", "#!/bin/sh\ntouch ../started\nsleep 60 &\necho $! > ../sleeper\nwait\n").chmod(0o755)
        for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
            folder = self.dir / f"tmp{number}"
            folder.mkdir()
            process = subprocess.Popen([TANGC, "verify", "relu.tg", "-t", "c", f"--compiler={self.dir}/slow"],
                                       cwd=self.dir, env={**os.environ, "TMPDIR": str(folder)})
            for _ in range(600):
                if (folder / "sleeper").exists() and (folder / "sleeper").read_text():
                    break
                time.sleep(0.05)
            process.send_signal(number)
            self.assertEqual(process.wait(timeout=20), -number)
            self.assertEqual(list(folder.glob("tangc-*")), [])
            status = pathlib.Path(f"/proc/{(folder / 'sleeper').read_text().strip()}/stat")
            for _ in range(200):
                if not status.exists() or status.read_text().split()[2] == "Z":
                    break
                time.sleep(0.05)
            else:
                self.fail("what the compiler started still runs")

    @unittest.skipUnless(shutil.which("cc"), "no C compiler")
    def test_any_file_name(self):
        for name in "a\nb.tg", 'a"b.tg', "a\\b.tg", "08.tg", "-x.tg":
            self.file(name, RELU.replace("graph relu_rows\n", ""))
            self.tangc("verify", "-t", "c", "--", name)

    def test_that_does_not_build(self):
        self.file("badcc", "#!/bin/sh\necho broken; exit 1\n").chmod(0o755)
        self.assertIn("broken", self.tangc("verify", "relu.tg", "-t", "c", f"--compiler={self.dir}/badcc", code=3).err)


class TestPrograms(CliTest):
    @unittest.skipUnless(shutil.which("gcc"), "no gcc")
    def test_self_checking(self):
        self.tangc("relu.tg", "-t", "c", "--emit=source,header,test")
        build = ["gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", "relu.c.c", "relu.c.test.c", "-lm", "-o", "t"]
        subprocess.run(build, cwd=self.dir, check=True)
        self.assertEqual(subprocess.run(["./t"], cwd=self.dir).returncode, 0)
        source = (self.dir / "relu.c.c").read_text().replace("? 0.0f", "? 2.0f")
        self.file("relu.c.c", source)
        subprocess.run(build, cwd=self.dir, check=True)
        self.assertEqual(subprocess.run(["./t"], cwd=self.dir, capture_output=True).returncode, 1)


class Tables(CliTest):
    def test_targets(self):
        text = self.tangc("targets").out
        for name in "sm_80", "c+avx2", "h200", "wgsl":
            self.assertIn(name, text)
        self.assertIn("max_threads_per_block", self.tangc("targets", "sm_80").out)
        figures = json.loads(self.tangc("targets", "sm_90a:h200", "--json").out)["sm_90a:h200"]
        self.assertEqual(figures["limits"]["warp_size"]["value"], 32)
        self.assertTrue(figures["roofs"]["dram_bytes_per_s.hard"]["source"])
        self.assertIn("c", json.loads(self.tangc("targets", "--json").out))
        self.tangc("targets", "sm_1", code=2)
        self.assertIn("it is a device: write `sm_90a:h200`", self.tangc("targets", "h200", code=2).err)

    def test_explain(self):
        self.assertTrue(self.tangc("explain", "E0301").out.startswith("E0301 unknown_name (error)\n"))
        self.assertIn("-Wunused-input", self.tangc("explain", "unused-input").out)
        self.assertEqual(self.tangc("explain", "e0301").out, self.tangc("explain", "E0301").out)
        self.tangc("explain", "E9999", code=2)
        lines = self.tangc("explain").out.splitlines()
        self.assertIn("W0001 unused_input (-Wunused-input): An `input` or `param` that no equation reads.", lines)
        for line in lines:
            self.assertRegex(line, r"^[EW]\d{4} \w+( \(-W[\w-]+\))?: .+")
        self.assertEqual(lines, sorted(lines))


class Remarks(CliTest):
    ATTENTION = """tg 1
graph attention
dim S in 1..4096, D in 1..256
input q : f32[S, D]
input k : f32[S, D]
input v : f32[S, D]
s[i, j] = sum[d] q[i, d] * k[j, d]
p[i, j] = softmax[j] s[i, j]
o[i, d] = sum[j] p[i, j] * v[j, d]
output o : f32[S, D]
"""

    def test_what_stopped_a_law_is_in_the_report(self):
        self.file("a.tg", self.ATTENTION)
        why = "stabilize_softmax stops at `o`: the extent D of its column `d` is no number"
        err = self.tangc("a.tg", "-t", "c", "-v").err
        self.assertIn(f"note: {why}", err)
        self.assertNotIn("warning", err)
        self.assertIn(f"note: a law stopped at a.tg:9: {why}", self.tangc("report", "a.c.sol.json").out)
        self.assertIn(why, self.tangc("a.tg", "-t", "c", "-Wperf").err)
        self.assertEqual(self.tangc("a.tg", "-t", "c", "-D", "D=64", "-Wperf").err, "")
        self.assertNotIn("a law stopped", self.tangc("report", "a.c.sol.json").out)
        self.assertIn(": 1 kernel, ", self.tangc("report", "a.c.sol.json").out)


class Reports(CliTest):
    def setUp(self):
        super().setUp()
        self.file("relu.tg", RELU.replace("1..64", "1..65536"))  # beyond the caches, so that the warm floor is one
        self.tangc("relu.tg", "-t", "c", "-D", "M=16384", "-D", "N=16384")
        self.report = json.loads((self.dir / "relu.c.sol.json").read_text())
        self.kernel = self.report["kernels"][0]

    def test_schema_and_manifest(self):
        self.assertEqual(self.report["schema"], "tangc.sol/1")
        self.assertIn(self.kernel["name"], (self.dir / "relu.c.c").read_text())
        self.assertEqual(self.report["tool"]["options"][:2], ["--target=c", "-O2"])

    def test_text_and_difference(self):
        self.assertIn(self.kernel["name"], self.tangc("report", "relu.c.sol.json").out)
        self.tangc("relu.tg", "-t", "c", "-D", "M=32", "-D", "N=64", "-d", "half")
        self.tangc("report", "relu.c.sol.json", "half/relu.c.sol.json")

    def test_html(self):
        """One page, well-formed, the same from the compiler and from the report."""
        self.tangc("relu.tg", "-t", "c,sm_80", "-D", "M=16384", "-D", "N=16384", "-d", "a", "--emit=report,html")
        self.tangc("relu.tg", "-t", "c,sm_80", "-D", "M=16384", "-D", "N=16384", "-d", "b", "--emit=html", "-j2")
        self.assertEqual(self.names("b"), ["relu.c.html", "relu.sm_80.html"])
        for name in self.names("b"):
            page = (self.dir / "a" / name).read_text()
            self.assertEqual(page, (self.dir / "b" / name).read_text())
            self.assertEqual(page, self.tangc("report", "a/" + name.replace(".html", ".sol.json"), "--html").out)
            root = xml.etree.ElementTree.fromstring(page)
            self.assertEqual(root.find("body/h1").text, "relu_rows for " + ("c on generic-x86" if ".c." in name else "sm_80 on a100-80gb"))
            ids = {e.get("id") for e in root.iter() if e.get("id")}
            links = {e.get("href") for e in root.iter("a")}
            self.assertEqual({"#" + i for i in ids}, links)
            self.assertFalse({e.tag for e in root.iter()} & {"script", "link", "img", "iframe"})
            self.assertNotIn(str(self.dir), page)

    def test_html_of_measurements_and_two_reports(self):
        self.file("slow.csv", f"{self.kernel['name']},{self.kernel['floor']['us'] * 4}\n")
        page = self.tangc("report", "relu.c.sol.json", "--measured", "slow.csv", "--html").out
        self.assertIn("25% of the floor", page)
        page = self.tangc("report", "relu.c.sol.json", "relu.c.sol.json", "--html").out
        self.assertIn("<h2>Against relu.tg for c on generic-x86</h2>", page)
        xml.etree.ElementTree.fromstring(page)

    def test_html_of_hostile_names(self):
        name = "<script>&\"'.tg"
        self.file(name, RELU.replace("graph relu_rows\n", ""))
        self.tangc(name, "-t", "c", "-d", "out", "--emit=html,report", "--specialize=M=1", "--prefix=x")
        page = (self.dir / "out" / (name[:-3] + ".c.html")).read_text()
        root = xml.etree.ElementTree.fromstring(page)
        self.assertIn(name, "".join(root.itertext()))
        self.assertIn("Variant 1: M == 1", "".join(root.itertext()))

    def test_measured(self):
        floor = self.kernel["floor"]["us"]
        self.file("slow.csv", f"kernel,us\n{self.kernel['name']},{floor * 100}\n")
        self.file("fast.csv", f"{self.kernel['name']},1e-9\n")
        self.tangc("report", "relu.c.sol.json", "--measured", "slow.csv", "-o", "m.sol.json")
        self.assertIsNotNone(json.loads((self.dir / "m.sol.json").read_text())["kernels"][0]["measured"])
        self.tangc("report", "relu.c.sol.json", "--measured", "slow.csv", "--require-sol=0.5", code=3)
        self.tangc("report", "relu.c.sol.json", "--measured", "fast.csv", code=3)

    def test_faults(self):
        self.file("a.json", "{")
        self.file("b.json", '{"schema": "other"}')
        for name in "a.json", "b.json":
            self.tangc("report", name, code=1)
        self.tangc("report", "none.json", code=4)
        for words in ["--require-sol=0.9"], ["-o", "x"]:
            self.tangc("report", "relu.c.sol.json", *words, code=2)
        for part in "0", "2", "x":
            self.tangc("report", "relu.c.sol.json", "--measured", "t.csv", f"--require-sol={part}", code=2)


if __name__ == "__main__":
    main()
