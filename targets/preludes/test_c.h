// The device of test programs where it is the host. Each block is one function.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

//// tg_test_open
static inline int tg_test_open(void) { return 1; }
//// tg_test_alloc
// Bytes that are all NaN to whoever reads them unwritten.
static inline void *tg_test_alloc(size_t bytes) {
  void *p = aligned_alloc(256, (bytes + 511) / 256 * 256);
  if (p == NULL) {
    printf("no memory\n");
    exit(4);
  }
  return memset(p, 0xFF, (bytes + 511) / 256 * 256);
}
//// tg_test_upload
static inline void tg_test_upload(void *to, const void *from, size_t bytes) { memcpy(to, from, bytes); }
//// tg_test_download
static inline const void *tg_test_download(const void *from, size_t bytes) {
  (void)bytes;
  return from;
}
//// tg_test_drop
// What tg_test_download gave.
static inline void tg_test_drop(const void *p) { (void)p; }
//// tg_test_free
static inline void tg_test_free(void *p) { free(p); }
//// tg_test_finish
static inline int tg_test_finish(void) { return 1; }
