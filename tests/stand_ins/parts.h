/* What the stand-ins share: the idle GPU's clock, enqueuing a kernel on a stream, and numbers of 4 and 2 bytes.
 * Internal to tests/stand_ins. */
#pragma once

#include "kernels/numbers/half.h"
#include "tests/stand_ins/stand_in.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether this is the idle GPU. With SHARDLAB_STAND_IN_IDLE=SPEED it takes 1 / SPEED of the time that an H200 would
 * take, and computes nothing. Its memory is never touched, so models of any size fit; numbers read from it are 0. */
bool stand_in_idle(void);
/* Keeps the idle GPU busy with a kernel, after earlier ones. */
void stand_in_work(double flops, double bytes);
/* When everything enqueued on the idle GPU so far will be complete; not before now. */
double stand_in_idle_end(void);
double stand_in_now(void); /* CLOCK_MONOTONIC, seconds */
void stand_in_sleep(double until);
size_t stand_in_memory(void); /* bytes of the device */
/* From now on kernels (tests/stand_ins/emulate.h) are enqueued on streams. */
void stand_in_take_launches(void);

enum number { FLOAT, BFLOAT, HALF, E4M3, E5M2, OTHER };

static inline float number_get(const void *x, enum number type, uint64_t i) {
  if (type == FLOAT) return ((const float *)x)[i];
  if (type == E5M2) return sl_half_from_f16((uint16_t)(((const uint8_t *)x)[i] << 8));
  if (type == E4M3) { /* 4 bits of exponent are 5 of fp16's, whose bias is 8 more */
    const uint16_t code = ((const uint8_t *)x)[i], value = code & 0x7f;
    const float y = value == 0x7f ? (float)NAN : 256 * sl_half_from_f16((uint16_t)(value << 7));
    return code & 0x80 ? -y : y;
  }
  const uint16_t bits = ((const uint16_t *)x)[i];
  return type == BFLOAT ? sl_half_from_bf16(bits) : sl_half_from_f16(bits);
}

static inline void number_set(void *x, enum number type, uint64_t i, float value) {
  if (type == FLOAT)
    ((float *)x)[i] = value;
  else
    ((uint16_t *)x)[i] = type == BFLOAT ? sl_half_to_bf16(value) : sl_half_to_f16(value);
}
