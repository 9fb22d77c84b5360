/* label: unit
   libs: sim
 * ZeRO++'s quantised transfers against closed forms from GPT-2's tensors, by the words of DeepSpeed's code and the layout of a
 * packed piece (kernels/quantize.h): bytes on the wire by group, what is left to a plain reduction, and that a node by itself
 * quantises no gradient (arXiv:2306.10209, sections 3.1 and 3.3). */
#include "core/check/rendezvous.h"
#include "core/program/memory_report.h"
#include "sim/sim.h"
#include "tests/support/job_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { STEPS = 3, NODE = 8 };
#define BOTH ", \"zero_quantized_weights\": true, \"zero_quantized_gradients\": true"

static void open_job(struct fixture *f, const char *zero, int world) {
  char config[1024];
  snprintf(
      config, sizeof config,
      "{\"train_micro_batch_size_per_gpu\": 1, \"gradient_accumulation_steps\": %d, \"bf16\": {\"enabled\": true}, "
      "\"data_types\": {\"grad_accum_dtype\": \"fp32\"}, \"zero_optimization\": {\"stage\": 3, "
      "\"stage3_param_persistence_threshold\": 0, \"stage3_max_reuse_distance\": 0, "
      "\"stage3_prefetch_bucket_size\": 5e6%s}, \"optimizer\": {\"type\": \"AdamW\"}, \"shardlab\": {\"seq_len\": "
      "65, \"make_vocab_size_divisible_by\": 1}}",
      STEPS, zero);
  if (fixture_open(f, "gpt2", config, "dgx-a100-80g", world, NULL) != SL_OK || sl_check(&f->job) != SL_OK)
    fail_msg("%s: %s", zero, sl_error_message());
}

/* What rank 0 puts on the wire in a step, by group: parameters, gradients. */
struct sent {
  int64_t parameters[SL_GROUP_COUNT], gradients[SL_GROUP_COUNT];
};

static struct sent run(const struct fixture *f) {
  struct sent out = {0};
  struct sl_run run = {.exec = &sl_exec_sim, .job = &f->job, .options = {.fold = true, .fail_rank = -1}, .steps = 1};
  if (sl_run_execute(&run) != SL_OK) fail_msg("%s", sl_error_message());
  for (int i = 0; i < run.reports[0].traffic_count; i++) {
    const struct sl_traffic *t = &run.reports[0].traffic[i];
    if (t->payload == SL_PAYLOAD_PARAMETER) out.parameters[t->group] += t->wire_bytes;
    if (t->payload == SL_PAYLOAD_GRADIENT) out.gradients[t->group] += t->wire_bytes;
  }
  sl_run_close(&run);
  return out;
}

