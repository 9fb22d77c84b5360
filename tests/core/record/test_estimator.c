/* label: unit
 * The formulas of others, to the digit that they print: ZeRO's Figure 1 and DeepSpeed's estimators. */
#include "core/record/estimator.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { FIELDS = 13 };

/* ZeRO (arXiv:1910.02054, Figure 1): bytes of model states per device with mixed-precision Adam, K = 12 bytes of
 * optimizer state per parameter, over `devices` data-parallel devices:
 *   stage 0  (2 + 2 + K) P      1  (2 + 2) P + K P / N      2  2 P + (2 + K) P / N      3  (2 + 2 + K) P / N
 * The paper prints GB of 10^9 bytes. */
static double zero_paper(double params, int64_t devices, int stage) {
  static const double whole[] = {16, 4, 2, 0}, shared[] = {0, 12, 14, 16}; /* bytes a parameter */
  return whole[stage] * params + shared[stage] * params / (double)devices;
}

/* Cut a line of CSV at its commas, in place; quoted fields keep theirs and lose their quotes. */
static int split(char *line, char **field) {
  int n = 0;
  line[strcspn(line, "\r\n")] = '\0';
  for (char *at = line; at != NULL && n < FIELDS;) {
    const bool quoted = *at == '"';
    field[n++] = quoted ? ++at : at;
    char *end = quoted ? strchr(at, '"') : at;
    assert_non_null(end);
    char *comma = strchr(end, ',');
    if (quoted) *end = '\0';
    if (comma != NULL) *comma++ = '\0';
    at = comma;
  }
  return n;
}

static FILE *open_table(const char *name) {
  char path[600], head[600];
  snprintf(path, sizeof path, SL_SOURCE_DIR "/experiments/memory_vs_stage/data/%s", name);
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  assert_non_null(fgets(head, sizeof head, file));
  return file;
}

/* `value` with as many decimals as the printed text has must read the same. */
static void same_digits(const char *printed, double value) {
  char text[64];
  const char *dot = strchr(printed, '.');
  snprintf(text, sizeof text, "%.*f", dot == NULL ? 0 : (int)strlen(dot + 1), value);
  assert_string_equal(text, printed);
}

static void figure_1_of_the_paper(void **state) {
  (void)state;
  char line[1000], *field[FIELDS];
  int rows = 0;
  FILE *file = open_table("zero_paper_fig1.csv");
  for (; fgets(line, sizeof line, file) != NULL; rows++) {
    assert_true(split(line, field) >= 4);
    const double bytes = zero_paper(1e9 * atof(field[0]), atoll(field[1]), atoi(field[2]));
    same_digits(field[3], bytes / 1e9);
    same_digits(field[4], bytes / 1e9);
  }
  fclose(file);
  assert_int_equal(rows, 4);
}

/* Every cell to its printed digit. The paper rounds its first column (41.25 is 41.3) and cuts off in the others (513.5
 * is 513, 4187.5 is 4187). */
static void table_1_of_the_paper(void **state) {
  (void)state;
  char line[1000], *f[FIELDS];
  int rows = 0;
  FILE *file = open_table("zero_paper_table1.csv");
  for (; fgets(line, sizeof line, file) != NULL; rows++) {
    assert_true(split(line, f) >= 4);
    const char *dot = strchr(f[3], '.');
    const double unit = pow(10, dot == NULL ? 0 : (double)strlen(dot + 1));
    const double value = unit * zero_paper(1e9 * atof(f[0]), atoll(f[1]), atoi(f[2])) / 1e9;
    const double printed = round(unit * atof(f[3]));
    if (printed != floor(value + 0.5) && printed != floor(value))
      fail_msg("%s B on %s devices, stage %s: %.9g, printed %s", f[0], f[1], f[2], value / unit, f[3]);
  }
  fclose(file);
  assert_int_equal(rows, 6 * 3 * 3);
}

/* One device shares with nobody; many leave what is not shared; in between 1/N, exactly. */
static void closed_form_over_devices(void **state) {
  (void)state;
  for (int stage = 0; stage <= 3; stage++) assert_true(zero_paper(7.5e9, 1, stage) == 120e9);
  assert_true(zero_paper(128e9, 16, 1) == 608e9);
  assert_true(zero_paper(128e9, 16, 2) == 368e9);
  assert_true(zero_paper(128e9, 1024, 3) == 2e9);
  assert_true(zero_paper(1e12, 256, 3) == 62.5e9);
  assert_true(zero_paper(1e12, 4, 2) == 5500e9);
  assert_true(zero_paper(1e12, 64, 1) == 4187.5e9);
}

/* The documentation's printout is older than pull request 5099. */
static void rows_of_deepspeeds_documentation(void **state) {
  (void)state;
  char line[1000], *f[FIELDS];
  int rows = 0;
  FILE *file = open_table("deepspeed_mem_estimator.csv");
  while (fgets(line, sizeof line, file) != NULL) {
    assert_int_equal(split(line, f), FIELDS);
    if (strcmp(f[1], "cold") != 0) continue;
    const struct sl_estimator ask = {.stage = atoi(f[0]),
                                     .params = atof(f[2]),
                                     .largest = atof(f[3]),
                                     .nodes = atoll(f[4]),
                                     .devices_per_node = atoll(f[5]),
                                     .offload_optimizer = strcmp(f[6], "cpu") == 0,
                                     .offload_param = strcmp(f[7], "cpu") == 0,
                                     .zero_init = strcmp(f[8], "1") == 0,
                                     .before_5099 = true};
    const struct sl_estimate e = sl_estimator_deepspeed(&ask);
    same_digits(f[9], e.host_bytes / 0x1p30);
    same_digits(f[10], e.device_bytes / 0x1p30);
    rows++;
  }
  fclose(file);
  assert_int_equal(rows, 8);
}

static void several_nodes_and_the_present_formula(void **state) {
  (void)state;
  struct sl_estimator ask = {.stage = 2, .params = 7001, .nodes = 3, .devices_per_node = 5};
  struct sl_estimate e = sl_estimator_deepspeed(&ask);
  assert_true(e.device_bytes == 2 * 7001 + 8401); /* 18 x 7001 / 15 = 8401.2 */
  assert_true(e.host_bytes == 1.5 * 4 * 5 * 7001);
  ask.offload_optimizer = true;
  e = sl_estimator_deepspeed(&ask);
  assert_true(e.host_bytes == 1.5 * 60 * 7001); /* 4 x 15 > 16 */
  ask.stage = 3, ask.largest = 101, ask.zero_init = true;
  e = sl_estimator_deepspeed(&ask);
  assert_true(e.device_bytes == 4 * 101 + 933);
  assert_true(e.host_bytes == 56008); /* 1.5 x 16/3 x 7001 */
}

static void largest_layer_is_weight_and_bias(void **state) {
  (void)state;
  struct sl_model model;
  assert_int_equal(sl_model_load(&model, "gpt2"), SL_OK);
  assert_int_equal(sl_estimator_largest_layer(&model), 50257 * 768);
  sl_model_free(&model);
  assert_int_equal(sl_model_load(&model, SL_SOURCE_DIR "/examples/mlp.json"), SL_OK);
  assert_int_equal(sl_estimator_largest_layer(&model), 64 * 64 + 64);
  sl_model_free(&model);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(figure_1_of_the_paper),
      cmocka_unit_test(table_1_of_the_paper),
      cmocka_unit_test(closed_form_over_devices),
      cmocka_unit_test(rows_of_deepspeeds_documentation),
      cmocka_unit_test(several_nodes_and_the_present_formula),
      cmocka_unit_test(largest_layer_is_weight_and_bias),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
