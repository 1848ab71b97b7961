// Printed OpenCL: checked by clang, and run on the first device.
#include "print/declarations.h"
#include "run.h"
#include <catch2/catch.hpp>

namespace tang::print_test {

namespace {

constexpr const char* host = "cc -std=c11 -O1 -Wall -Wextra -Werror -pedantic ";

/// Writes `t.cl`, `launcher.c` and `t.h`.
void write_sources(const Folder& folder, const Built& built) {
  print::PrintOptions o = options("opencl");
  o.extension = ".cl";
  print::SourceText source = printed(built, "opencl", o);
  std::vector<std::string> targets{"opencl"};
  folder.write("t.cl", source.text);
  folder.write("launcher.c", source.launcher);
  folder.write("t.h", print::print_header(built.program, built.graph, targets, o, source.session));
}

/// Copies the fields to the device, runs the launcher, copies them back. Exits with 77 without a
/// device.
std::string device_main(const Built& built, const std::vector<int64_t>& dims,
                        const std::vector<Bytes>& fields) {
  print::PublicNames names = print::public_names(built.program, built.graph);
  std::string text = "#define CL_TARGET_OPENCL_VERSION 120\n#include <CL/cl.h>\n#include \"t.h\"\n"
                     "#include <stdio.h>\n#include <stdlib.h>\n"
                     "static cl_context context;\nstatic cl_command_queue queue;\n"
                     "static void *slurp(const char *name, size_t size) {\n"
                     "  void *data = malloc(size + 1);\n  FILE *file = fopen(name, \"rb\");\n"
                     "  if (!file || fread(data, 1, size, file) != size) exit(9);\n"
                     "  fclose(file);\n  return data;\n}\n"
                     "static cl_mem place(void *data, size_t size) {\n"
                     "  return clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, "
                     "size + 1, data, NULL);\n}\n"
                     "int main(void) {\n  cl_platform_id platform;\n  cl_device_id device;\n"
                     "  if (clGetPlatformIDs(1, &platform, NULL)) return 77;\n"
                     "  if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL)) return "
                     "77;\n"
                     "  context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);\n"
                     "  queue = clCreateCommandQueue(context, device, 0, NULL);\n"
                     "  t_opencl_session session;\n"
                     "  if (t_opencl_open(context, device, queue, &session)) return 9;\n"
                     "  t_dims dims = {";
  for (int64_t dim : dims) text += fmt::format("{}, ", dim);
  text += dims.empty() ? "0};\n  t_args args;\n" : "};\n  t_args args;\n";
  for (size_t i = 0; i < fields.size(); ++i)
    text += fmt::format("  void *f{0} = slurp(\"{0}.bin\", {1});\n"
                        "  cl_mem d{0} = place(f{0}, {1});\n  args.{2} = d{0};\n",
                        i, fields[i].size(), names.buffers[names.fields[i].value]);
  text +=
      "  size_t bytes = t_opencl_workspace_bytes(&dims);\n"
      "  cl_mem workspace = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes + 1, NULL, NULL);\n"
      "  const unsigned char nan = 0xff;\n"
      "  if (clEnqueueFillBuffer(queue, workspace, &nan, 1, 0, bytes + 1, 0, NULL, NULL)) return "
      "9;\n"
      "  int status = t_run(&args, &dims, workspace, bytes, &session);\n"
      "  if (status) printf(\"%s\", tg_status_string((tg_status)status));\n"
      "  FILE *file;\n";
  for (size_t i = 0; i < fields.size(); ++i)
    text +=
        fmt::format("  if ({1} && clEnqueueReadBuffer(queue, d{0}, CL_TRUE, 0, {1}, f{0}, 0, NULL, "
                    "NULL)) return 9;\n"
                    "  file = fopen(\"{0}.bin\", \"wb\");\n"
                    "  fwrite(f{0}, 1, {1}, file);\n  fclose(file);\n",
                    i, fields[i].size());
  return text + "  t_opencl_close(&session);\n  return status;\n}\n";
}

bool have_headers(Folder& folder) {
  folder.write("headers.c", "#include <CL/cl.h>\n");
  return have("cc") && folder.run("cc -E headers.c") == 0;
}

} // namespace

void compile_opencl(const Built& built) {
  Folder folder;
  write_sources(folder, built);
  if (have("clang")) {
    int status = folder.run("clang -x cl -cl-std=CL1.2 -Xclang -finclude-default-header -target "
                            "spir64 -Wall -Wextra -Werror -fsyntax-only t.cl");
    INFO(folder.read("t.cl"));
    INFO(folder.log);
    CHECK(status == 0);
  } else {
    WARN("no clang found: printed OpenCL was not compiled");
  }
  if (!have_headers(folder)) return;
  int status = folder.run(std::string(host) + "-c launcher.c");
  INFO(folder.log);
  CHECK(status == 0);
}

std::vector<Bytes> execute_opencl(const Built& built, const std::vector<int64_t>& dims,
                                  const std::vector<Bytes>& fields) {
  Folder folder;
  if (!have_headers(folder)) {
    WARN("no OpenCL headers found: printed OpenCL was not run");
    return {};
  }
  write_sources(folder, built);
  folder.write("main.c", device_main(built, dims, fields));
  INFO(folder.read("t.cl"));
  std::vector<Bytes> results =
      run_on_files(folder, std::string(host) + "launcher.c main.c -o main -lOpenCL", fields);
  if (results.empty()) WARN("no device: printed OpenCL was not run");
  return results;
}

} // namespace tang::print_test
