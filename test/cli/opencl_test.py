"""OpenCL: the files, the header, what the launcher refuses, and programs that a device builds and runs."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import unittest

from support import ROOT, CliTest, main

try:
    import jsonschema
except ImportError:
    jsonschema = None

if "POCL_CACHE_DIR" in os.environ:
    pathlib.Path(os.environ["POCL_CACHE_DIR"]).mkdir(parents=True, exist_ok=True)

# Two launches with something between them in the workspace, behind something else there.
CHAIN = """tg 1
graph chain
dim M in 1..64
dim N in 1..64
input x : f32[M, N]
m[i] = sum[j] x[i, j]
s[i] = sum[j] x[i, j] * x[i, j]
y[i, k] = m[i] * s[k]
output y : f32[M, M]
"""

MAIN = """#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include "relu.h"
#include "relu.h"

static int wrong;
static void expect(const char *what, tg_status got, tg_status wanted) {
  if (got == wanted) return;
  printf("%s: %s, not %s\\n", what, tg_status_string(got), tg_status_string(wanted));
  wrong = 1;
}

int main(void) {
  cl_platform_id platform;
  cl_device_id device;
  if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS) return 77;
  if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS) return 77;
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, NULL);
  cl_command_queue loose = clCreateCommandQueue(context, device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, NULL);
  relu_rows_opencl_session session;
  expect("no session", relu_rows_opencl_open(context, device, queue, NULL), TG_E_NULL);
  expect("no queue", relu_rows_opencl_open(context, device, NULL, &session), TG_E_NULL);
  relu_rows_opencl_close(&session);
  if (loose) expect("a loose queue", relu_rows_opencl_open(context, device, loose, &session), TG_E_UNSUPPORTED);
  expect("open", relu_rows_opencl_open(context, device, queue, &session), TG_OK);

  float data[4096], back[12];
  for (int i = 0; i < 4096; ++i) data[i] = i % 2 ? (float)i : (float)-i;
  cl_mem x = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof data, data, NULL);
  cl_mem y = clCreateBuffer(context, CL_MEM_READ_WRITE, 48, NULL, NULL);
  const cl_buffer_region first = {0, 1024}, same = {0, 2048}, second = {2048, 1024};
  cl_mem part = clCreateSubBuffer(x, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &first, NULL);
  cl_mem over = clCreateSubBuffer(x, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &same, NULL);
  cl_mem apart = clCreateSubBuffer(x, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &second, NULL);
  const relu_rows_dims dims = {3, 4}, wide = {3, 5}, none = {0, 4};
  relu_rows_args args = {x, y};
  expect("run", relu_rows_opencl_run(&args, &dims, NULL, 0, &session), TG_OK);
  expect("no stream", relu_rows_opencl_run(&args, &dims, NULL, 0, NULL), TG_E_NULL);
  expect("no args", relu_rows_opencl_run(NULL, &dims, NULL, 0, &session), TG_E_NULL);
  expect("no rows", relu_rows_opencl_run(&args, &none, NULL, 0, &session), TG_E_DIM);
  expect("a short buffer", relu_rows_opencl_run(&args, &wide, NULL, 0, &session), TG_E_DIM);
  clEnqueueReadBuffer(queue, y, CL_TRUE, 0, sizeof back, back, 0, NULL, NULL);
  for (int i = 0; i < 12; ++i)
    if (back[i] != (i % 2 ? (float)i : 0.0f)) printf("element %d is %g\\n", i, (double)back[i]), wrong = 1;
  args.y = x;
  expect("the same buffer", relu_rows_opencl_run(&args, &dims, NULL, 0, &session), TG_E_ALIAS);
  args.y = part;
  expect("a part of it", relu_rows_opencl_run(&args, &dims, NULL, 0, &session), TG_E_ALIAS);
  args.x = over;
  expect("two parts that meet", relu_rows_opencl_run(&args, &dims, NULL, 0, &session), TG_E_ALIAS);
  args.y = apart;
  expect("two parts that do not", relu_rows_opencl_run(&args, &dims, NULL, 0, &session), TG_OK);
  args.y = NULL;
  expect("no output", relu_rows_opencl_run(&args, &dims, NULL, 0, &session), TG_E_NULL);
  clFinish(queue);
  relu_rows_opencl_close(&session);
  return wrong;
}
"""

CC = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic"]


def have_opencl():
    if not shutil.which("cc"):
        return False
    done = subprocess.run(["cc", "-xc", "-E", "-include", "CL/cl.h", "/dev/null"], capture_output=True)
    return done.returncode == 0


class Files(CliTest):
    def test_names(self):
        self.tangc("relu.tg", "-t", "opencl,c", "-d", "out", "--emit=source,header,launcher,test,report")
        self.assertEqual(self.names("out"), ["relu.c.c", "relu.c.sol.json", "relu.c.test.c", "relu.h",
                                             "relu.opencl.cl", "relu.opencl.launcher.c", "relu.opencl.sol.json",
                                             "relu.opencl.test.c"])

    def test_targets_without_a_launcher_of_their_own(self):
        err = self.tangc("relu.tg", "-t", "c", "--emit=launcher", code=2).err
        self.assertIn("the launcher of target `c` is part of its source", err)
        err = self.tangc("relu.tg", "-t", "opencl", "--emit=source,header,cmake", code=2).err
        self.assertIn("add `launcher` to `--emit`", err)

    def test_the_source_is_kernels_alone(self):
        self.tangc("relu.tg", "-t", "opencl", "-d", "out", "--emit=source,launcher")
        text = (self.dir / "out/relu.opencl.cl").read_text()
        self.assertIn("__kernel __attribute__((reqd_work_group_size(256, 1, 1)))", text)
        self.assertNotIn("tg_status", text)
        launcher = (self.dir / "out/relu.opencl.launcher.c").read_text()
        data = launcher.split("tg_source[] = {")[1].split("};")[0]
        numbers = [int(n) for n in data.replace("\n", "").split(",") if n.strip()]
        self.assertEqual(bytes(numbers[:-1]).decode(), text)

    def test_a_split_source_is_whole_in_the_launcher(self):
        self.tangc("relu.tg", "-t", "opencl", "-d", "out", "--emit=source,launcher", "--split=kernel")
        self.assertIn("#include", (self.dir / "out/relu.opencl.cl").read_text())
        data = (self.dir / "out/relu.opencl.launcher.c").read_text().split("tg_source[] = {")[1].split("};")[0]
        text = bytes(int(n) for n in data.replace("\n", "").split(",") if n.strip())
        self.assertNotIn(b"#include", text)
        self.assertIn(b"__kernel", text)

    def test_f64_is_asked_for_where_it_is_used(self):
        extension = "#pragma OPENCL EXTENSION cl_khr_fp64 : enable"
        self.file("wide.tg", "tg 1\ngraph wide\ninput x : f64[4]\ny[i] = 2 * x[i]\noutput y : f64[4]\n")
        for name, wanted in ("wide", True), ("relu", False):
            self.tangc(f"{name}.tg", "-t", "opencl", "-d", "out", "--emit=source,launcher")
            self.assertEqual(extension in (self.dir / f"out/{name}.opencl.cl").read_text(), wanted)
            able = f"tg_host_able(device, queue, 256, 0, {'true' if wanted else 'false'})"
            self.assertIn(able, (self.dir / f"out/{name}.opencl.launcher.c").read_text())

    def test_more_tensors_than_a_kernel_can_be_given(self):
        names = [f"x{i}" for i in range(48)]
        self.file("many.tg", "tg 1\ngraph many\n" + "".join(f"input {n} : f32[4]\n" for n in names) +
                  "y[i] = " + " + ".join(f"{n}[i]" for n in names) + "\noutput y : f32[4]\n")
        self.tangc("many.tg", "-t", "sm_80", "-d", "out")
        err = self.tangc("many.tg", "-t", "opencl", "-d", "out", code=1).err
        self.assertIn("many.tg:52", err)
        self.assertIn("it reads and writes 49 tensors, and 48 are the most", err)

    def test_a_workspace_is_bound_whole(self):
        self.file("chain.tg", CHAIN)
        self.tangc("chain.tg", "-t", "opencl", "-d", "out", "-O0", "--emit=source,launcher,spec")
        self.assertRegex((self.dir / "out/chain.opencl.cl").read_text(), r"long \w+_begin")
        self.assertNotIn("(char *)workspace", (self.dir / "out/chain.opencl.launcher.c").read_text())
        self.assertIn("whole_buffers\n", (self.dir / "out/chain.opencl.spec").read_text())
        self.tangc("chain.tg", "-t", "opencl", "-d", "out", "-O0", "--emit=report")
        report = json.loads((self.dir / "out/chain.opencl.sol.json").read_text())
        self.assertTrue(report["manifest"]["whole_buffers"])
        if jsonschema:
            schema = json.loads((ROOT / "grammar/sol.schema.json").read_text())
            schema.pop("$id")  # which some versions take for a place to look at
            faults = jsonschema.Draft202012Validator(schema).iter_errors(report)
            self.assertEqual([fault.message for fault in faults], [])

    def test_kernels_that_are_read_back_are_the_same(self):
        self.file("chain.tg", CHAIN)
        self.tangc("chain.tg", "-t", "opencl", "-d", "out", "-O0", "--emit=source,launcher,spec")
        self.tangc("out/chain.opencl.spec", "-t", "opencl", "-d", "back", "--emit=source,launcher")
        for kind in "cl", "launcher.c":
            first, again = ((self.dir / name).read_text().splitlines()[3:]
                            for name in (f"out/chain.opencl.{kind}", f"back/chain.opencl.opencl.{kind}"))
            # The source as data begins with another head.
            numbers = re.compile(r"^ *[0-9]+,")
            self.assertEqual([line for line in first if not numbers.match(line)],
                             [line for line in again if not numbers.match(line)])

    @unittest.skipUnless(shutil.which("cc") and shutil.which("g++"), "no compiler")
    def test_the_header_needs_no_other(self):
        self.tangc("relu.tg", "-t", "opencl,c", "-d", "out", "--emit=header")
        self.file("use.c", '#include "relu.h"\n#include "relu.h"\n'
                           "int main(void) { relu_rows_opencl_session s; return sizeof s == 0; }\n")
        self.file("use.cpp", (self.dir / "use.c").read_text())
        for compiler in ["cc", *CC], ["g++", "-Wall", "-Wextra", "-Werror", "-pedantic"]:
            source = "use.c" if compiler[0] == "cc" else "use.cpp"
            subprocess.run([*compiler, "-Iout", "-fsyntax-only", source], cwd=self.dir, check=True)


@unittest.skipUnless(have_opencl(), "no C compiler with the OpenCL headers")
class Programs(CliTest):
    def build(self, *sources):
        subprocess.run(["cc", *CC, "-Iout", *sources, "-o", "program", "-lOpenCL", "-lm"], cwd=self.dir, check=True)

    def run_program(self):
        done = subprocess.run(["./program"], cwd=self.dir, capture_output=True, text=True, timeout=300)
        if done.returncode == 77:
            self.skipTest("no OpenCL device")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_what_the_launcher_refuses(self):
        self.tangc("relu.tg", "-t", "opencl", "-d", "out", "--emit=header,launcher")
        self.file("main.c", MAIN)
        self.build("main.c", "out/relu.opencl.launcher.c")
        self.run_program()

    def test_test_programs(self):
        self.file("chain.tg", CHAIN)
        for level in "-O0", "-O2":
            self.tangc("chain.tg", "-t", "opencl", "-d", "out", level, "--emit=header,launcher,test",
                       "--specialize=M=2;N=1..8")
            self.build("out/chain.opencl.launcher.c", "out/chain.opencl.test.c")
            self.run_program()

    def test_verify(self):
        self.file("chain.tg", CHAIN)
        for option in "-O0", "-O2", "--fast-math", "--index-bits=64":
            result = self.tangc("verify", "chain.tg", "-t", "opencl", option, code=None)
            if result.code == 4:
                self.skipTest(result.err)
            self.assertEqual(result.code, 0, result.err)
            self.assertIn("all outputs equal the interpreter", result.out)

    def test_tables_and_packed_formats(self):
        self.file("table.tg", "tg 1\ngraph table\ndim n in 1..64\nconst w : f16[3] = [1, -0.5, 2]\ninput x : i4[n]\n"
                              "input q : u4[n]\ny[i, k] = w[k] * (x[i] + q[i])\noutput y : f32[n, 3]\n")
        result = self.tangc("verify", "table.tg", "-t", "opencl", code=None)
        if result.code == 4:
            self.skipTest(result.err)
        self.assertEqual(result.code, 0, result.err)

    @unittest.skipUnless(shutil.which("cmake"), "no cmake")
    def test_the_library_of_cmake(self):
        self.tangc("relu.tg", "-t", "opencl", "-d", "out", "--emit=source,header,launcher,cmake")
        self.file("main.c", MAIN)
        self.file("CMakeLists.txt", "cmake_minimum_required(VERSION 3.16)\nproject(p C)\ninclude(out/relu.cmake)\n"
                  "add_executable(program main.c)\ntarget_link_libraries(program PRIVATE relu_rows)\n")
        for words in (["-S", ".", "-B", "."], ["--build", "."]):
            done = subprocess.run(["cmake", *words], cwd=self.dir, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.run_program()


if __name__ == "__main__":
    main()
