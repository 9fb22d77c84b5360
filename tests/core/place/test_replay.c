/* label: reference
 * What nanotron's allocator reserves on a pipeline's first rank, held against runs that its authors published
 * (nanotron.csv of experiments/published/training, whose figures are rounded to 0.1 GiB), and what follows from a host
 * that is ahead. */
#include "core/program/memory_report.h"
#include "tests/support/job_fixture.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct run {
  int layers, width, inner, tp, pp, dp, zero, micro_batch, grad_accum;
  double published_gb;
};

static void open_run(struct fixture *f, const struct run *r, int64_t memory) {
  char model[400], config[500];
  struct sl_json doc;
  snprintf(model, sizeof model,
           "{\"model_type\": \"llama\", \"hidden_size\": %d, \"num_hidden_layers\": %d, \"num_attention_heads\": 32,"
           " \"num_key_value_heads\": 32, \"intermediate_size\": %d, \"vocab_size\": 131072,"
           " \"max_position_embeddings\": 4096, \"tie_word_embeddings\": %s}",
           r->width, r->layers, r->inner, r->inner < 10000 ? "true" : "false");
  snprintf(
      config, sizeof config,
      "{\"train_micro_batch_size_per_gpu\": %d, \"gradient_accumulation_steps\": %d, \"bf16\": {\"enabled\": true},"
      " \"optimizer\": {\"type\": \"AdamW\", \"params\": {\"lr\": 1e-3}}, \"shardlab\": {\"seq_len\": 4096, \"tp\": %d,"
      " \"pp\": %d, \"preset\": \"%s\", \"kernels\": \"nanotron\", \"stages\": \"%s\"%s}}",
      r->micro_batch, r->grad_accum, r->tp, r->pp, r->zero ? "nanotron-zero1" : "nanotron",
      r->pp > 1 ? "cost" : "uniform", r->tp > 1 ? ", \"sequence_parallel\": true" : "");
  memset(f, 0, sizeof *f);
  sl_warn_set_sink(fixture_warning, NULL);
  assert_int_equal(sl_json_parse(&doc, "model", model, strlen(model)), SL_OK);
  assert_int_equal(sl_model_from_json(&f->model, &doc), SL_OK);
  sl_json_free(&doc);
  const enum sl_status read = sl_config_parse(&f->config, "test.json", config, strlen(config), false);
  if (sl_cluster_load(&f->cluster, "hf-h100") != SL_OK) fail_msg("%s", sl_error_message());
  if (memory > 0) f->cluster.device.memory = memory;
  if (read != SL_OK || sl_plan_build(&f->plan, &f->model, &f->config, &f->cluster, r->tp * r->pp * r->dp) != SL_OK ||
      sl_job_build(&f->job, &f->plan, &(struct sl_build_options){.repeated = true}) != SL_OK)
    fail_msg("%s: %s", config, sl_error_message());
}

/* On a device of `memory` bytes; 0: an H100. */
static struct sl_memory_report report_of(const struct run *r, int64_t memory) {
  struct fixture f;
  open_run(&f, r, memory);
  const struct sl_memory_report m = f.job.classes[0].memory[SL_SPACE_DEVICE];
  fixture_close(&f);
  return m;
}

/* Of the last: its step took 60 % longer than its neighbours', so its host was not ahead. */
static const struct run published[] = {
    {16, 2048, 8192, 1, 1, 128, 1, 1, 2, 25.45}, {16, 2048, 8192, 1, 1, 256, 1, 1, 1, 23.30},
    {16, 2048, 8192, 1, 1, 64, 1, 2, 2, 37.37},  {16, 2048, 8192, 1, 1, 8, 0, 1, 4, 39.41},
    {16, 2048, 8192, 1, 1, 64, 0, 2, 2, 53.90},  {28, 3072, 8192, 1, 1, 64, 1, 1, 4, 51.22},
    {28, 3072, 8192, 1, 2, 16, 1, 1, 16, 40.69}, {28, 3072, 8192, 1, 16, 16, 1, 1, 16, 23.73},
    {16, 2048, 8192, 8, 1, 8, 0, 16, 2, 27.49},
};

