/* Numbers for the tests of the GPU kernels: a tensor on the device in a number type, and beside it the same numbers in
 * double for the host's double kernels. Every case runs twice; the second time the device's bits are held against those
 * of the first. With CASES_SANITIZED=1 in the environment it runs once and not in fp16: a sanitizer learns nothing from the
 * second run, nor from bf16's addresses met again.
 *
 * A mismatch is said, and the case goes on and fails at its end: where a kernel is wrong, the first wrong tensor is the least
 * that one wants to know. With CASES_REPORT=FILE each check adds a line to FILE, at once, since the next kernel may be the
 * process's last: case, number type, tensor, worst error / what is allowed, where, the number there, the number expected. */
#pragma once

#include "kernels/gpu/cuda.h"
#include "kernels/numbers/every.h"
#include "tests/kernels/gpu/device.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct tensor {
  size_t n;
  enum sl_number type;
  double *x;  /* the same numbers on the host */
  void *d;    /* on the device */
  void *base; /* what to free */
};

/* n numbers in [low, high) that `type` holds exactly; the device's copy starts `shift` elements past a boundary of 256
 * bytes. */
struct tensor tensor_new(enum sl_number type, size_t n, size_t shift, double low, double high);
void *device_copy(const void *host, size_t bytes); /* freed with the case */
/* Element `i` of the device's copy. */
void *tensor_at(const struct tensor *t, size_t i);

/* A launcher has succeeded. */
#define RUN(call) assert_int_equal((call), 0)

/* The device's numbers against t->x, which the double kernel has written meanwhile: |y - x| <= u |x| + slack max|x|,
 * with u = 1e-5 for fp32 and half the last place for 16 bits. */
void tensor_check(const struct tensor *t, double slack, const char *what);
/* Doubles or floats on the device against doubles: relative. */
void doubles_check(const double *device, const double *expected, size_t n, double relative, const char *what);
void floats_check(const float *device, const double *expected, size_t n, double relative, const char *what);
/* One number that the device has given: relative to itself alone. */
void number_check(double got, double expected, double relative, const char *what);
/* Bytes of the device, only held against those of the other run. */
void bytes_check(const void *device, size_t bytes, const char *what);
/* The same, and the bytes of `host`. */
void bytes_same(const void *device, const void *host, size_t bytes, const char *what);

struct cuda_case {
  const char *name;
  void (*body)(enum sl_number type);
  int untyped; /* it runs once, and is told fp32 */
};

/* The whole of a test program: every case in every number type, `--list` for their names, `--case NAME` for one of them. */
int cases_main(const char *program, const struct cuda_case *cases, size_t n, int argc, char **argv);
