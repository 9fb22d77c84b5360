/* label: unit
 * Which layers are recomputed where only every n-th is: torchtitan counts those of a rank, of all its model parts, so a
 * rank of 8 layers has 2 of every third, one of 9 has 3. */
#include "tests/support/job_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { LAYERS = 12 };

/* Layers of a rank whose attention runs twice; `which`: their numbers in turn, as digits of a number of base LAYERS. */
static int repeated_by(const struct sl_class *c, int64_t *which) {
  int times[LAYERS] = {0}, repeated = 0;
  const struct sl_program *p = &c->programs[SL_PROGRAM_STEP];
  for (size_t i = 0; i < p->op_count; i++)
    if (p->ops[i].kind == SL_OP_FLASH_FWD && p->ops[i].layer >= 0) times[p->ops[i].layer]++;
  *which = 0;
  for (int i = 0; i < LAYERS; i++) {
    if (times[i] < 2) continue;
    *which = *which * LAYERS + i;
    repeated++;
  }
  return repeated;
}

static void every_nth_layer_of_a_rank_is_repeated(void **state) {
  (void)state;
  static const struct {
    const char *keys;
    int pp, repeated[2];
    int64_t which[2];
  } cases[] = {
      {"\"recompute_every\": 3", 1, {4}, {((2 * LAYERS + 5) * LAYERS + 8) * LAYERS + 11}},
      {"\"recompute_every\": 3, \"stages\": [5, 7]", 2, {1, 2}, {2, 7 * LAYERS + 10}},
      {"\"recompute_every\": 2, \"stages\": [3, 3, 3, 3], \"virtual_stages\": 2, \"schedule\": \"interleaved\"",
       2,
       {3, 3},
       {(1 * LAYERS + 6) * LAYERS + 8, (4 * LAYERS + 9) * LAYERS + 11}},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct fixture f;
    char config[300];
    snprintf(
        config, sizeof config,
        "{\"train_micro_batch_size_per_gpu\": 1, \"gradient_accumulation_steps\": 2, \"shardlab\": {\"seq_len\": 16, "
        "\"attention\": \"flash\", \"recompute\": \"full\", \"pp\": %d, %s}}",
        cases[i].pp, cases[i].keys);
    if (fixture_open(&f, "gpt2", config, "dgx-a100-80g", cases[i].pp, NULL) != SL_OK)
      fail_msg("%s", sl_error_message());
    for (int rank = 0; rank < cases[i].pp; rank++) {
      int64_t which;
      assert_int_equal(repeated_by(&f.job.classes[rank], &which), cases[i].repeated[rank]);
      assert_int_equal(which, cases[i].which[rank]);
    }
    fixture_close(&f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_nth_layer_of_a_rank_is_repeated)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
