"""Strides: what test programs and `verify` put into memory and read back, and what launchers refuse."""
import ctypes
import shutil
import subprocess
import unittest

from support import CliTest, main


def program(input_type, output_type, dims="dim N in 1..10", value="x[i, j]"):
    return f"tg 1\ngraph strided\n{dims}\ninput x : {input_type}\ny[i, j] = {value}\noutput y : {output_type}\n"


@unittest.skipUnless(shutil.which("cc"), "no C compiler")
class Verified(CliTest):
    def verify(self, *types, **rest):
        self.file("s.tg", program(*types, **rest))
        self.tangc("verify", "s.tg", "-t", "c")
        self.tangc("s.tg", "-t", "c", "-d", "o", "--emit=source,header,test")
        subprocess.run(["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined", "-Io", "-g",
                        "o/s.c.c", "o/s.c.test.c", "-lm", "-o", "o/test"], cwd=self.dir, check=True)
        done = subprocess.run(["o/test"], cwd=self.dir, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_strided_outputs(self):
        for kind, strides in ("f32", "[8, 2]"), ("i32", "[1, 10]"), ("f16", "[LD, 1]"):
            self.verify(f"{kind}[N, 4]", f"{kind}[N, 4]:{strides} align 4", dims="dim N in 1..10, LD in 1..10")
        self.verify("u4[N, 3]", "u4[N, 3]:[5, 1]")

    def test_elements_that_share_an_address(self):
        for kind, strides in ("f32", "[0, 1]"), ("f32", "[1, 0]"), ("u4", "[1, 1]"), ("f32", "[2, 1]"):
            result = "f32" if kind == "f32" else "i32"
            self.verify(f"{kind}[N, 4]:{strides}", f"{result}[N, 4]", value="x[i, j] + 1")

    def test_stored_over_an_input(self):
        self.file("s.tg", "tg 1\ngraph strided\ndim N in 1..10\ninput x : f32[N, 4]:[9, 2]\n"
                          "y[i, j] = where(j == 1, x[i, j] + 1, x[i, j])\noutput y : f32[N, 4]:[9, 2] over x\n")
        self.tangc("verify", "s.tg", "-t", "c")

    def test_differences_are_still_seen(self):
        self.file("s.tg", program("f32[N, 4]", "f32[N, 4]:[8, 2] align 4"))
        self.tangc("s.tg", "-t", "c", "-d", "o", "--emit=source,header,test")
        wrapper = """#include "s.h"
#define strided_c_run strided_c_real_run
#include "s.c.c"
#undef strided_c_run
tg_status strided_c_run(const strided_args *args, const strided_dims *dims, void *workspace, size_t bytes,
                        void *stream) {
  const tg_status status = strided_c_real_run(args, dims, workspace, bytes, stream);
  ((float *)args->y)[OFFSET] += 1;
  return status;
}
"""
        for offset, code in (8 + 2 * 3, 1), (8 + 2 * 3 + 1, 0):  # the last element of row 1; a gap
            self.file("o/wrapper.c", wrapper.replace("OFFSET", str(offset)))
            subprocess.run(["cc", "-std=c11", "-Io", "o/wrapper.c", "o/s.c.test.c", "-lm", "-o", "o/test"],
                           cwd=self.dir, check=True)
            done = subprocess.run(["o/test"], cwd=self.dir, capture_output=True, text=True)
            self.assertEqual(done.returncode, code)
            self.assertEqual("y: 1 of 12 elements differ, first element 7:" in done.stdout, code == 1, done.stdout)


class HalfBytes(CliTest):
    def test_place(self):
        self.file("s.tg", program("i4[N, 3]", "i4[N, 3]"))
        err = self.tangc("s.tg", "-t", "sm_80", code=1).err
        self.assertIn("s.tg:6:8: error: two threads may write one byte of `y`, which is i4 [E0821]", err)
        self.assertIn("help: store it as `i8`", err)


class TooLarge(CliTest):
    def test_storage(self):
        for stride in 2**63 - 1, 2**62, 10**9:
            for types in ((f"f32[N, N]:[{stride}, 1]", "f32[N, N]"), ("f32[N, N]", f"f32[N, N]:[{stride}, 1]")):
                self.file("s.tg", program(*types, dims="dim N in 2..10"))
                for words in ("s.tg", "-t", "c", "--emit=test"), ("verify", "s.tg", "-t", "c"):
                    err = self.tangc(*words, code=1).err
                    self.assertIn("is too large for a test program, which holds 1048576 elements in all [E0906]", err)
                    self.assertRegex(err, "s.tg:(4|6):")


@unittest.skipUnless(shutil.which("cc"), "no C compiler")
class Launcher(CliTest):
    def load(self, text, checks):
        self.file("s.tg", text)
        self.tangc("s.tg", "-t", "c", f"--checks={checks}", "-d", checks)
        subprocess.run(["cc", "-std=c11", "-O1", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-pedantic",
                        f"{checks}/s.c.c", "-lm", "-o", f"{checks}.so"], cwd=self.dir, check=True)
        library = ctypes.CDLL(str(self.dir / f"{checks}.so"))
        rooms = [ctypes.create_string_buffer(1 << 14) for _ in range(2)]
        args = (ctypes.c_void_p * 2)(*[ctypes.addressof(r) + -ctypes.addressof(r) % 16 for r in rooms])

        def run(*dims, rooms=rooms):  # `args` holds only addresses: what they point to must outlive the call
            return library.strided_c_run(args, (ctypes.c_int64 * len(dims))(*dims), None, ctypes.c_size_t(0), None)
        return run

    def test_room(self):
        text = program("f32[N, 4]", "f32[N, 4]:[LD, 1]", dims="dim N in 0..10, LD in 0..100")
        cheap, none = self.load(text, "cheap"), self.load(text, "none")
        for n, ld, status in (0, 0, 0), (1, 0, 0), (2, 4, 0), (10, 100, 0), (2, 3, 2), (2, 1, 2), (10, 0, 2):
            self.assertEqual((cheap(n, ld), none(n, ld)), (status, 0), (n, ld))


if __name__ == "__main__":
    main()
