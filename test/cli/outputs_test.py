"""Names of outputs, all or nothing, depfiles, and the same bytes everywhere."""
import os
import pathlib
import shutil
import signal
import subprocess
import time
import unittest

from support import RELU, TANGC, CliTest, main


class Names(CliTest):
    def test_default(self):
        self.tangc("relu.tg", "-t", "c", "-d", "out/deep")
        self.assertIn("relu.c.c", self.names("out/deep"))
        self.assertIn("relu.h", self.names("out/deep"))

    def test_single_source(self):
        self.tangc("relu.tg", "-t", "c", "-o", "kernels.c")
        self.assertEqual(self.names(), ["kernels.c", "relu.tg"])
        self.tangc("relu.tg", "-t", "c", "-o", "a/kernels.c", "--emit=source,header")
        self.assertEqual(self.names("a"), ["kernels.c", "relu.h"])
        self.tangc("relu.tg", "-t", "c,sm_80", "-o", "kernels.c", code=2)

    def test_the_only_kind_is_named(self):
        out = self.tangc("relu.tg", "-t", "sm_80", "--emit=schedule", "-o", "-").out
        self.assertIn("emitter: ", out)
        self.assertEqual(self.names(), ["relu.tg"])
        self.tangc("relu.tg", "-t", "c", "--emit=report", "-o", "r/relu.json")
        self.assertEqual(self.names("r"), ["relu.json"])

    def test_targets_share_a_header(self):
        self.tangc("relu.tg", "-t", "c,c+avx2,sm_80", "-d", "out", "--emit=source,header")
        self.assertEqual(self.names("out"), ["relu.c+avx2.c", "relu.c.c", "relu.h", "relu.sm_80.cu"])
        header = (self.dir / "out/relu.h").read_text()
        for symbol in "relu_rows_c_run", "relu_rows_c_avx2_run", "relu_rows_sm_80_run":
            self.assertIn(symbol, header)
        self.assertNotIn("define relu_rows_run", header)

    def test_device_is_in_no_name(self):
        self.tangc("relu.tg", "-t", "sm_80:a100-40gb", "-d", "out", "--emit=source")
        self.assertEqual(self.names("out"), ["relu.sm_80.cu"])

    def test_every_kind(self):
        self.tangc("relu.tg", "-t", "c", "-d", "out", "--emit=tg,graph,schedule,spec,test,cmake")
        self.assertEqual(self.names("out"), ["relu.c.schedule.yaml", "relu.c.spec", "relu.c.test.c", "relu.cmake",
                                             "relu.graph.tg", "relu.parse.tg"])

    def test_print_outputs_is_what_is_written(self):
        words = ["relu.tg", "-t", "c,sm_80", "-d", "out", "--emit=source,header,spec,tg", "-MD"]
        listed = self.tangc(*words, "--print-outputs").out.splitlines()
        self.assertFalse((self.dir / "out").exists())
        self.tangc(*words)
        self.assertEqual(sorted(listed), ["out/" + n for n in self.names("out")])
        self.assertEqual(listed[0], "out/relu.c.c")

    def test_print_outputs_reads_nothing(self):
        self.assertEqual(self.tangc("none.tg", "-t", "c", "-o", "x.c", "--print-outputs").out, "x.c\n")

    def test_split(self):
        self.tangc("relu.tg", "-t", "c", "-d", "out", "--split=kernel")
        names = self.names("out")
        kernels = [n for n in names if n.startswith("relu.c.kernels/")]
        self.assertTrue(kernels)
        self.assertIn(kernels[0], (self.dir / "out/relu.c.c").read_text())
        if shutil.which("cc"):
            subprocess.run(["cc", "-std=c11", "-c", "out/relu.c.c", "-o", "x.o"], cwd=self.dir, check=True)

    def test_prefix(self):
        self.tangc("relu.tg", "-t", "c", "--prefix=my_net")
        self.assertIn("my_net_c_run", (self.dir / "relu.h").read_text())


    @unittest.skipUnless(shutil.which("cc"), "no C compiler")
    def test_prefix_is_one_identifier(self):
        """Of the option, the graph, or the file; everything that is written agrees on it."""
        unnamed = RELU.replace("graph relu_rows\n", "")
        for name, words, prefix in (("08", [], "graph_08"), ("a-b", [], "a_b"), ("_Up", [], "graph__Up"), ("int", [], "int"),
                                    ("x", ["--prefix=1a"], "graph_1a"), ("x", ["--prefix=a.b"], "a_b"),
                                    ("x", ["--prefix=__x"], "graph___x"), ("x", ["--prefix=é"], "graph___")):
            self.file(f"{name}.tg", unnamed)
            self.tangc("-t", "c", "-d", "out", "--emit=source,header,test,cmake", *words, "--", f"{name}.tg")
            self.assertIn(f"tg_status {prefix}_c_run(", (self.dir / "out" / f"{name}.h").read_text())
            self.assertIn(f"add_library({prefix} STATIC", (self.dir / "out" / f"{name}.cmake").read_text())
            subprocess.run(["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-Iout", f"out/{name}.c.c", f"out/{name}.c.test.c",
                            "-lm", "-o", "test"], cwd=self.dir, check=True)
            subprocess.run(["./test"], cwd=self.dir, check=True)

    @unittest.skipUnless(shutil.which("cmake") and shutil.which("cc"), "no cmake")
    def test_cmake_reads_the_names(self):
        odd = ["a b", "a@b@", 'a"b', "a#b", "a(b)", "a[[b]]", "a'b", "a%b"]
        lines = ["cmake_minimum_required(VERSION 3.16)", "project(names C)"]
        for number, name in enumerate(odd):
            self.file(f"{name}.tg", RELU)
            self.tangc(f"{name}.tg", "-t", "c", "-d", f"o{number}", f"--prefix=p{number}", "--emit=source,header,cmake")
            shutil.move(self.dir / f"o{number}/{name}.cmake", self.dir / f"o{number}/it.cmake")
            lines.append(f"include(${{CMAKE_CURRENT_SOURCE_DIR}}/o{number}/it.cmake)")
        self.file("CMakeLists.txt", "\n".join(lines) + "\n")
        done = subprocess.run(["cmake", "-S", ".", "-B", "build"], cwd=self.dir, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_names_that_files_cannot_hold(self):
        for kind, name in (("cmake", "a;b"), ("cmake", "a\\b"), ("cmake", "a\nb"), ("cmake", "a$<1:b>"), ("cmake", "a$ENV{HOME}"), ("cmake", "a${b}"), ("test", "a\\b"),
                           ("test", 'a"b'), ("test", "a\nb"), ("test", "a??b")):
            self.file(f"x/{name}.tg", RELU)
            err = self.tangc(f"x/{name}.tg", "-t", "c", "-d", "out", f"--emit=source,header,{kind}", code=2).err
            self.assertRegex(err, "a (cmake file|line of C `#include`) cannot hold the name")
        self.assertEqual(self.names("out"), [])


class AllOrNothing(CliTest):
    def test_errors_leave_old_outputs(self):
        self.tangc("relu.tg", "-t", "c", "-d", "out", "-MD")
        before = {n: (self.dir / "out" / n).read_bytes() for n in self.names("out")}
        self.file("relu.tg", RELU + "z[i] = nothing[i]\n")
        self.tangc("relu.tg", "-t", "c", "-d", "out", "-MD", code=1)
        self.assertEqual(before, {n: (self.dir / "out" / n).read_bytes() for n in self.names("out")})

    def test_errors_make_no_folder(self):
        self.file("bad.tg", "tg 1\n???\n")
        self.tangc("bad.tg", "-t", "c", "-d", "new/folder", code=1)
        self.assertFalse((self.dir / "new").exists())

    def test_unwritable(self):
        self.file("plain", "")
        (self.dir / "folder.c").mkdir()
        for words in (["-d", "plain"], ["-d", "plain/deep"], ["-o", "folder.c"], ["-o", "/proc/none/x.c"],
                      ["-MD", "-MF", "plain/x.d"]):
            self.assertIn("cannot write", self.tangc("relu.tg", "-t", "c", *words, code=4).err, words)
        # Before any work: the input is not even read.
        self.tangc("none.tg", "-t", "c", "-d", "plain", code=4)

    @unittest.skipIf(os.geteuid() == 0, "the superuser can write everywhere")
    def test_read_only_folder(self):
        (self.dir / "ro").mkdir()
        (self.dir / "ro").chmod(0o555)
        self.tangc("relu.tg", "-t", "c", "-d", "ro", code=4)

    def test_unreadable(self):
        self.assertIn("cannot read `none.tg`", self.tangc("none.tg", "-t", "c", code=4).err)
        self.tangc(".", "-t", "c", code=4)
        self.tangc("check", "none.tg", code=4)

    def test_input_is_never_replaced(self):
        self.assertIn("replace the input", self.tangc("relu.tg", "-t", "c", "-o", "./relu.tg", code=2).err)
        self.assertEqual((self.dir / "relu.tg").read_text(), RELU)

    def test_one_name_twice(self):
        self.tangc("relu.tg", "-t", "c", "-o", "relu.h", "--emit=source,header", code=2)

    def test_full_device(self):
        if pathlib.Path("/dev/full").exists():
            self.tangc("relu.tg", "-t", "c", "-o", "/dev/full", code=4)

    def test_devices_are_written_in_place(self):
        self.tangc("relu.tg", "-t", "c", "-o", "/dev/null")
        self.assertTrue(pathlib.Path("/dev/null").is_char_device())

    def test_links_are_followed(self):
        self.file("real/x.c", "old")
        (self.dir / "x.c").symlink_to("real/x.c")
        self.tangc("relu.tg", "-t", "c", "-o", "x.c")
        self.assertTrue((self.dir / "x.c").is_symlink())
        self.assertIn("relu_rows_c_run", (self.dir / "real/x.c").read_text())

    def test_closed_stdout(self):
        reader, writer = os.pipe()
        os.close(reader)
        done = subprocess.run([TANGC, "relu.tg", "-t", "c", "-o", "-"], cwd=self.dir, stdout=writer,
                              stderr=subprocess.PIPE)
        os.close(writer)
        self.assertEqual(done.returncode, 4)

    def test_killed(self):
        """Whenever it is killed, each output is complete: the old one or the new one."""
        self.tangc("relu.tg", "-t", "c", "-d", "old")
        self.tangc("relu.tg", "-t", "c", "-d", "new", "--prefix=other")
        sides = [{n: (self.dir / d / n).read_bytes() for n in self.names(d)} for d in ("old", "new")]
        start = time.monotonic()
        self.tangc("relu.tg", "-t", "c", "-d", "out")
        span = time.monotonic() - start
        for i in range(40):
            words = ["--prefix=other"] if i % 2 == 0 else []
            process = subprocess.Popen([TANGC, "relu.tg", "-t", "c", "-d", "out", *words], cwd=self.dir)
            time.sleep(span * i / 40)
            process.send_signal(signal.SIGKILL)
            process.wait()
            for name in sides[0]:
                self.assertIn((self.dir / "out" / name).read_bytes(), [side[name] for side in sides])

    def test_write_if_changed(self):
        self.tangc("relu.tg", "-t", "c", "-d", "out")
        source = self.dir / "out/relu.c.c"
        os.utime(source, (1, 1))
        self.tangc("relu.tg", "-t", "c", "-d", "out", "--write-if-changed")
        self.assertEqual(source.stat().st_mtime, 1)
        self.tangc("relu.tg", "-t", "c", "-d", "out", "--write-if-changed", "--prefix=b")
        self.assertNotEqual(source.stat().st_mtime, 1)
        self.tangc("relu.tg", "-t", "c", "-d", "out", "--prefix=b")
        self.assertNotEqual(source.stat().st_mtime, 1)


class Depfiles(CliTest):
    def setUp(self):
        super().setUp()
        self.file("lib/ops.tg", "tg 1\ndef twice(a) = 2 * a\n")
        self.file("main.tg", RELU.replace("dim M", 'include "lib/ops.tg"\ndim M').replace("relu(", "twice("))

    def rule(self, *words, file="main.c.d", source="main.tg"):
        self.tangc(source, "-t", "c", "--emit=source,header", "-MD", *words)
        return (self.dir / file).read_text()

    def test_one_rule_first_output_first(self):
        self.assertEqual(self.rule(), "main.c.c main.h: \\\n  main.tg \\\n  lib/ops.tg\n")

    def test_names(self):
        self.assertTrue(self.rule("-MF", "x.d", file="x.d").startswith("main.c.c main.h:"))
        self.assertTrue(self.rule("-MFy.d", file="y.d").startswith("main.c.c main.h:"))
        self.assertTrue(self.rule("-MT", "$(OUT)/a b").startswith("$(OUT)/a b:"))
        self.assertTrue(self.rule("-MQ", "$(OUT)/a b", "-MT", "c").startswith("c $$(OUT)/a\\ b:"))

    def test_phony(self):
        self.assertTrue(self.rule("-MP").endswith("lib/ops.tg\nlib/ops.tg:\n"))

    def test_rule_only(self):
        out = self.tangc("main.tg", "-t", "c", "--emit=source,header", "-M").out
        self.assertEqual(out, "main.c.c main.h: \\\n  main.tg \\\n  lib/ops.tg\n")
        self.assertEqual(self.names(), ["lib/ops.tg", "main.tg", "relu.tg"])

    def test_refinements_need_a_depfile(self):
        for words in ["-MP"], ["-MT", "x"], ["-MF", "x.d"], ["-MQ", "x"]:
            self.tangc("main.tg", "-t", "c", *words, code=2)

    def test_make_reads_the_names(self):
        """Blanks, dollars, hashes and backslashes come back as they were."""
        if not shutil.which("make"):
            self.skipTest("no make")
        for stem in "a b", "c$d", "e#f", "g\\h", "i\\ j", "k'l", "m&n":
            with self.subTest(stem):
                self.file(f"{stem}.tg", RELU)
                rule = self.rule(source=f"{stem}.tg", file=f"{stem}.c.d")
                self.file("dep.mk", rule)
                self.file("Makefile", "include dep.mk\n")
                os.utime(self.dir / f"{stem}.tg", (2, 2))
                quiet = subprocess.run(["make", "-q", f"{stem}.c.c"], cwd=self.dir, capture_output=True, text=True)
                self.assertEqual(quiet.returncode, 0, quiet.stderr)
                os.utime(self.dir / f"{stem}.tg", (2**31, 2**31))
                stale = subprocess.run(["make", "-q", f"{stem}.c.c"], cwd=self.dir, capture_output=True, text=True)
                self.assertNotIn("No rule", stale.stderr)

    def test_missing_include(self):
        self.file("main.tg", RELU.replace("dim M", 'include "gone.tg"\ndim M'))
        err = self.tangc("main.tg", "-t", "c", "-MD", code=1).err
        self.assertRegex(err, r"main\.tg:3:\d+: error: .*gone\.tg")


class SameBytes(CliTest):
    def outputs(self, folder):
        return {n: (self.dir / folder / n).read_bytes() for n in self.names(folder)}

    def test_folders_jobs_locale(self):
        words = ["-t", "c,c+avx2,sm_80,sm_90a", "--emit=source,header,report,tg,graph,schedule,spec,test,cmake"]
        self.tangc("relu.tg", *words, "-d", "one", "-j1")
        self.tangc("relu.tg", *words, "-d", "two", "-j4", env={"LC_ALL": "de_DE.UTF-8", "TZ": "Asia/Tokyo"})
        shutil.copytree(self.dir / "one", self.dir / "kept")
        (self.dir / "other/place").mkdir(parents=True)
        shutil.copy(self.dir / "relu.tg", self.dir / "other/place/relu.tg")
        self.tangc("other/place/relu.tg", *words, "-d", "three")
        self.tangc(self.dir / "relu.tg", *words, "-d", self.dir / "four")
        first = self.outputs("one")
        self.assertTrue(first)
        for folder in "two", "three", "four":
            self.assertEqual(first, self.outputs(folder), folder)

    def test_head_comment(self):
        import hashlib
        self.tangc("relu.tg", "-t", "c", "-D", "M=3", "-O1")
        text = (self.dir / "relu.c.c").read_text()
        self.assertIn(hashlib.sha256(RELU.encode()).hexdigest(), text)
        self.assertIn("-O1 -DM=3", text)
        self.assertNotIn(str(self.dir), text)


if __name__ == "__main__":
    main()
