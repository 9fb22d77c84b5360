/* Numbers for the tests of the GPU kernels (tests/kernels/gpu/cases.h). */
#include "tests/kernels/gpu/cases.h"

#include <stdio.h>

enum { MOST = 4096, MOST_CASES = 80, SAID = 5 };

static const char *const type_names[] = {"fp32", "bf16", "fp16"};

static struct {
  void *host[MOST], *device[MOST];
  int hosts, devices;
  uint32_t name;             /* of the next random numbers */
  int run;                   /* 0 or 1 */
  unsigned char *seen[MOST]; /* what the first run's checks read */
  int checks;
  const char *name_of_case;
  enum sl_number type;
  int mismatches;
} the;

/* The worst place of one check: what was read, what was expected, and the error over what is allowed. */
struct worst {
  double ratio, got, expected;
  size_t i;
};

static void take(struct worst *w, size_t i, double got, double expected, double bound) {
  const bool same = got == expected || (isnan(got) && isnan(expected));
  double ratio = same ? 0 : fabs(got - expected) / bound;
  if (isnan(ratio)) ratio = INFINITY; /* one of the two is no number */
  if (i == 0 || ratio > w->ratio) *w = (struct worst){ratio, got, expected, i};
}

/* A line of its own for every check, closed before the next kernel starts. */
static void report(const struct worst *w, const char *what) {
  const char *path = getenv("CASES_REPORT");
  if (path == NULL) return;
  FILE *f = fopen(path, "a");
  if (f == NULL) fail_msg("%s cannot be written", path);
  fprintf(f, "%s\t%s\t%s\t%.4g\t%zu\t%.9g\t%.9g\n", the.name_of_case, type_names[the.type], what, w->ratio, w->i,
          w->got, w->expected);
  if (fclose(f) != 0) fail_msg("%s cannot be written", path);
}

static void judge(const struct worst *w, const char *what) {
  report(w, what);
  if (w->ratio <= 1 || cases_for_threads()) return; /* which blocks that were left out have not written */
  if (the.mismatches++ < SAID)
    print_error("%s[%zu]: %.12g, expected %.12g (%.3g of what is allowed)\n", what, w->i, w->got, w->expected,
                w->ratio);
}

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
  if (memcmp(got, the.seen[the.checks++], bytes) != 0) {
    report(&(struct worst){.ratio = INFINITY}, "equal bits");
    if (the.mismatches++ < SAID) print_error("%s: another run gave other bits\n", what);
  }
  return got;
}

void bytes_check(const void *device, size_t bytes, const char *what) {
  read_bytes(device, bytes, what);
}

void bytes_same(const void *device, const void *host, size_t bytes, const char *what) {
  unsigned char *got = malloc(bytes);
  assert_non_null(got);
  device_read(got, device, bytes);
  size_t wrong = 0;
  for (size_t i = 0; i < bytes; i++) wrong += got[i] != ((const unsigned char *)host)[i];
  number_check((double)(bytes - wrong), (double)bytes, 0, what);
  free(got);
  bytes_check(device, bytes, what);
}

void tensor_check(const struct tensor *t, double slack, const char *what) {
  static const double units[] = {1e-5, 0x1p-8, 0x1p-11}, smallest[] = {0, 0, 0x1p-25};
  const unsigned char *stored = read_bytes(t->d, t->n * sl_convert_bytes(t->type), what);
  float *y = malloc((t->n + 1) * sizeof *y);
  struct worst worst = {0};
  double largest = 0;
  assert_non_null(y);
  sl_convert(y, SL_NUMBER_F32, stored, t->type, t->n);
  for (size_t i = 0; i < t->n; i++) largest = fmax(largest, fabs(t->x[i]));
  for (size_t i = 0; i < t->n; i++)
    take(&worst, i, (double)y[i], t->x[i], units[t->type] * fabs(t->x[i]) + slack * largest + smallest[t->type]);
  free(y);
  judge(&worst, what);
}

static double allowed(double expected, double relative) {
  return relative * (fabs(expected) + 1e-3);
}

void doubles_check(const double *device, const double *expected, size_t n, double relative, const char *what) {
  const void *got = read_bytes(device, n * sizeof *device, what);
  struct worst worst = {0};
  for (size_t i = 0; i < n; i++) take(&worst, i, ((const double *)got)[i], expected[i], allowed(expected[i], relative));
  judge(&worst, what);
}