static int64_t up(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

/* Of n weights: blocks of at most 8,000, a scale of 4 bytes each, a byte a weight; in whole words. */
static int64_t weights(int64_t n) {
  const int64_t block = up(up(n, up(n, 8000)), 8) * 8;
  return 4 * up(n, block) + 4 * up(n, 4);
}

/* Of n numbers of a (rows, columns) gradient: half a byte each, and a scale for as many as the matrix is narrow. */
static int64_t halves(int64_t n, int64_t rows, int64_t columns) {
  const int64_t narrow = rows < columns ? rows : columns;
  return 4 * up(n, up(narrow, 8) * 8) + 4 * up(n, 8);
}

static bool ends(const char *name, const char *end) {
  const size_t n = strlen(name), m = strlen(end);
  return n >= m && strcmp(name + n - m, end) == 0;
}

/* Forward reads every tensor, backward has every weight; the tied embedding is used twice in each. */
static int times_gathered(const struct sl_tensor *t) {
  const bool tied = ends(t->name, "wte.weight"), backward = ends(t->name, ".weight");
  return 1 + tied + backward * (1 + tied);
}

static void bytes_are_those_of_codes_and_scales(void **state) {
  (void)state;
  static const int worlds[] = {16, 32};
  for (size_t w = 0; w < 2; w++) {
    const int world = worlds[w], nodes = world / NODE;
    int64_t gathered = 0, inside = 0, across = 0, plain = 0;
    struct fixture f;
    open_job(&f, BOTH, world);
    for (int i = 0; i < f.model.tensor_count; i++) {
      const struct sl_tensor *t = &f.model.tensors[i];
      const int64_t part = up(t->numel, world);
      gathered += times_gathered(t) * (world - 1) * weights(part);
      if (t->n_dim == 1 || t->numel % (2 * world) != 0) {
        plain += (world - 1) * part * 2;
        continue;
      }
      const int64_t piece = halves(part, t->shape[0], t->shape[1]);
      inside += (NODE - 1) * nodes * piece;
      across += (nodes - 1) * piece;
    }
    const struct sent s = run(&f);
    assert_int_equal(s.parameters[SL_GROUP_SHARD], STEPS * gathered);
    assert_int_equal(s.gradients[SL_GROUP_NODE], STEPS * inside);
    assert_int_equal(s.gradients[SL_GROUP_ACROSS], STEPS * across);
    assert_int_equal(s.gradients[SL_GROUP_DP], STEPS * plain);
    fixture_close(&f);
  }
}

/* Half of 16 bits, and a quarter inside a node, of which a node's share alone goes on. */
static void less_travels_than_without(void **state) {
  (void)state;
  struct fixture f;
  open_job(&f, "", 16);
  const struct sent plain = run(&f);
  fixture_close(&f);
  open_job(&f, BOTH, 16);
  const struct sent s = run(&f);
  fixture_close(&f);
  const double weights = (double)s.parameters[SL_GROUP_SHARD] / (double)plain.parameters[SL_GROUP_SHARD];
  const double sum = (double)(s.gradients[SL_GROUP_NODE] + s.gradients[SL_GROUP_ACROSS] + s.gradients[SL_GROUP_DP]);
  assert_true(weights > 0.5 && weights < 0.502);
  assert_true(sum < 0.27 * (double)plain.gradients[SL_GROUP_DP]);
  assert_int_equal(plain.gradients[SL_GROUP_NODE], 0);
}

static void one_node_reduces_as_without(void **state) {
  (void)state;
  struct fixture f;
  open_job(&f, "", NODE);
  const struct sent plain = run(&f);
  fixture_close(&f);
  open_job(&f, ", \"zero_quantized_gradients\": true", NODE);
  assert_non_null(strstr(fixture_warnings, "zero_quantized_gradients: quantises nothing on one node"));
  const struct sent s = run(&f);
  fixture_close(&f);
  assert_memory_equal(&s, &plain, sizeof s);
}

/* The ranks of a node, and those that stand in their nodes where this one stands in its own. */
static void groups_are_nodes_and_places_in_nodes(void **state) {
  (void)state;
  struct fixture f;
  open_job(&f, BOTH, 32);
  for (int rank = 0; rank < 32; rank++) {
    const struct sl_members node = sl_plan_group(&f.plan, SL_GROUP_NODE, rank);
    const struct sl_members across = sl_plan_group(&f.plan, SL_GROUP_ACROSS, rank);
    assert_int_equal(node.size, NODE);
    assert_int_equal(across.size, 4);
    for (int i = 0; i < NODE; i++) assert_int_equal(sl_members_rank(&node, i), rank / NODE * NODE + i);
    for (int i = 0; i < 4; i++) assert_int_equal(sl_members_rank(&across, i), i * NODE + rank % NODE);
    assert_int_equal(node.index, rank % NODE);
    assert_int_equal(across.index, rank / NODE);
  }
  fixture_close(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bytes_are_those_of_codes_and_scales),
      cmocka_unit_test(less_travels_than_without),
      cmocka_unit_test(one_node_reduces_as_without),
      cmocka_unit_test(groups_are_nodes_and_places_in_nodes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
