/* label: unit
 * The weights that Transformer Engine keeps in fp8 under Megatron-LM, and what its distributed optimizer gathers: bytes
 * counted by hand for a GPT whose linear layers have 12 h^2 weights a block. */
#include "tests/support/job_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { WORLD = 4 };

static const int64_t weights = 48 * INT64_C(12) * 1600 * 1600; /* gpt2-xl */

struct gathered {
  int64_t in_fp8, in_bf16; /* elements a step */
};

static struct gathered gathered_by(const struct sl_program *p) {
  struct gathered g = {0};
  for (size_t i = 0; i < p->issue_count; i++) {
    const struct sl_op *op = &p->ops[p->issues[i].op];
    if (op->kind != SL_OP_ALL_GATHER) continue;
    *(op->dtype == SL_F8 ? &g.in_fp8 : &g.in_bf16) += op->dim[0];
  }
  return g;
}

static struct gathered open_step(struct fixture *f, const char *cluster, const char *more) {
  char config[400];
  snprintf(config, sizeof config,
           "{\"train_micro_batch_size_per_gpu\": 1, \"bf16\": {\"enabled\": true}, \"shardlab\": {\"seq_len\": 64, "
           "\"preset\": \"megatron-distributed-optimizer\", \"kernels\": \"megatron-core\"%s}}",
           more);
  if (fixture_open(f, "gpt2-xl", config, cluster, WORLD, NULL) != SL_OK) fail_msg("%s: %s", more, sl_error_message());
  return gathered_by(fixture_step(f));
}

static void casts_of_weights_are_kept(void **state) {
  (void)state;
  static const struct {
    const char *cluster, *more;
    int bytes; /* a weight */
  } cases[] = {{"dgx-h100", "", 0},
               {"dgx-h100", ", \"fp8\": true", 2}, /* and transposed */
               {"dgx-b200", ", \"fp8\": true", 1},
               {"dgx-h100", ", \"fp8\": true, \"fp8_param_gather\": true", 0},
               {"dgx-h100", ", \"fp8\": true, \"pp\": 2", 1}}; /* half of the blocks */
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct fixture f;
    open_step(&f, cases[i].cluster, cases[i].more);
    assert_int_equal(fixture_bytes_named(&f.job.classes[0], "fp8.weights"), cases[i].bytes * weights);
    fixture_close(&f);
  }
}

/* Buckets of weights, and what stands between them; the embeddings, some of whose bucket may be weights, stay. */
static void buckets_of_weights_are_gathered_in_fp8(void **state) {
  (void)state;
  static const char *const more[] = {", \"fp8\": true", ", \"fp8\": true, \"fp8_param_gather\": true",
                                     ", \"fp8\": true, \"fp8_param_gather\": true, \"overlap_param_gather\": true"};
  struct gathered g[3];
  for (int i = 0; i < 3; i++) {
    struct fixture f;
    g[i] = open_step(&f, "dgx-h100", more[i]);
    fixture_close(&f);
  }
  assert_int_equal(g[0].in_fp8, 0);
  assert_in_range(g[1].in_fp8, weights * 9 / 10, weights + weights / 100);
  assert_int_equal(g[1].in_fp8 + g[1].in_bf16, g[0].in_bf16);
  assert_int_equal(g[2].in_fp8, g[1].in_fp8);
  assert_int_equal(g[2].in_bf16, g[1].in_bf16);
}

/* As in Megatron-LM, with its distributed optimizer alone. */
static void without_shards_nothing_is_gathered(void **state) {
  (void)state;
  struct fixture f;
  assert_int_equal(fixture_open(&f, "gpt2",
                                "{\"train_micro_batch_size_per_gpu\": 1, \"bf16\": {\"enabled\": true}, \"shardlab\": "
                                "{\"preset\": \"megatron-lm\", \"kernels\": \"megatron-core\", \"fp8\": true, "
                                "\"fp8_param_gather\": true}}",
                                "dgx-h100", WORLD, NULL),
                   SL_ERR_INPUT);
  assert_non_null(strstr(sl_error_message(), "--fp8-param-gather only supported with distributed optimizer"));
  fixture_close(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(casts_of_weights_are_kept),
      cmocka_unit_test(buckets_of_weights_are_gathered_in_fp8),
      cmocka_unit_test(without_shards_nothing_is_gathered),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
