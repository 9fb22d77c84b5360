/* label: unit
 * The pipelines of torchtitan's files before April 2025: as many micro-batches as stages, or as
 * pipeline_parallel_microbatches says, and the stages of generate_split_points, torchtitan's commit 90567fc98. */
#include "core/base/json_get.h"
#include "core/interop/torchtitan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char warned[2048];

static void keep(void *context, const char *text) {
  (void)context;
  snprintf(warned, sizeof warned, "%s", text);
}

static enum sl_status read_text(const char *text, int64_t world, json_t **config) {
  json_t *model;
  warned[0] = '\0';
  sl_error_clear();
  sl_warn_set_sink(keep, NULL);
  const enum sl_status status = sl_torchtitan_read("f", text, strlen(text), false, 0, &world, config, &model, NULL);
  sl_warn_set_sink(NULL, NULL);
  json_decref(model);
  return status;
}

#define PIPELINE(section, n) "[model]\nflavor='8B'\n[" section "]\npipeline_parallel_degree=" n "\n"
#define EARLY(n) PIPELINE("experimental", n)
#define LATER(n) PIPELINE("parallelism", n)
#define TWICE "pipeline_parallel_schedule='Interleaved1F1B'\n"
#define PARTS(n) "pipeline_parallel_microbatches=" n "\n"
#define SIZE(n) "pipeline_parallel_microbatch_size=" n "\n"
#define BATCH(n) "[training]\nbatch_size=" n "\n"

static void micro_batches_and_stages_are_those_of_then(void **state) {
  (void)state;
  static const struct {
    const char *text;
    int64_t world, micro, times;
    const char *stages;
    bool warns;
  } cases[] = {
      {EARLY("4") BATCH("8"), 8, 2, 4, "[8,8,8,8]", false},
      {EARLY("3") BATCH("6"), 6, 2, 3, "[10,11,11]", false},
      {EARLY("3") TWICE BATCH("6"), 6, 1, 6, "[5,6,6,5,5,5]", false},
      {EARLY("4") PARTS("2") BATCH("8"), 8, 4, 2, "[8,8,8,8]", false},
      {EARLY("4"), 8, 2, 4, "[8,8,8,8]", false}, /* the batch is 8 unless it is given */
      {LATER("4") PARTS("2") BATCH("8"), 8, 4, 2, "[8,8,8,8]", false},
      {LATER("4") BATCH("8"), 8, 1, 8, "[8,9,8,7]", true},
      {LATER("4") SIZE("2") BATCH("8"), 8, 2, 4, "[8,9,8,7]", false},
      {EARLY("4") "[parallelism]\n" SIZE("2") BATCH("8"), 8, 2, 4, "[8,9,8,7]", false},
      {LATER("4") "[training]\nlocal_batch_size=8\n", 8, 1, 8, "[8,9,8,7]", false},
      {LATER("1") PARTS("2") BATCH("8"), 8, 8, 1, NULL, false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    json_t *config;
    if (read_text(cases[i].text, cases[i].world, &config) != SL_OK)
      fail_msg("%s: %s", cases[i].text, sl_error_message());
    const json_t *stages = sl_json_at(config, "shardlab.stages");
    char *dealt = stages != NULL ? json_dumps(stages, JSON_COMPACT) : NULL;
    assert_int_equal(json_integer_value(sl_json_at(config, "train_micro_batch_size_per_gpu")), cases[i].micro);
    assert_int_equal(json_integer_value(sl_json_at(config, "gradient_accumulation_steps")), cases[i].times);
    assert_int_equal(dealt == NULL, cases[i].stages == NULL);
    if (dealt != NULL) assert_string_equal(dealt, cases[i].stages);
    if (cases[i].warns)
      assert_non_null(strstr(warned, "f: a pipeline of spring 2025: micro-batches are taken as of size 1"));
    else
      assert_string_equal(warned, "");
    free(dealt);
    json_decref(config);
  }
}

static void batches_that_do_not_divide_are_refused(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {EARLY("4") BATCH("6"),
       "f:6:1: training.batch_size: is 6; expected a multiple of the 4 stages, as many micro-batches as torchtitan of "
       "then made, or pipeline_parallel_microbatches"},
      {EARLY("4") PARTS("3") BATCH("8"),
       "f:5:1: experimental.pipeline_parallel_microbatches: is 3; expected a divisor of batch_size 8"},
      {LATER("4") PARTS("0") BATCH("8"), "f:5:1: parallelism.pipeline_parallel_microbatches: is 0; expected"},
      {LATER("4") PARTS("2") SIZE("2") BATCH("8"), "f:5:1: parallelism.pipeline_parallel_microbatches: is 2; expected "
                                                   "none beside pipeline_parallel_microbatch_size"},
      {EARLY("64") BATCH("64"),
       "f:4:1: experimental.pipeline_parallel_degree: is 64; expected at most so many stages that each has a layer"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    json_t *config;
    if (read_text(cases[i][0], i == 4 ? 64 : 8, &config) != SL_ERR_INPUT) fail_msg("taken: %s", cases[i][0]);
    if (strncmp(sl_error_message(), cases[i][1], strlen(cases[i][1])) != 0)
      fail_msg("%s: %s", cases[i][0], sl_error_message());
    assert_null(config);
  }
  sl_error_clear();
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(micro_batches_and_stages_are_those_of_then),
                                     cmocka_unit_test(batches_that_do_not_divide_are_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
