/* label: unit
 * Where a framework sends by torch.distributed.send, a rank of a pipeline does one thing at a time: every message waits
 * for the ops and messages before it, and every op for the messages before it. And tensor parallelism as that
 * framework's modules have it. */
#include "core/check/rendezvous.h"
#include "tests/support/job_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void open_job(struct fixture *f, const char *preset, const char *more, int world) {
  char config[512], model[256];
  snprintf(model, sizeof model, "%s/blocking_messages.json", SL_BINARY_DIR);
  FILE *file = fopen(model, "w");
  assert_non_null(file);
  fprintf(file,
          "{\"model_type\": \"llama\", \"num_hidden_layers\": 6, \"hidden_size\": 64, \"num_attention_heads\": 4, "
          "\"intermediate_size\": 96, \"vocab_size\": 80, \"max_position_embeddings\": 32}");
  fclose(file);
  snprintf(config, sizeof config,
           "{\"train_micro_batch_size_per_gpu\": 1, \"gradient_accumulation_steps\": 7, \"bf16\": {\"enabled\": true},"
           " \"optimizer\": {\"type\": \"AdamW\"}, \"shardlab\": {\"preset\": \"%s\", \"attention\": \"flash\","
           " \"seq_len\": 32%s}}",
           preset, more);
  if (fixture_open(f, model, config, "dgx-a100-80g", world, NULL) != SL_OK || sl_check(&f->job) != SL_OK)
    fail_msg("%s: %s", more, sl_error_message());
}

/* ---- messages ---- */

typedef uint32_t known[SL_LANE_COUNT]; /* ops of each lane that are over when an issue starts */

static void learn(known to, const known from) {
  for (int i = 0; i < SL_LANE_COUNT; i++)
    if (from[i] > to[i]) to[i] = from[i];
}

static bool is_message(uint32_t lane) {
  return lane >= SL_LANE_SEND_F && lane <= SL_LANE_RECV_B;
}

/* Of the step's issues: how many messages, or computing ops behind messages, may start before what stands before them
 * is over. */
static int too_early(const struct sl_program *p) {
  known *at = calloc(p->issue_count, sizeof *at), count = {0};
  uint32_t(*issue_of)[SL_LANE_COUNT] = calloc(p->issue_count, sizeof *issue_of);
  int early = 0;
  for (uint32_t i = 0; i < p->issue_count; i++) {
    const uint32_t lane = p->ops[p->issues[i].op].lane;
    if (count[lane] > 0) learn(at[i], at[issue_of[count[lane] - 1][lane]]);
    at[i][lane] = count[lane];
    for (uint32_t w = 0; w < p->issues[i].wait_count; w++) {
      const struct sl_wait *wait = &p->waits[p->issues[i].wait + w];
      learn(at[i], at[issue_of[wait->count - 1][wait->lane]]);
      if (wait->count > at[i][wait->lane]) at[i][wait->lane] = wait->count;
    }
    bool waits = !is_message(lane) || at[i][SL_LANE_COMPUTE] == count[SL_LANE_COMPUTE];
    for (uint32_t other = SL_LANE_SEND_F; other <= SL_LANE_RECV_B; other++) waits &= at[i][other] == count[other];
    early += (is_message(lane) || lane == SL_LANE_COMPUTE) && !waits;
    issue_of[count[lane]++][lane] = i;
  }
  free(at);
  free(issue_of);
  return early;
}

static int of_all_ranks(const char *preset) {
  struct fixture f;
  int early = 0;
  open_job(&f, preset, ", \"pp\": 3", 6);
  for (int c = 0; c < f.job.class_count; c++) early += too_early(&f.job.classes[c].programs[SL_PROGRAM_STEP]);
  fixture_close(&f);
  return early;
}

static void one_thing_at_a_time(void **state) {
  (void)state;
  assert_int_equal(of_all_ranks("aleph-alpha-scaling"), 0);
  assert_true(of_all_ranks("megatron-lm") > 0);
}

/* ---- tensor parallelism ---- */

/* Of the backward of layer 1: all-reduces, gathers and reduce-scatters; all of them block. */
static void count_calls(const char *more, int calls[3]) {
  struct fixture f;
  memset(calls, 0, 3 * sizeof *calls);
  open_job(&f, "aleph-alpha-scaling", more, 2);
  const struct sl_program *p = &f.job.classes[0].programs[SL_PROGRAM_STEP];
  for (size_t i = 0; i < p->instance_count; i++) {
    const struct sl_instance *n = &p->instances[i];
    if (n->action.kind != SL_ACTION_BACKWARD || n->action.micro_batch != 0) continue;
    for (int32_t k = n->first_op; k < n->first_op + n->op_count; k++) {
      const struct sl_op *op = &p->ops[k];
      if (op->group != SL_GROUP_TP || op->layer != 1) continue;
      calls[0] += op->kind == SL_OP_ALL_REDUCE;
      calls[1] += op->kind == SL_OP_ALL_GATHER;
      calls[2] += op->kind == SL_OP_REDUCE_SCATTER;
      assert_true(op->flags & SL_OP_BLOCKING && op->flags & SL_OP_AFTER_COMPUTE);
    }
  }
  fixture_close(&f);
}

/* q, k and v are one module, gate and up are two: three sums; of sequence parallelism one each, and gathered inputs
 * were kept. */
static void gate_and_up_are_summed_apart(void **state) {
  (void)state;
  int calls[3];
  count_calls(", \"tp\": 2, \"kernels\": \"aleph-alpha-scaling\"", calls);
  assert_int_equal(calls[0], 3);
  assert_int_equal(calls[1] + calls[2], 0);
  count_calls(", \"tp\": 2, \"kernels\": \"aleph-alpha-scaling\", \"sequence_parallel\": true", calls);
  assert_int_equal(calls[0], 0);
  assert_int_equal(calls[1], 2);
  assert_int_equal(calls[2], 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(one_thing_at_a_time),
                                     cmocka_unit_test(gate_and_up_are_summed_apart)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
