"""`--checks`: what launchers look at before they run, and `run` with the same promises about data."""
import ctypes
import shutil
import struct
import subprocess
import unittest

from support import CliTest, main
from verbs_test import npy, read_npy

PROMISES = """tg 1
graph promises
dim T in 0..64, V in 1..100
input id  : i32[T] in 0..<V
input seg : i16[2, T] in -9..9 sorted
input m   : bool[T]
input k   : i4[T, 3] in -3..7
input t   : i64 in 0..T
input u   : u32[2, T]:[T + 2, 1] in 1..4000000000
input free : u8[T]
y[i] = where(m[i], id[i], 0) + seg[1, i] + k[i, 0] + t + u[1, i] + free[i]
output y : i64[T]
"""
T, V = 3, 5
# What keeps every promise, as bytes.
GOOD = {
    "id": struct.pack("<3i", 0, 4, 2),
    "seg": struct.pack("<6h", -9, -9, 0, 0, 9, 9),
    "m": bytes([0, 1, 1]),
    "k": bytes([0x7d, 0x00, 0x1f, 0xe7, 0x80]),  # low nibble first; the last high nibble is padding
    "t": struct.pack("<q", 3),
    "u": struct.pack("<8I", 1, 4000000000, 7, 0, 0, 1, 2, 3),  # two elements between the rows are nobody's
    "free": bytes([0, 255, 7]),
}
BAD = {
    "id": [struct.pack("<3i", 0, 5, 2), struct.pack("<3i", -1, 4, 2)],
    "seg": [struct.pack("<6h", -9, -9, 0, -1, 9, 9), struct.pack("<6h", -10, 0, 0, 0, 0, 0), struct.pack("<6h", 0, 0, 0, 0, 0, 10)],
    "m": [bytes([0, 2, 1]), bytes([0, 1, 255])],
    "k": [bytes([0xcd, 0x00, 0x1f, 0xe7, 0x80]), bytes([0x7d, 0x00, 0x1f, 0xe7, 0x0c])],
    "t": [struct.pack("<q", 4), struct.pack("<q", -1), struct.pack("<q", 2**40)],
    "u": [struct.pack("<8I", 0, 4, 7, 0, 0, 1, 2, 3), struct.pack("<8I", 1, 4, 7, 0, 0, 1, 2, 4000000001)],
}


class Launcher(CliTest):
    def load(self, checks):
        self.file("promises.tg", PROMISES)
        self.tangc("promises.tg", "-t", "c", f"--checks={checks}", "-d", checks)
        subprocess.run(["cc", "-std=c11", "-O1", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-pedantic",
                        f"{checks}/promises.c.c", "-lm", "-o", f"{checks}.so"], cwd=self.dir, check=True)
        library = ctypes.CDLL(str(self.dir / f"{checks}.so"))

        def run(data, t=T, v=V):
            """The status on these bytes."""
            buffers = []
            for content in [*data.values(), bytes(8 * t)]:
                room = ctypes.create_string_buffer(content, len(content) + 32)
                at = ctypes.addressof(room) + -ctypes.addressof(room) % 16
                ctypes.memmove(at, content, len(content))
                buffers.append((room, at))
            args = (ctypes.c_void_p * 8)(*[at for _, at in buffers])
            return library.promises_c_run(args, (ctypes.c_int64 * 2)(t, v), None, ctypes.c_size_t(0), None)

        return run

    @unittest.skipUnless(shutil.which("cc"), "no C compiler")
    def test_data(self):
        full, cheap = self.load("full"), self.load("cheap")
        self.assertEqual((full(GOOD), cheap(GOOD)), (0, 0))
        for name, contents in BAD.items():
            for content in contents:
                self.assertEqual(full({**GOOD, name: content}), 2, (name, content))
                self.assertEqual(cheap({**GOOD, name: content}), 0, (name, content))
        # The dim decides, and what has no element keeps every promise.
        self.assertEqual(full(GOOD, v=4), 2)
        self.assertEqual(full({**GOOD, "t": struct.pack("<q", 0)}, t=0), 0)

    def test_target_that_cannot(self):
        self.file("promises.tg", PROMISES)
        err = self.tangc("promises.tg", "-t", "c,sm_80", "--checks=full", code=2).err
        self.assertIn("the launcher for target `sm_80` never waits", err)
        self.assertEqual(self.names(), ["promises.tg", "relu.tg"])


class Interpreter(CliTest):
    """The ends of a range that depend on dims are taken at the dims of the run."""
    GATHER = "tg 1\ngraph g\ndim T in 1..64, V in 1..100\ninput id : i32[T] in 0..<V\nparam w : f32[V]\n" \
             "y[i] = w[id[i]]\nz[i] = id[i]\noutput y : f32[T]\noutput z : i32[T]\n"

    def test_range(self):
        self.file("g.tg", self.GATHER)
        npy(self.dir / "w.npy", (3,), [1, 2, 3])
        npy(self.dir / "id.npy", (2,), [2, 3], "<i4")
        err = self.tangc("run", "g.tg", "--input", "w=w.npy", "--input", "id=id.npy", code=1).err
        self.assertIn("element 1 of `id` is 3, outside its declared range 0..2", err)

    def test_random(self):
        self.file("g.tg", self.GATHER)
        npy(self.dir / "w.npy", (3,), [1, 2, 3])
        self.tangc("run", "g.tg", "--input", "w=w.npy", "-D", "T=64", "--random", "1", "-o", "out")
        self.assertEqual(set(read_npy(self.dir / "out/z.npy")[1]), {0, 1, 2})

    def test_graph_text(self):
        self.file("g.tg", self.GATHER.replace("0..<V", "0..2*V+1"))
        self.tangc("g.tg", "-t", "c", "--emit=tg,graph")
        for name in "g.parse.tg", "g.graph.tg":
            self.assertIn("in 0..2 * V + 1", (self.dir / name).read_text())
            self.tangc("check", name)


if __name__ == "__main__":
    main()
