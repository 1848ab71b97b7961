// matmul for sm_80, printed by tangc 0.1.0.
// Options: -O2
// Input: matmul.tg, SHA-256 50678244ae1db9e674033e0b18dcb4ddd1611ab934f51be9bb0978a44825a51e
#ifndef TG_matmul_H
#define TG_matmul_H
#include <stddef.h>
#include <stdint.h>

#ifndef TG_STATUS_DEFINED
#define TG_STATUS_DEFINED
typedef enum {
  TG_OK,
  TG_E_NULL,        // a pointer that is needed is null
  TG_E_DIM,         // a dim out of range, sizes beyond 64 bits, or data not as declared (--checks=full)
  TG_E_ALIGN,       // a pointer is not aligned as its tensor must be
  TG_E_WORKSPACE,   // the workspace is too small
  TG_E_ALIAS,       // an output shares bytes with something else
  TG_E_UNSUPPORTED, // these sizes cannot be run by this code
  TG_E_LAUNCH       // a kernel did not start
} tg_status;
#endif

#ifndef TG_matmul_TYPES_DEFINED
#define TG_matmul_TYPES_DEFINED
typedef struct {
  int64_t M; // 0..65536
  int64_t N; // 0..65536
  int64_t K; // 0..65536
} matmul_dims;
typedef struct {
  const void *a; // bf16[M, K], aligned to 16
  const void *b; // bf16[K, N], aligned to 16
  void *c; // bf16[M, N], aligned to 16
} matmul_args;
#endif

#ifdef __cplusplus
extern "C" {
#endif
// Bytes of workspace that a call needs, aligned to 16; SIZE_MAX for dims outside their ranges.
size_t matmul_sm_80_workspace_bytes(const matmul_dims *dims);
tg_status matmul_sm_80_run(const matmul_args *args, const matmul_dims *dims, void *workspace, size_t bytes,
                           void *stream);
#ifdef __cplusplus
}
#endif

#ifndef TG_STATUS_STRING_DEFINED
#define TG_STATUS_STRING_DEFINED
static inline const char *tg_status_string(tg_status status) {
  switch (status) {
  case TG_OK: return "ok";
  case TG_E_NULL: return "a pointer is null";
  case TG_E_DIM: return "a dim or data is outside its declared range";
  case TG_E_ALIGN: return "a pointer is not aligned";
  case TG_E_WORKSPACE: return "the workspace is too small";
  case TG_E_ALIAS: return "an output overlaps another buffer";
  case TG_E_UNSUPPORTED: return "these sizes are not supported";
  case TG_E_LAUNCH: return "a kernel could not be launched";
  }
  return "unknown status";
}
#endif

#define matmul_run(args, dims, workspace, bytes, stream) \
  matmul_sm_80_run(args, dims, workspace, bytes, stream)
#endif
