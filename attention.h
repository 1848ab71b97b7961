// attention for sm_90a, printed by tangc 0.1.0.
// Options: -O2
// Input: attention.tg, SHA-256 f5cec3f59e4fde8cd28b3225cb1eab18166263303f0f997711c40612b51f97b2
#ifndef TG_attention_H
#define TG_attention_H
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

#ifndef TG_attention_TYPES_DEFINED
#define TG_attention_TYPES_DEFINED
typedef struct {
  int64_t B; // 1..1024
  int64_t H; // 1..256
  int64_t S; // 1..131072
} attention_dims;
typedef struct {
  const void *q; // f16[B, H, S, 64], aligned to 16
  const void *k; // f16[B, H, S, 64], aligned to 16
  const void *v; // f16[B, H, S, 64], aligned to 16
  void *o; // f16[B, H, S, 64], aligned to 16
} attention_args;
#endif

#ifdef __cplusplus
extern "C" {
#endif
// Bytes of workspace that a call needs, aligned to 16; SIZE_MAX for dims outside their ranges.
size_t attention_sm_90a_workspace_bytes(const attention_dims *dims);
tg_status attention_sm_90a_run(const attention_args *args, const attention_dims *dims, void *workspace, size_t bytes,
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

#define attention_run(args, dims, workspace, bytes, stream) \
  attention_sm_90a_run(args, dims, workspace, bytes, stream)
#endif
