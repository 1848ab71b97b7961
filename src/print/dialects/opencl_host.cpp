// A session holds the kernels of a context, which its source is built into once, and the queue that
// calls go to.
#include "print/dialects/opencl_host.h"
#include "print/dialects/registry.h"

namespace tang::print {

namespace {

constexpr std::string_view includes[] = {"#define CL_TARGET_OPENCL_VERSION 120",
                                         "#include <CL/cl.h>",
                                         "#include <math.h>",
                                         "#include <stdbool.h>",
                                         "#include <stddef.h>",
                                         "#include <stdint.h>"};

/// `CL/cl.h` names pointers to these structures, so that headers need not include it.
void declare_session(TextWriter& out, const Session& session) {
  const std::string& symbol = session.symbol;
  out.line("#ifndef TG_{}_SESSION_DEFINED", symbol);
  out.line("#define TG_{}_SESSION_DEFINED", symbol);
  for (const char* name : {"context", "device_id", "command_queue", "program", "kernel", "mem"})
    out.line("struct _cl_{};", name);
  out.raw("// The kernels in a context, and the queue that calls go to: `stream` points to one.");
  out.raw("// Buffers of a call, `workspace` too, are `cl_mem`, and `bytes` is the size of the "
          "workspace.");
  out.raw("// A buffer with fewer bytes than its tensor is refused as TG_E_DIM.");
  out.raw("// A call sets arguments of the kernels: one thread at a time uses a session.");
  out.raw("typedef struct {");
  out.raw("  struct _cl_command_queue *queue;");
  out.raw("  struct _cl_program *program; // holds the log where the build failed");
  out.line("  struct _cl_kernel *kernels[{}];", std::max<size_t>(session.kernels.size(), 1));
  out.line("  struct _cl_mem *tables[{}];", std::max<size_t>(session.tables.size(), 1));
  out.line("}} {}_session;", symbol);
  out.raw("#endif");
  out.raw("// Builds the kernels. The queue belongs to the context and the device, runs in order, "
          "and outlives the");
  out.raw("// session. TG_E_UNSUPPORTED: the device or the queue is not able to run them; "
          "TG_E_LAUNCH: the build");
  out.raw("// failed. Whatever it returns, `close` releases what the session holds.");
  out.line("tg_status {0}_open(struct _cl_context *context, struct _cl_device_id *device,", symbol);
  out.line("{}struct _cl_command_queue *queue, {}_session *session);",
           std::string(symbol.size() + 16, ' '), symbol);
  out.line("void {0}_close({0}_session *session);", symbol);
}

void define_open(TextWriter& out, const Session& session) {
  const std::string& symbol = session.symbol;
  out.line("tg_status {}_open(cl_context context, cl_device_id device, cl_command_queue queue,",
           symbol);
  out.line("{}{}_session *session) {{", std::string(symbol.size() + 16, ' '), symbol);
  out.indent();
  if (!session.kernels.empty()) {
    out.raw("static const char *const names[] = {");
    for (const std::string& kernel : session.kernels) out.line("  \"{}\",", kernel);
    out.raw("};");
  }
  out.raw("if (!session) return TG_E_NULL;");
  out.line("*session = ({}_session){{0}};", symbol);
  out.raw("if (!context || !device || !queue) return TG_E_NULL;");
  out.line("if (!tg_host_able(device, queue, {}, {}, {})) return TG_E_UNSUPPORTED;",
           session.most_threads, session.most_shared_bytes, session.f64);
  out.raw("session->queue = queue;");
  out.raw("if (!tg_host_build(context, device, tg_source, sizeof tg_source - 1, "
          "&session->program)) return TG_E_LAUNCH;");
  if (!session.kernels.empty()) {
    out.line("for (int i = 0; i < {}; ++i) {{", session.kernels.size());
    out.raw("  session->kernels[i] = clCreateKernel(session->program, names[i], NULL);");
    out.raw("  if (!session->kernels[i]) return TG_E_LAUNCH;");
    out.raw("}");
  }
  for (size_t i = 0; i < session.tables.size(); ++i) {
    out.line("session->tables[{0}] = tg_host_table(context, {1}, sizeof {1});", i,
             session.tables[i]);
    out.line("if (!session->tables[{}]) return TG_E_LAUNCH;", i);
  }
  out.raw("return TG_OK;");
  out.dedent();
  out.raw("}");
}

void define_close(TextWriter& out, const Session& session) {
  out.line("void {0}_close({0}_session *session) {{", session.symbol);
  out.indent();
  out.raw("if (!session) return;");
  for (auto [list, release, count] :
       {std::tuple("kernels", "clReleaseKernel", session.kernels.size()),
        std::tuple("tables", "clReleaseMemObject", session.tables.size())}) {
    if (count == 0) continue;
    out.line("for (int i = 0; i < {}; ++i) {{", count);
    out.line("  if (session->{0}[i]) {1}(session->{0}[i]);", list, release);
    out.raw("}");
  }
  out.raw("if (session->program) clReleaseProgram(session->program);");
  out.line("*session = ({}_session){{0}};", session.symbol);
  out.dedent();
  out.raw("}");
}

void define_session(TextWriter& out, const Session& session, std::set<std::string>& helpers) {
  helpers.insert({"tg_host_able", "tg_host_build"});
  if (!session.tables.empty()) helpers.insert("tg_host_table");
  define_open(out, session);
  out.blank();
  define_close(out, session);
}

} // namespace

void opencl_launch(TextWriter& out, const Launch& launch) {
  out.line("if ({} > 0) {{", launch.grid);
  out.indent();
  launch.names->push();
  std::string kernel = launch.names->add("kernel"), failed = launch.names->add("failed"),
              global = launch.names->add("global"), local = launch.names->add("local");
  out.line("const cl_kernel {} = {};", kernel, launch.symbol);
  out.line("const size_t {} = {}, {} = (size_t){} * {};", local, launch.threads, global,
           launch.grid, local);
  out.line("cl_int {} = CL_SUCCESS;", failed);
  for (size_t i = 0; i < launch.arguments.size(); ++i)
    out.line("{0} |= clSetKernelArg({1}, {2}, sizeof({3}), &({3}){{{4}}});", failed, kernel, i,
             launch.types[i], launch.arguments[i]);
  out.line("if ({} != CL_SUCCESS) return TG_E_LAUNCH;", failed);
  out.line("if (clEnqueueNDRangeKernel(session->queue, {}, 1, NULL, &{}, &{}, 0, NULL, NULL) != "
           "CL_SUCCESS) return TG_E_LAUNCH;",
           kernel, global, local);
  launch.names->pop();
  out.dedent();
  out.raw("}");
}

void opencl_table(TextWriter& out, const TableUse& use) {
  out.line("const cl_mem {} = {};", use.pointer, use.name);
}

const HostFile opencl_host = {
    .extension = ".c",
    .language = &c_dialect,
    .reserved = opencl_host_reserved,
    .includes = includes,
    .buffer_type = "cl_mem",
    .library = "OpenCL OpenCL::OpenCL",
    .declare_session = declare_session,
    .define_session = define_session,
};

} // namespace tang::print
