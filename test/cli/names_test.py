"""Names that mean something to a target's language compile, and are told apart."""
import shutil
import subprocess

from support import CliTest, main

HOSTILE = ["new", "kernel", "main", "vec4", "float", "in", "threadIdx", "class", "template", "int64_t", "NULL", "I",
           "restrict", "inline", "half", "device", "blockIdx", "size_t", "tg_status", "args", "dims", "workspace", "stream",
           "bytes", "status", "i", "x", "t", "y_", "_y", "__y", "memcpy", "expf", "INFINITY", "static", "and_", "union",
           "global", "local", "get_group_id", "barrier", "vload4", "float4", "uchar", "session", "cl_mem", "fabs"]


class HostileNames(CliTest):
    def build(self, stem):
        """The source builds as C and the header as C and C++, warnings as errors."""
        for compiler in filter(shutil.which, ("gcc", "clang")):
            subprocess.run([compiler, "-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-c", f"{stem}.c.c",
                            "-o", "x.o"], cwd=self.dir, check=True)
        self.file("use.cpp", f'#include "{stem}.h"\nint main() {{ return 0; }}\n')
        if shutil.which("g++"):
            subprocess.run(["g++", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "use.cpp"], cwd=self.dir, check=True)

    def check_opencl(self, stem):
        """clang takes the kernels, warnings as errors."""
        if shutil.which("clang"):
            subprocess.run(["clang", "-x", "cl", "-cl-std=CL1.2", "-Xclang", "-finclude-default-header", "-target",
                            "spir64", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"{stem}.opencl.cl"],
                           cwd=self.dir, check=True)

    def test_tensors(self):
        lines = ["tg 1", "graph names", "dim n in 1..8"]
        for k, name in enumerate(HOSTILE):
            lines.append(f"input {name} : f32[n]")
        total = " + ".join(f"{name}[k]" for name in HOSTILE)
        lines += [f"sum_all[k] = {total}", "output sum_all : f32[n]"]
        self.file("names.tg", "\n".join(lines) + "\n")
        for level in "-O0", "-O2":
            self.tangc("names.tg", "-t", "c,sm_80,opencl", level)
            self.build("names")
            self.check_opencl("names")

    def test_graphs_dims_and_indices(self):
        for name in HOSTILE:
            with self.subTest(name):
                self.file("g.tg", f"tg 1\ngraph {name}\ndim {name} in 1..8\ninput x0 : f32[{name}]\n"
                                  f"y0[j] = 2 * x0[j]\noutput y0 : f32[{name}]\n")
                self.tangc("g.tg", "-t", "c,opencl")
                self.check_opencl("g")
        self.build("g")

    def test_equal_but_for_a_dot(self):
        self.file("dots.tg", 'tg 1\ngraph dots\ninput p "a.b" : f32[4]\ninput q "a_b" : f32[4]\ninput a_b : f32[4]\n'
                             'y[i] = p[i] + 2 * q[i] + 4 * a_b[i]\noutput y : f32[4]\n')
        self.tangc("dots.tg", "-t", "c")
        self.build("dots")

    def test_file_names(self):
        for name in "a b.tg", "a'b.tg", 'a"b.tg', "a$b.tg", "-a.tg", "ünïcödé.tg", "a*/b.tg".replace("/", "_"), "??/.tg".replace("/", "~"):
            with self.subTest(name):
                self.file(name, "tg 1\ngraph g\ninput x : f32[4]\ny[i] = x[i]\noutput y : f32[4]\n")
                self.tangc("-t", "c", "--", name)
                subprocess.run(["gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-c", "./" + name[:-3] + ".c.c",
                                "-o", "x.o"], cwd=self.dir, check=True)

    def test_prefix(self):
        self.file("g.tg", "tg 1\ngraph g\ninput x : f32[4]\ny[i] = x[i]\noutput y : f32[4]\n")
        self.tangc("g.tg", "-t", "c", "--prefix=a.b-c")
        self.assertIn("a_b_c_c_run", (self.dir / "g.h").read_text())
        self.build("g")


if __name__ == "__main__":
    main()
