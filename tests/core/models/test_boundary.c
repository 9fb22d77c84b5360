/* label: unit
 * Messages of a pipeline that tp members share out: a member sends and receives 1 / tp of the residual stream, the next
 * stage gathers what arrives once a micro-batch each way, and nothing of it happens where the stream is cut already or
 * stays inside a rank. That losses are those of one rank is grid3d's to prove. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/check/rendezvous.h"
#include "tests/support/job_fixture.h"

enum { MICRO_BATCHES = 3, B = 2, T = 24, C = 128, STREAM = B * T * C };

static void open_job(struct fixture *f, int tp, int pp, const char *keys) {
  char config[512];
  snprintf(config, sizeof config,
           "{\"train_micro_batch_size_per_gpu\": %d, \"gradient_accumulation_steps\": %d, "
           "\"optimizer\": {\"type\": \"AdamW\"}, \"shardlab\": {\"tp\": %d, \"pp\": %d, \"seq_len\": %d%s}}",
           B, MICRO_BATCHES, tp, pp, T, keys);
  if (fixture_open(f, "gpt2-tiny", config, "dgx-a100-80g", tp * pp, NULL) != SL_OK) fail_msg("%s", sl_error_message());
  if (sl_check(&f->job) != SL_OK) fail_msg("%s", sl_error_message());
}

struct counts {
  int64_t messages, elements, gathers, gathered;
};

/* What a step of pipeline rank `rank` sends, and gathers of activations. */
static struct counts count(const struct fixture *f, int rank) {
  struct counts n = {0};
  const struct sl_program *p = &f->job.classes[rank].programs[SL_PROGRAM_STEP];
  for (size_t i = 0; i < p->instance_count; i++) {
    const struct sl_instance *it = &p->instances[i];
    for (const struct sl_op *op = &p->ops[it->first_op]; op < &p->ops[it->first_op + it->op_count]; op++) {
      const bool sends = op->kind == SL_OP_SEND || op->kind == SL_OP_RECV;
      const bool gathers = op->kind == SL_OP_ALL_GATHER && op->group == SL_GROUP_TP && op->dim[0] == STREAM;
      if (sends) n.messages++, n.elements += op->dim[0];
      if (gathers) n.gathers++, n.gathered += op->dim[0];
    }
  }
  return n;
}

#define SCATTER ", \"scatter_gather_tensors_in_pipeline\": true"

static void a_member_sends_its_part(void **state) {
  (void)state;
  struct fixture plain, cut;
  open_job(&plain, 2, 2, "");
  open_job(&cut, 2, 2, SCATTER);
  for (int rank = 0; rank < 2; rank++) {
    const struct counts a = count(&plain, rank), b = count(&cut, rank);
    assert_int_equal(a.messages, 2 * MICRO_BATCHES);
    assert_int_equal(b.messages, a.messages);
    assert_int_equal(a.elements, 2 * MICRO_BATCHES * STREAM);
    assert_int_equal(2 * b.elements, a.elements);
    assert_int_equal(a.gathers, 0);
    assert_int_equal(b.gathers, MICRO_BATCHES); /* activations on the last stage, gradients on the first */
    assert_int_equal(b.gathered, MICRO_BATCHES * STREAM);
  }
  fixture_close(&plain);
  fixture_close(&cut);
}

/* Neither without a pipeline, nor without tensor parallelism, nor where sequence parallelism has cut the stream. */
static void nothing_else_changes(void **state) {
  (void)state;
  const struct {
    int tp, pp;
    const char *keys;
  } cases[] = {{2, 1, ""}, {1, 2, ""}, {2, 2, ", \"sequence_parallel\": true"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct fixture plain, cut;
    char keys[128];
    snprintf(keys, sizeof keys, "%s%s", cases[i].keys, SCATTER);
    open_job(&plain, cases[i].tp, cases[i].pp, cases[i].keys);
    open_job(&cut, cases[i].tp, cases[i].pp, keys);
    const struct sl_program *a = &plain.job.classes[0].programs[SL_PROGRAM_STEP];
    const struct sl_program *b = &cut.job.classes[0].programs[SL_PROGRAM_STEP];
    assert_int_equal(a->op_count, b->op_count);
    for (size_t k = 0; k < a->op_count; k++) assert_int_equal(a->ops[k].kind, b->ops[k].kind);
    fixture_close(&plain);
    fixture_close(&cut);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_member_sends_its_part), cmocka_unit_test(nothing_else_changes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
