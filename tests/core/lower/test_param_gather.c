/* label: unit
 * overlap_param_gather: each bucket of updated parameters is gathered once a step, and once a batch of an evaluation,
 * in a stage's first forward, before the first op that reads it, which waits for that gather, one bucket ahead of what
 * is computed; and what is refused. That bits stay what they are is test_same_bits's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/check/rendezvous.h"
#include "tests/support/job_fixture.h"

enum { MOST = 64 };

/* Blocks of 50 million parameters, so that a bucket, of at least 40 million, closes with each. */
static enum sl_status try_job(struct fixture *f, int world, const char *keys) {
  char path[256], config[512];
  snprintf(path, sizeof path, "%s/param_gather.json", SL_BINARY_DIR);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fprintf(file, "{\"model_type\": \"gpt2\", \"n_layer\": 6, \"n_embd\": 2048, \"n_head\": 16, \"vocab_size\": 500, "
                "\"n_positions\": 64}");
  fclose(file);
  snprintf(
      config, sizeof config,
      "{\"train_micro_batch_size_per_gpu\": 1, \"gradient_accumulation_steps\": 4, \"bf16\": {\"enabled\": true}, "
      "\"optimizer\": {\"type\": \"AdamW\"}, \"shardlab\": {\"overlap_param_gather\": true, \"eval_interval\": 10%s}}",
      keys);
  return fixture_open(f, path, config, "dgx-h100", world, NULL);
}

#define MEGATRON ", \"preset\": \"megatron-distributed-optimizer\""

static uint32_t waits_for(const struct sl_program *p, const struct sl_issue *e, enum sl_lane lane) {
  for (unsigned w = 0; w < e->wait_count; w++)
    if (p->waits[e->wait + w].lane == lane) return p->waits[e->wait + w].count;
  return 0;
}

/* The gathers of a step so far, in their order, and whether an op has read what each of them gathered. */
struct gathers {
  const struct sl_slice *whole[MOST];
  const struct sl_issue *issue[MOST];
  bool read[MOST];
  int count;
};

/* What an op reads is there, and with the first to read of a bucket the next one is on its way. */
static void read_parameters(struct gathers *g, const struct sl_program *p, const struct sl_issue *e, int32_t buffer,
                            int buckets) {
  const struct sl_op *op = &p->ops[e->op];
  for (int i = 0; i < op->slice_count; i++) {
    const struct sl_slice *s = &p->slices[op->slice + i];
    int k = 0;
    if (s->buffer != buffer) continue;
    while (k < g->count &&
           !(s->offset >= g->whole[k]->offset && s->offset + s->bytes <= g->whole[k]->offset + g->whole[k]->bytes))
      k++;
    if (k == g->count)
      fail_msg("%s of layer %d reads parameters that are not gathered", sl_op_name(op->kind), op->layer);
    if (g->read[k]) continue;
    g->read[k] = true;
    assert_int_equal(waits_for(p, e, p->ops[g->issue[k]->op].lane), g->issue[k]->lane_index + 1);
    assert_int_equal(g->count, k + 2 < buckets ? k + 2 : buckets);
  }
}

static void check_program(const struct sl_class *c, enum sl_program_kind kind, int buckets) {
  struct gathers g = {.count = 0};
  const struct sl_program *p = &c->programs[kind];
  const int32_t buffer = c->role[SL_ROLE_PARAM].buffer;
  for (size_t i = 0; i < p->issue_count; i++) {
    const struct sl_op *op = &p->ops[p->issues[i].op];
    if (op->kind == SL_OP_ALL_GATHER && op->payload == SL_PAYLOAD_PARAMETER) {
      assert_true(g.count < MOST && op->phase == SL_PHASE_FORWARD);
      g.whole[g.count] = &p->slices[op->slice + 1];
      g.issue[g.count++] = &p->issues[i];
    } else if (op->phase == SL_PHASE_FORWARD && op->lane == SL_LANE_COMPUTE) {
      read_parameters(&g, p, &p->issues[i], buffer, buckets);
    }
  }
  assert_int_equal(g.count, buckets); /* once a step: not in later micro-batches */
}

static void check_step(int world, const char *keys) {
  struct fixture f;
  if (try_job(&f, world, keys) != SL_OK || sl_check(&f.job) != SL_OK) fail_msg("%s: %s", keys, sl_error_message());
  const struct sl_class *c = &f.job.classes[0];
  assert_int_equal(c->role[SL_ROLE_PARAM].form, SL_FORM_SHARD_IN_FLAT);
  const int buckets = f.plan.pp_ranks[0].unit_count;
  assert_true(buckets >= 4);
  check_program(c, SL_PROGRAM_STEP, buckets);
  check_program(c, SL_PROGRAM_EVAL, buckets);
  fixture_close(&f);
}

static void buckets_are_gathered_one_ahead(void **state) {
  (void)state;
  check_step(2, MEGATRON);
  check_step(4, MEGATRON ", \"tp\": 2, \"sequence_parallel\": true");
  check_step(4, MEGATRON ", \"shard_size\": 2");
}

static void one_rank_gathers_nothing(void **state) {
  (void)state;
  struct fixture f;
  assert_int_equal(try_job(&f, 1, MEGATRON), SL_OK);
  assert_int_equal(f.job.classes[0].role[SL_ROLE_PARAM].form, SL_FORM_WHOLE);
  for (size_t i = 0; i < f.job.classes[0].programs[SL_PROGRAM_STEP].op_count; i++)
    assert_int_not_equal(f.job.classes[0].programs[SL_PROGRAM_STEP].ops[i].kind, SL_OP_ALL_GATHER);
  fixture_close(&f);
}

static void others_are_refused(void **state) {
  (void)state;
  static const char *const keys[] = {"", ", \"preset\": \"megatron-lm\"", ", \"preset\": \"megatron-fsdp\"",
                                     ", \"preset\": \"nanotron-zero1\""};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    struct fixture f;
    if (try_job(&f, 2, keys[i]) == SL_OK) fail_msg("%s", keys[i]);
    if (strstr(sl_error_message(), "--overlap-param-gather only supported with distributed optimizer") == NULL)
      fail_msg("%s", sl_error_message());
    fixture_close(&f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(buckets_are_gathered_one_ahead),
      cmocka_unit_test(one_rank_gathers_nothing),
      cmocka_unit_test(others_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
