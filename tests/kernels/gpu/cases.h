/* Numbers for the tests of the GPU kernels: a tensor on the device in some number type, together with the same numbers
 * in double for the host's double kernels. Every case runs twice, and the device's bits of the second run must equal
 * those of the first; emulated, fp16 runs once, for of order bf16 says as much. With CASES_SANITIZED=1 in the
 * environment it runs once and not in fp16: a sanitizer learns nothing from the second run, nor from the addresses of
 * bf16 again. With CASES_SANITIZED=threads it runs in bf16 alone, unless 16 bits have another kernel than fp32: threads
 * wait for each other in all types alike. And only threads of a block can race: of many blocks, which differ in
 * addresses alone, some run, and no numbers are compared.
 *
 * A mismatch is reported, and the case goes on and fails at its end, because the first wrong tensor alone says little
 * about a wrong kernel. With CASES_REPORT=FILE each check adds a line to FILE at once, since the next kernel may crash
 * the process: case, number type, tensor, worst error / allowed error, where, the number there, the number expected. */
#pragma once

#include "kernels/gpu/cuda.h"
#include "kernels/numbers/every.h"
#include "tests/kernels/gpu/device.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
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

/* n numbers in [low, high) that `type` represents exactly; the device's copy starts `shift` elements past a boundary of
 * 256 bytes. */
struct tensor tensor_new(enum sl_number type, size_t n, size_t shift, double low, double high);
void *device_copy(const void *host, size_t bytes); /* freed with the case */
/* Element `i` of the device's copy. */
void *tensor_at(const struct tensor *t, size_t i);

/* Asserts that a launcher has succeeded. */
#define RUN(call) assert_int_equal((call), 0)

/* Compares the device's numbers with t->x, which the double kernel has meanwhile written: |y - x| <= u |x| + slack
 * max|x|, with u = 1e-5 for fp32 and half a unit in the last place for 16 bits. */
void tensor_check(const struct tensor *t, double slack, const char *what);
/* Compares doubles or floats on the device with doubles, relative. */
void doubles_check(const double *device, const double *expected, size_t n, double relative, const char *what);
void floats_check(const float *device, const double *expected, size_t n, double relative, const char *what);
/* Compares one number from the device, relative to itself only. */
void number_check(double got, double expected, double relative, const char *what);
/* Compares bytes on the device only with those of the other run. */
void bytes_check(const void *device, size_t bytes, const char *what);
/* The same, and also with the bytes of `host`. */
void bytes_same(const void *device, const void *host, size_t bytes, const char *what);

/* A sanitizer looks at how threads wait for each other: a case need not combine what changes numbers alone. */
bool cases_for_threads(void);

enum case_types {
  EACH_TYPE,
  UNTYPED /* runs once, and is given fp32 */,
  TWO_KERNELS /* fp32 has another than 16 bits */
};

struct cuda_case {
  const char *name;
  void (*body)(enum sl_number type);
  enum case_types types;
};

/* The main function of a test program: runs every case in every number type; `--list` prints their names, `--case NAME`
 * runs one of them. */
int cases_main(const char *program, const struct cuda_case *cases, size_t n, int argc, char **argv);
