/* label: unit
 * PyTorch's own partitions (tests/golden/partition, made by PyTorch's code): which rank ZeroRedundancyOptimizer gives
 * each parameter to, and how DDP cuts gradients into buckets, for GPT-2 124M, an odd GPT-2 and an MLP. And
 * Megatron-LM's rule for buckets, in closed form. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/job_fixture.h"

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
  const struct sl_pp_rank *s = &f.plan.pp_ranks[0];
  assert_int_equal(s->tensor_count, json_array_size(numel));
  assert_int_equal(s->tensor_count, json_array_size(owners));
  for (int i = 0; i < s->tensor_count; i++) {
    const struct sl_placed *t = &s->tensors[s->placed_of[i]];
    const int want = (int)json_integer_value(json_array_get(owners, (size_t)i));
    assert_int_equal(t->numel, json_integer_value(json_array_get(numel, (size_t)i)));
    if (s->units[t->unit].owner != want)
      fail_msg("%s, world %d: %s is rank %d's, PyTorch's is %d", models[m].name, world, f.model.tensors[i].name,
               s->units[t->unit].owner, want);
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

/* Elements of the gradient reductions over the data-parallel ranks in a step of pipeline stage `stage`, in order. */
enum { MOST_BUCKETS = 512 };
struct buckets {
  size_t count;
  long long elements[MOST_BUCKETS];
};

static void add_bucket(struct buckets *b, long long elements) {
  assert_in_range(b->count, 0, MOST_BUCKETS - 1);
  b->elements[b->count++] = elements;
}

static struct buckets reductions(const struct fixture *f, int stage) {
  struct buckets b = {0};
  const struct sl_program *p = &f->job.classes[stage * f->job.classes_per_pp_rank].programs[SL_PROGRAM_STEP];
  for (size_t i = 0; i < p->issue_count; i++) {
    const struct sl_op *op = &p->ops[p->issues[i].op];
    const bool reduces = op->kind == SL_OP_ALL_REDUCE || op->kind == SL_OP_REDUCE_SCATTER;
    if (reduces && op->payload == SL_PAYLOAD_GRADIENT && op->group == SL_GROUP_DP) add_bucket(&b, op->dim[0]);
  }
  return b;
}

static void same_buckets(const struct buckets *got, const struct buckets *want, const char *what) {
  for (size_t n = 0; n < got->count && n < want->count; n++)
    if (got->elements[n] != want->elements[n])
      fail_msg("%s: bucket %zu has %lld elements, expected %lld", what, n, got->elements[n], want->elements[n]);
  if (got->count != want->count) fail_msg("%s: %zu buckets, expected %zu", what, got->count, want->count);
}

static void compare_buckets(int m, const char *preset, const char *precision, const json_t *theirs) {
  struct fixture f;
  char what[128];
  struct buckets want = {0};
  for (size_t n = 0; n < json_array_size(theirs); n++) add_bucket(&want, json_integer_value(json_array_get(theirs, n)));
  open_job(&f, m, preset, precision, 3);
  const struct buckets got = reductions(&f, 0);
  snprintf(what, sizeof what, "%s, %s, {%s}", models[m].name, preset, precision);
  same_buckets(&got, &want, what);
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

/* Megatron-LM's rule (core/distributed, param_and_grad_buffer.py) on the parameters of one stage from the last to the
 * first: a bucket closes with the parameter that makes max(40e6, 1e6 dp) elements full, on the first pipeline rank's
 * first model stage; any other stage is one. No member's part is padded: the sizes here are multiples of dp. */
static struct buckets megatrons(const struct fixture *f, int stage) {
  struct buckets b = {0};
  const struct sl_pp_rank *s = &f->plan.pp_ranks[stage];
  const long long limit = f->plan.dp > 40 ? 1000000LL * f->plan.dp : 40000000;
  long long open = 0;
  for (int i = s->tensor_count - 1; i >= 0; i--) {
    open += s->tensors[i].numel;
    const bool last = i == 0 || s->tensors[i - 1].stage != s->tensors[i].stage;
    const bool cut = stage == 0 && s->tensors[i].stage == 0;
    if (!last && (!cut || open < limit)) continue;
    add_bucket(&b, open);
    open = 0;
  }
  return b;
}

/* Whatever DeepSpeed's reduce_bucket_size is. */
static void buckets_are_megatrons(void **state) {
  (void)state;
  static const char *const presets[] = {"megatron-lm", "megatron-distributed-optimizer"};
  static const struct {
    const char *model, *pipeline;
    int pp, dp;
    size_t first_stage; /* buckets there */
  } cases[] = {{"gpt2-xl", "", 1, 8, 37},
               {"gpt2-xl", "", 1, 64, 22},
               {"llama2-7b", ", \"pp\": 2", 2, 8, 65},
               {"llama2-7b", ", \"pp\": 2, \"virtual_stages\": 2, \"schedule\": \"interleaved\"", 2, 8, 34}};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    for (int p = 0; p < 2; p++) {
      char config[512];
      struct fixture f;
      snprintf(config, sizeof config,
               "{\"train_micro_batch_size_per_gpu\": 1, \"gradient_accumulation_steps\": 2, \"optimizer\": {\"type\": "
               "\"AdamW\", \"params\": {\"lr\": 0.1}}, \"zero_optimization\": {\"reduce_bucket_size\": 1e6}, "
               "\"shardlab\": {\"seq_len\": 8, \"preset\": \"%s\"%s}}",
               presets[p], cases[c].pipeline);
      if (fixture_open(&f, cases[c].model, config, "dgx-a100-80g", cases[c].pp * cases[c].dp, NULL) != SL_OK)
        fail_msg("%s: %s", config, sl_error_message());
      for (int stage = 0; stage < cases[c].pp; stage++) {
        const struct buckets got = reductions(&f, stage), want = megatrons(&f, stage);
        same_buckets(&got, &want, config);
        if (stage == 0) assert_int_equal(got.count, cases[c].first_stage);
      }
      fixture_close(&f);
    }
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
      cmocka_unit_test(buckets_are_megatrons),
  };
  return cmocka_run_group_tests(tests, load, unload);
}