void floats_check(const float *device, const double *expected, size_t n, double relative, const char *what) {
  const void *got = read_bytes(device, n * sizeof *device, what);
  struct worst worst = {0};
  for (size_t i = 0; i < n; i++)
    take(&worst, i, (double)((const float *)got)[i], expected[i], allowed(expected[i], relative));
  judge(&worst, what);
}

void number_check(double got, double expected, double relative, const char *what) {
  struct worst worst = {0};
  take(&worst, 0, got, expected, relative * fabs(expected));
  judge(&worst, what);
}

static bool sanitized_for(const char *what) {
  const char *said = getenv("CASES_SANITIZED");
  return said != NULL && strcmp(said, what) == 0;
}

bool cases_for_threads(void) {
  return sanitized_for("threads");
}

static bool sanitized(void) {
  return sanitized_for("1") || cases_for_threads();
}

/* A case that a failed launch left in its middle has left its memory. */
static void forget(void) {
  for (int i = 0; i < the.hosts; i++) free(the.host[i]);
  for (int i = 0; i < the.devices; i++) device_delete(the.device[i]);
  the.hosts = the.devices = 0;
}

static void forget_seen(void) {
  for (int i = 0; i < the.checks; i++) free(the.seen[i]);
  the.checks = 0;
}

struct chosen {
  const struct cuda_case *which;
  enum sl_number type;
  char name[64];
};

/* How often a case runs. Threads that are turned meet each other in fp16 as in bf16, whose kernels differ in conversions
 * alone; a device that takes them in whatever order it likes is asked twice. */
static int runs_of(enum sl_number type) {
  return sanitized() || (type == SL_NUMBER_F16 && device_turn_order(0)) ? 1 : 2;
}

static void both_runs(void **state) {
  const struct chosen *chosen = *state;
  the.name_of_case = chosen->which->name;
  the.type = chosen->type;
  the.mismatches = 0;
  device_run_few_blocks(cases_for_threads());
  for (the.run = 0; the.run < runs_of(chosen->type); the.run++) {
    the.checks = 0;
    the.name = 0;
    device_turn_order(the.run);
    chosen->which->body(chosen->type);
    forget();
  }
  forget_seen();
  if (the.mismatches > 0) fail_msg("%s: %d checks failed", chosen->name, the.mismatches);
}

/* Every case in every type that is asked for, by name; returns how many. */
static size_t spread(struct chosen *to, const struct cuda_case *cases, size_t n) {
  size_t count = 0;
  for (size_t i = 0; i < n; i++) {
    const int end = cases[i].types == UNTYPED ? 1 : sanitized() ? 2 : 3;
    const bool last_alone = cases_for_threads() && cases[i].types != TWO_KERNELS;
    for (int type = last_alone ? end - 1 : 0; type < end; type++) {
      struct chosen *c = &to[count++];
      *c = (struct chosen){&cases[i], (enum sl_number)type, ""};
      snprintf(c->name, sizeof c->name, cases[i].types == UNTYPED ? "%s" : "%s-%s", cases[i].name, type_names[type]);
    }
  }
  return count;
}

int cases_main(const char *program, const struct cuda_case *cases, size_t n, int argc, char **argv) {
  static struct chosen all[MOST_CASES];
  struct CMUnitTest tests[MOST_CASES];
  const bool list = argc == 2 && strcmp(argv[1], "--list") == 0;
  const char *one = argc == 3 && strcmp(argv[1], "--case") == 0 ? argv[2] : NULL;
  size_t chosen = 0;
  const size_t count = spread(all, cases, n);
  for (size_t i = 0; i < count; i++) {
    if (list) puts(all[i].name);
    if (one == NULL || strcmp(one, all[i].name) == 0)
      tests[chosen++] = (struct CMUnitTest){all[i].name, both_runs, NULL, NULL, &all[i]};
  }
  if (list) return 0;
  if (chosen == 0 || (argc > 1 && one == NULL)) {
    fprintf(stderr, "usage: %s [--list | --case NAME]; --list says which\n", program);
    return 2;
  }
  const char *missing = device_missing();
  if (missing) {
    printf("SKIP %s: no GPU to run on (%s)\n", program, missing);
    return 77;
  }
  return _cmocka_run_group_tests(program, tests, chosen, NULL, NULL);
}
