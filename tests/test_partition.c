/* label: unit
 * PyTorch's own partitions (tests/golden/partition, made by PyTorch's code): which rank ZeroRedundancyOptimizer gives each
 * parameter to, and how DDP cuts gradients into buckets, for GPT-2 124M, an odd GPT-2 and an MLP. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/job_fixture.h"

#include <jansson.h>
#include <stdlib.h>

#define GOLDEN SL_SOURCE_DIR "/tests/golden/"

static const struct {
  const char *name, *spec, *shardlab;
} models[] = {
    {"gpt2", "gpt2", "\"seq_len\": 33"},
    {"gpt2_odd", GOLDEN "gpt2_odd/config.json", "\"seq_len\": 7"},
    {"mlp_wide", GOLDEN "partition/mlp_wide.json", "\"seed\": 3"},
};
enum { MODELS = sizeof models / sizeof *models };

static json_t *golden;

static const json_t *of(const json_t *object, const char *key) {
  const json_t *value = json_object_get(object, key);
  if (value == NULL) fail_msg("pytorch.json has no %s", key);
  return value;
}

static void open_job(struct fixture *f, int m, const char *preset, const char *precision, int world) {
  char config[512];
  snprintf(
      config, sizeof config,
      "{\"train_micro_batch_size_per_gpu\": 1, %s \"optimizer\": {\"type\": \"AdamW\", \"params\": {\"lr\": 0.1}}, "
      "\"shardlab\": {\"preset\": \"%s\", %s}}",
      precision, preset, models[m].shardlab);
  if (fixture_open(f, models[m].spec, config, "localhost", world, NULL) != SL_OK)
    fail_msg("%s: %s", config, sl_error_message());
}

static void compare_owners(int m, int world, const json_t *owners) {
  struct fixture f;
  const json_t *numel = of(of(golden, models[m].name), "numel");
  open_job(&f, m, "zero-redundancy-optimizer", "", world);
  const struct sl_stage *s = &f.plan.stages[0];
  assert_int_equal(s->tensor_count, json_array_size(numel));
  assert_int_equal(s->tensor_count, json_array_size(owners));
  for (int i = 0; i < s->tensor_count; i++) {
    const struct sl_placed *t = &s->tensors[s->placed_of[i]];
    const int want = (int)json_integer_value(json_array_get(owners, (size_t)i));
    assert_int_equal(t->numel, json_integer_value(json_array_get(numel, (size_t)i)));
    if (s->layout.units[t->unit].owner != want)
      fail_msg("%s, world %d: %s is rank %d's, PyTorch's is %d", models[m].name, world, f.model.tensors[i].name,
               s->layout.units[t->unit].owner, want);
  }
  fixture_close(&f);
}

static void whole_parameters_go_where_pytorch_puts_them(void **state) {
  (void)state;
  static const int worlds[] = {2, 3, 4, 8};
  for (int m = 0; m < MODELS; m++) {
    for (int w = 0; w < 4; w++) {
      char world[8];
      snprintf(world, sizeof world, "%d", worlds[w]);
      compare_owners(m, worlds[w], of(of(of(golden, models[m].name), "owners"), world));
    }
  }
}

/* The gradient all_reduces of a step, in order. */
static void compare_buckets(int m, const char *preset, const char *precision, const json_t *want) {
  struct fixture f;
  size_t n = 0;
  open_job(&f, m, preset, precision, 3);
  const struct sl_program *p = &f.job.classes[0].programs[SL_PROGRAM_STEP];
  for (size_t i = 0; i < p->issue_count; i++) {
    const struct sl_op *op = &p->ops[p->issues[i].op];
    if (op->kind != SL_OP_ALL_REDUCE || op->payload != SL_PAYLOAD_GRADIENT) continue;
    const long long count = (long long)op->dim[0], theirs = json_integer_value(json_array_get(want, n));
    if (n < json_array_size(want) && count != theirs)
      fail_msg("%s, %s, {%s}: bucket %zu has %lld elements, PyTorch's %lld", models[m].name, preset, precision, n,
               count, theirs);
    n++;
  }
  if (n != json_array_size(want))
    fail_msg("%s, %s, {%s}: %zu buckets, PyTorch has %zu", models[m].name, preset, precision, n, json_array_size(want));
  fixture_close(&f);
}

static void buckets_are_ddps(void **state) {
  (void)state;
  static const char kept_fp32[] = "\"bf16\": {\"enabled\": true},";
  static const char kept_bf16[] = "\"bf16\": {\"enabled\": true}, \"data_types\": {\"grad_accum_dtype\": \"bf16\"},";
  for (int m = 0; m < MODELS; m++) {
    const json_t *buckets = of(of(golden, models[m].name), "ddp_buckets");
    compare_buckets(m, "ddp", "", of(buckets, "float32"));
    compare_buckets(m, "zero-redundancy-optimizer", "", of(buckets, "float32"));
    compare_buckets(m, "ddp", kept_fp32, of(buckets, "bfloat16"));
    compare_buckets(m, "ddp", kept_bf16, of(buckets, "bfloat16"));
  }
}

static int load(void **state) {
  json_error_t error;
  (void)state;
  golden = json_load_file(GOLDEN "partition/pytorch.json", 0, &error);
  if (golden == NULL) fprintf(stderr, "partition/pytorch.json: %s\n", error.text);
  return golden == NULL;
}

static int unload(void **state) {
  (void)state;
  json_decref(golden);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(whole_parameters_go_where_pytorch_puts_them),
      cmocka_unit_test(buckets_are_ddps),
  };
  return cmocka_run_group_tests(tests, load, unload);
}
