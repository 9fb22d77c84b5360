/* Element types of buffers and tensors, and two types that only products have: tf32, for fp32 numbers whose factors the
 * matrix units round to 10 bits of mantissa, and fp8, for bf16 numbers whose factors are cast to 8 bits (E4M3,
 * gradients E5M2). An op may have these two types, a buffer may not; cast factors are in buffers of e4m3 and e5m2
 * (kernels/fp8.h), which no op has. One list generates enum, name and size. */
#pragma once

#include <stdint.h>

/*        name   text    bytes */
#define SL_DTYPE_MAP(X)                                                                                                \
  X(F32, "fp32", 4)                                                                                                    \
  X(BF16, "bf16", 2)                                                                                                   \
  X(F16, "fp16", 2)                                                                                                    \
  X(F64, "fp64", 8)                                                                                                    \
  X(I32, "int32", 4)                                                                                                   \
  X(U8, "uint8", 1)                                                                                                    \
  X(TF32, "tf32", 4)                                                                                                   \
  X(F8, "fp8", 1)                                                                                                      \
  X(E4M3, "e4m3", 1)                                                                                                   \
  X(E5M2, "e5m2", 1)

enum sl_dtype {
#define X(name, text, bytes) SL_##name,
  SL_DTYPE_MAP(X)
#undef X
      SL_DTYPE_COUNT
};

/* Bytes of one element. */
static inline int64_t sl_dtype_bytes(enum sl_dtype type) {
  static const int8_t bytes[] = {
#define X(name, text, size) size,
      SL_DTYPE_MAP(X)
#undef X
  };
  return bytes[type];
}

static inline const char *sl_dtype_name(enum sl_dtype type) {
  static const char *const names[] = {
#define X(name, text, size) text,
      SL_DTYPE_MAP(X)
#undef X
  };
  return names[type];
}

/* The type that a product of `type` reads and writes. */
static inline enum sl_dtype sl_dtype_stored(enum sl_dtype type) {
  return type == SL_TF32 ? SL_F32 : type == SL_F8 ? SL_BF16 : type;
}
