/* label: property
   libs: fast sim
 * Programs that follow from two shallow ones, op by op and wait by wait against those that are lowered at their depth; and what lives
 * at once. Where blocks are cut by buckets, nothing follows. */
#include "core/job/job.h"
#include "core/model/families.h"
#include "core/program/memory_report.h"
#include "fast/stretch.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SHALLOW = 4, DEEP = 11 };

struct built {
  struct sl_model model;
  struct sl_plan plan;
  struct sl_job job;
};

struct inputs {
  struct sl_model model;
  struct sl_config config;
  struct sl_cluster cluster;
};

static void open_inputs(struct inputs *in, const char *section) {
  char text[512];
  snprintf(text, sizeof text,
           "{\"bf16\": {\"enabled\": true}, \"train_micro_batch_size_per_gpu\": 2, \"gradient_accumulation_steps\": 6,"
           " \"optimizer\": {\"type\": \"AdamW\", \"params\": {\"lr\": 1e-3}}, \"shardlab\": {\"seq_len\": 512%s}}",
           section);
  memset(in, 0, sizeof *in);
  if (sl_model_load(&in->model, "llama3-8b") != SL_OK) fail_msg("%s", sl_error_message());
  if (sl_config_parse(&in->config, "test.json", text, strlen(text), false) != SL_OK) fail_msg("%s", sl_error_message());
  if (sl_cluster_load(&in->cluster, "dgx-a100-80g") != SL_OK) fail_msg("%s", sl_error_message());
}

static void close_inputs(struct inputs *in) {
  sl_cluster_free(&in->cluster);
  sl_config_free(&in->config);
  sl_model_free(&in->model);
}

/* With `blocks` a stage. */
static void build(struct built *b, const struct inputs *in, int blocks) {
  const struct sl_build_options options = {.memory_curve = true, .unplaced = true};
  memset(b, 0, sizeof *b);
  b->model = in->model;
  b->model.tensors = NULL;
  b->model.tensor_count = 0;
  b->model.n_layer =
      (int64_t)blocks * in->config.sl.pp * (in->config.sl.virtual_stages > 1 ? in->config.sl.virtual_stages : 1);
  if (in->model.family->make_tensors(&b->model) != SL_OK) fail_msg("%s", sl_error_message());
  if (sl_plan_build(&b->plan, &b->model, &in->config, &in->cluster, 8) != SL_OK) fail_msg("%s", sl_error_message());
  if (sl_job_build(&b->job, &b->plan, &options) != SL_OK) fail_msg("%s", sl_error_message());
}

static void drop(struct built *b) {
  sl_job_free(&b->job);
  sl_plan_free(&b->plan);
  free(b->model.tensors);
}

static void follow(const char *section, bool follows) {
  struct inputs in;
  struct built a, b, deep;
  struct sl_job stretched;
  bool fits;
  open_inputs(&in, section);
  build(&a, &in, SHALLOW);
  build(&b, &in, SHALLOW + 1);
  build(&deep, &in, DEEP);
  assert_int_equal(sl_fast_stretch(&stretched, &a.job, &b.job, DEEP - SHALLOW, &fits), SL_OK);
  const bool same = fits && sl_fast_same_steps(&stretched, &deep.job);
  if (same != follows) fail_msg("%s: fits %d, is the same %d", section, fits, same);
  for (int i = 0; follows && i < deep.job.class_count; i++) {
    double live;
    assert_int_equal(sl_fast_stretch_live(&a.job, &b.job, NULL, i, DEEP - SHALLOW, &live), SL_OK);
    const double own = (double)deep.job.classes[i].memory[SL_SPACE_DEVICE].live_peak_bytes;
    if (fabs(live / own - 1) > 1e-6) fail_msg("%s: class %d has %.9g bytes, not %.9g", section, i, own, live);
  }
  sl_job_free(&stretched);
  drop(&a);
  drop(&b);
  drop(&deep);
  close_inputs(&in);
}

static void layers_as_units_follow(void **state) {
  (void)state;
  follow(", \"preset\": \"fsdp\"", true);
  follow(", \"preset\": \"fsdp\", \"recompute\": \"full\"", true);
  follow(", \"preset\": \"fsdp-shard-grad-op\"", true);
  follow(", \"preset\": \"fsdp2\", \"tp\": 2, \"recompute\": \"selective\"", true);
}

static void pipelines_follow(void **state) {
  (void)state;
  follow(", \"tp\": 2, \"pp\": 4, \"schedule\": \"zb-h1\"", true);
  follow(", \"tp\": 4, \"pp\": 2, \"schedule\": \"interleaved\", \"virtual_stages\": 2", true);
}

static void buckets_do_not(void **state) {
  (void)state;
  follow("}, \"zero_optimization\": {\"reduce_bucket_size\": 3e8", false);
  follow("}, \"zero_optimization\": {\"stage\": 1, \"reduce_bucket_size\": 3e8", false);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(layers_as_units_follow),
      cmocka_unit_test(pipelines_follow),
      cmocka_unit_test(buckets_do_not),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
