/* Numbers for the tests of the GPU kernels (tests/cuda/cases.h). */
#include "tests/cuda/cases.h"

#include <stdbool.h>

enum { MOST = 4096 };

static struct {
  void *host[MOST], *device[MOST];
  int hosts, devices;
  uint32_t name;             /* of the next random numbers */
  int run;                   /* 0 or 1 */
  unsigned char *seen[MOST]; /* what the first run's checks read */
  int checks;
} the;

static void *keep(void *p) {
  assert_non_null(p);
  assert_true(the.hosts < MOST);
  return the.host[the.hosts++] = p;
}

static void *keep_device(void *p) {
  assert_non_null(p);
  assert_true(the.devices < MOST);
  return the.device[the.devices++] = p;
}

void *device_copy(const void *host, size_t bytes) {
  void *d = keep_device(device_new(bytes));
  device_write(d, host, bytes);
  return d;
}

struct tensor tensor_new(enum sl_number type, size_t n, size_t shift, double low, double high) {
  const size_t bytes = sl_convert_bytes(type);
  struct tensor t = {.n = n, .type = type};
  float *wide = malloc((n + 1) * sizeof *wide);
  unsigned char *stored = malloc((n + 1) * bytes);
  assert_true(wide && stored);
  t.x = keep(malloc((n + 1) * sizeof *t.x));
  sl_philox_uniform(wide, &(struct sl_philox_key){19, 3, 7, the.name++}, 0, n, (float)low, (float)high);
  sl_convert(stored, type, wide, SL_NUMBER_F32, n);
  sl_convert(wide, SL_NUMBER_F32, stored, type, n);
  for (size_t i = 0; i < n; i++) t.x[i] = (double)wide[i];
  t.base = keep_device(device_new((n + shift) * bytes));
  t.d = (char *)t.base + shift * bytes;
  device_write(t.d, stored, n * bytes);
  free(wide), free(stored);
  return t;
}

void *tensor_at(const struct tensor *t, size_t i) {
  return (char *)t->d + i * sl_convert_bytes(t->type);
}

/* The bytes at `device`; the second run's must be the first's. */
static unsigned char *read_bytes(const void *device, size_t bytes, const char *what) {
  unsigned char *got = malloc(bytes + 1);
  assert_non_null(got);
  assert_true(the.checks < MOST);
  device_read(got, device, bytes);
  if (the.run == 0) {
    the.seen[the.checks++] = got;
    return got;
  }
  keep(got);
  if (memcmp(got, the.seen[the.checks++], bytes) != 0) fail_msg("%s: another run gave other bits", what);
  return got;
}

void bytes_check(const void *device, size_t bytes, const char *what) {
  read_bytes(device, bytes, what);
}

void tensor_check(const struct tensor *t, double slack, const char *what) {
  static const double units[] = {1e-5, 0x1p-8, 0x1p-11}, smallest[] = {0, 0, 0x1p-25};
  static const char *const names[] = {"fp32", "bf16", "fp16"};
  const unsigned char *stored = read_bytes(t->d, t->n * sl_convert_bytes(t->type), what);
  float *y = malloc((t->n + 1) * sizeof *y);
  double largest = 0;
  assert_non_null(y);
  sl_convert(y, SL_NUMBER_F32, stored, t->type, t->n);
  for (size_t i = 0; i < t->n; i++) largest = fmax(largest, fabs(t->x[i]));
  for (size_t i = 0; i < t->n; i++) {
    const double bound = units[t->type] * fabs(t->x[i]) + slack * largest + smallest[t->type];
    if (!(fabs((double)y[i] - t->x[i]) <= bound)) {
      const double x = t->x[i], got = (double)y[i];
      free(y);
      fail_msg("%s %s[%zu of %zu]: %.9g, in double %.9g (%.2g of what is allowed)", names[t->type], what, i, t->n, got,
               x, fabs(got - x) / bound);
    }
  }
  free(y);
}

static void close_to(double x, double expected, double relative, const char *what, size_t i) {
  if (isnan(x) && isnan(expected)) return;
  if (x == expected) return;
  if (!(fabs(x - expected) <= relative * (fabs(expected) + 1e-3)))
    fail_msg("%s[%zu]: %.12g, expected %.12g", what, i, x, expected);
}

void doubles_check(const double *device, const double *expected, size_t n, double relative, const char *what) {
  const void *got = read_bytes(device, n * sizeof *device, what);
  for (size_t i = 0; i < n; i++) close_to(((const double *)got)[i], expected[i], relative, what, i);
}

void floats_check(const float *device, const double *expected, size_t n, double relative, const char *what) {
  const void *got = read_bytes(device, n * sizeof *device, what);
  for (size_t i = 0; i < n; i++) close_to((double)((const float *)got)[i], expected[i], relative, what, i);
}

static bool sanitized(void) {
  const char *said = getenv("CASES_SANITIZED");
  return said != NULL && strcmp(said, "1") == 0;
}

void both_runs(void (*body)(enum sl_number), enum sl_number type) {
  for (the.run = 0; the.run < (sanitized() ? 1 : 2); the.run++) {
    the.checks = 0;
    the.name = 0;
    device_turn_order(the.run);
    body(type);
    for (int i = 0; i < the.hosts; i++) free(the.host[i]);
    for (int i = 0; i < the.devices; i++) device_delete(the.device[i]);
    the.hosts = the.devices = 0;
  }
  for (int i = 0; i < the.checks; i++) free(the.seen[i]);
}

void each_type(void (*body)(enum sl_number)) {
  static const enum sl_number types[] = {SL_NUMBER_F32, SL_NUMBER_BF16, SL_NUMBER_F16};
  for (int i = 0; i < (sanitized() ? 2 : 3); i++) both_runs(body, types[i]);
}