static void reserves_what_was_published(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
    const struct run *r = &published[i];
    const struct sl_memory_report m = report_of(r, 0);
    const double off = (double)m.needed_at[SL_PACES - 1] / 1e9 / r->published_gb - 1;
    if (fabs(off) > 0.01)
      fail_msg("run %zu: %.2f GB, published %.2f", i, (double)m.needed_at[SL_PACES - 1] / 1e9, r->published_gb);
    if (r->tp == 1 && r->pp == 1)
      for (int pace = 0; pace < SL_PACES; pace++)
        assert_int_equal(m.needed_at[pace], m.needed_bytes); /* no collective and no message: nothing is awaited */
  }
}

/* A host that is ahead finds 16 results of row-parallel products and more not free yet; a slower one finds fewer. */
static void a_host_ahead_needs_more(void **state) {
  static const struct run run = {16, 2048, 8192, 8, 1, 2, 1, 16, 8, 39.84};
  (void)state;
  const struct sl_memory_report m = report_of(&run, 0);
  const int64_t partial = INT64_C(16) * 4096 * 2048 * 2;
  assert_int_equal(m.needed_at[0], m.needed_bytes);
  assert_true(m.needed_at[0] > m.needed_at[SL_PACES - 1] + 32 * partial);
  assert_true(fabs((double)m.needed_at[0] / 1e9 / run.published_gb - 1) < 0.1);
}

/* On a device that ends earlier, unused segments are given back; what a device cannot hold at once is said. */
static void a_small_device_gives_back(void **state) {
  (void)state;
  const struct run *run = &published[0];
  const struct sl_memory_report free = report_of(run, 0);
  const int64_t less = report_of(run, free.reserved_bytes).needed_bytes; /* the driver takes some of it */
  assert_int_equal(free.needed_bytes, free.reserved_bytes);
  assert_true(less < free.reserved_bytes);
  assert_true(less > free.reserved_bytes / 2);
  assert_true(report_of(run, free.reserved_bytes / 2).needed_bytes > free.reserved_bytes / 2);
  /* what collectives have used is awaited before memory runs out */
  static const struct run ahead = {16, 2048, 8192, 8, 1, 2, 1, 16, 8, 0};
  const int64_t smaller = report_of(&ahead, 0).needed_bytes / 20 * 19;
  assert_true(report_of(&ahead, smaller).needed_bytes <= smaller);
}

/* The scripts are those of 1F1B, with or without a pipeline. Without them, too, what is reserved holds what is live. */
static void other_schedules_have_no_script(void **state) {
  (void)state;
  static const char *const schedules[] = {"1f1b",  "gpipe",          "interleaved", "looped-bfs",
                                          "zb-h1", "interleaved-zb", "zbv"};
  for (size_t i = 0; i < sizeof schedules / sizeof *schedules; i++) {
    struct fixture f;
    char config[400];
    snprintf(
        config, sizeof config,
        "{\"train_micro_batch_size_per_gpu\": 1, \"gradient_accumulation_steps\": 3, \"bf16\": {\"enabled\": true},"
        " \"optimizer\": {\"type\": \"AdamW\"}, \"shardlab\": {\"preset\": \"nanotron\", \"kernels\": \"nanotron\","
        " \"attention\": \"flash\", \"schedule\": \"%s\"}}",
        schedules[i]);
    if (fixture_open(&f, SL_SOURCE_DIR "/tests/mpi/grid_llama.json", config, "dgx-h100", 1, NULL) != SL_OK)
      fail_msg("%s: %s", schedules[i], sl_error_message());
    const struct sl_memory_report *m = &f.job.classes[0].memory[SL_SPACE_DEVICE];
    assert_true(m->reserved_bytes >= m->live_peak_bytes);
    fixture_close(&f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reserves_what_was_published),
      cmocka_unit_test(a_host_ahead_needs_more),
      cmocka_unit_test(a_small_device_gives_back),
      cmocka_unit_test(other_schedules_have_no_script),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
