"""`--embed=c-array`: each source also as data."""
import re
import shutil
import subprocess
import unittest

from support import RELU, CliTest, main

COMPILERS = shutil.which("cc") and shutil.which("c++")


class Embed(CliTest):
    def check(self, stem, target, extension, symbol):
        """Both compilers take the pair, and a program that links it prints the source."""
        out = self.dir / "out"
        header = f"{stem}.{target}.embed.h"
        self.file("out/show.c", f'#include "{header}"\n#include "{header}"\n#include <stdio.h>\nint main(void) {{\n'
                  f"  return fwrite({symbol}, 1, {symbol}_bytes, stdout) != {symbol}_bytes || {symbol}[{symbol}_bytes];\n}}\n")
        for compiler, language in (("cc", ["-x", "c", "-std=c11"]), ("c++", ["-x", "c++", "-std=c++11"])):
            subprocess.run([compiler, *language, "-Wall", "-Wextra", "-Werror", "-pedantic", f"{stem}.{target}.embed.c",
                            "show.c", "-o", "show"], cwd=out, check=True)
            shown = subprocess.run(["./show"], cwd=out, check=True, capture_output=True).stdout
            self.assertEqual(shown, (out / f"{stem}.{target}{extension}").read_bytes())

    @unittest.skipUnless(COMPILERS, "no C and C++ compilers")
    def test_the_bytes_are_the_source(self):
        self.tangc("relu.tg", "-t", "c,c+avx2,sm_80", "-d", "out", "--embed=c-array")
        for target, extension in (("c", ".c"), ("c+avx2", ".c"), ("sm_80", ".cu")):
            self.check("relu", target, extension, f"relu_rows_{target.replace('+', '_')}_source")

    @unittest.skipUnless(COMPILERS, "no C and C++ compilers")
    def test_names_of_any_file_and_prefix(self):
        for stem, words, prefix in (("a-b c", [], "a_b_c"), ("08", [], "graph_08"), ("x", ["--prefix=a.b"], "a_b"),
                                    ("é*", [], "graph____")):
            self.file(f"{stem}.tg", RELU.replace("graph relu_rows\n", ""))
            self.tangc("-t", "sm_80", "-d", "out", "--embed=c-array", "--emit=source", *words, "--", f"{stem}.tg")
            text = (self.dir / "out" / f"{stem}.sm_80.embed.h").read_text()
            symbol = re.search(r"extern const unsigned char (\w+)\[\];", text).group(1)
            self.assertEqual(symbol, f"{prefix}_sm_80_source")
            self.check(stem, "sm_80", ".cu", symbol)

    @unittest.skipUnless(COMPILERS, "no C and C++ compilers")
    def test_links_with_the_source(self):
        """Also where an equation is called `source`."""
        self.file("s.tg", "tg 1\ngraph s\ndim N in 1..9\ninput x : f32[N]\nsource[i] = x[i] + 1\n"
                  "source_bytes[i] = x[i] * 2\noutput source : f32[N]\noutput source_bytes : f32[N]\n")
        self.tangc("s.tg", "-t", "c", "-d", "out", "-O0", "--embed=c-array", "--emit=source,header,test")
        subprocess.run(["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "s.c.c", "s.c.embed.c", "s.c.test.c", "-lm",
                        "-o", "t"], cwd=self.dir / "out", check=True)
        subprocess.run(["./t"], cwd=self.dir / "out", check=True)
        self.tangc("s.tg", "-t", "sm_80", "-d", "out", "-O0", "--embed=c-array", "--emit=source")
        self.assertNotRegex((self.dir / "out/s.sm_80.cu").read_text(), r"\bs_sm_80_source(_bytes)?\b")

    def test_outputs_and_depfile(self):
        words = ["relu.tg", "-t", "c,sm_80", "-d", "out", "--emit=source", "--embed=c-array", "-MD"]
        listed = self.tangc(*words, "--print-outputs").out.splitlines()
        self.tangc(*words)
        self.assertEqual(sorted(listed), ["out/" + n for n in self.names("out")])
        self.assertEqual(listed, ["out/relu.c.c", "out/relu.c.embed.c", "out/relu.c.embed.h", "out/relu.sm_80.cu",
                                  "out/relu.sm_80.embed.c", "out/relu.sm_80.embed.h", "out/relu.c.d"])
        self.assertEqual((self.dir / "out/relu.c.d").read_text(), " ".join(listed[:-1]) + ": \\\n  relu.tg\n")

    def test_the_source_does_not_depend_on_it(self):
        self.tangc("relu.tg", "-t", "sm_80", "-d", "with", "--emit=source", "--embed=c-array")
        self.tangc("relu.tg", "-t", "sm_80", "-d", "without", "--emit=source")
        self.assertEqual((self.dir / "with/relu.sm_80.cu").read_bytes(), (self.dir / "without/relu.sm_80.cu").read_bytes())

    def test_beside_a_named_source(self):
        self.tangc("relu.tg", "-t", "sm_80", "-o", "a/kernels.cu", "--embed=c-array")
        self.assertEqual(self.names("a"), ["kernels.cu", "relu.sm_80.embed.c", "relu.sm_80.embed.h"])

    def test_old_outputs_stay(self):
        self.tangc("relu.tg", "-t", "c", "-d", "out", "--embed=c-array")
        before = {n: (self.dir / "out" / n).read_bytes() for n in self.names("out")}
        self.file("relu.tg", RELU + "z[i] = nothing[i]\n")
        self.tangc("relu.tg", "-t", "c", "-d", "out", "--embed=c-array", code=1)
        self.assertEqual(before, {n: (self.dir / "out" / n).read_bytes() for n in self.names("out")})

    def test_refused(self):
        for words, text in ((["--emit=header"], "`--emit` names no source"), (["--split=kernel"], "several files")):
            self.assertIn(text, self.tangc("relu.tg", "-t", "c", "-d", "out", "--embed=c-array", *words, code=2).err)
        self.file('a"b.tg', RELU)
        err = self.tangc('a"b.tg', "-t", "c", "-d", "out", "--embed=c-array", code=2).err
        self.assertIn("a line of C `#include` cannot hold the name", err)
        self.assertEqual(self.names("out"), [])

    @unittest.skipUnless(shutil.which("cmake") and shutil.which("cc"), "no cmake")
    def test_the_library_of_cmake_holds_it(self):
        self.tangc("relu.tg", "-t", "c", "-d", "out", "--emit=source,header,cmake", "--embed=c-array")
        self.file("main.c", '#include "relu.c.embed.h"\nint main(void) { return relu_rows_c_source_bytes < 100; }\n')
        self.file("CMakeLists.txt", "cmake_minimum_required(VERSION 3.16)\nproject(p C)\ninclude(out/relu.cmake)\n"
                  "add_executable(main main.c)\ntarget_link_libraries(main PRIVATE relu_rows)\n")
        for words in (["-S", ".", "-B", "build"], ["--build", "build"]):
            subprocess.run(["cmake", *words], cwd=self.dir, check=True, capture_output=True)
        subprocess.run(["build/main"], cwd=self.dir, check=True)


if __name__ == "__main__":
    main()
