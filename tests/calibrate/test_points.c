/* label: unit
   libs: calibrate sim
 * Points of a calibration: the file there and back, broken files, what may never be measured; and measured costs in a
 * prediction. */
#include "core/job/job.h"
#include "core/program/program.h"
#include "cost/compute.h"
#include "cost/error.h"
#include "sim/sim.h"
#include "tests/calibrate/acceptance_shapes.h"
#include "tests/support/job_fixture.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static enum sl_status parse(struct sl_points *points, const char *text) {
  struct sl_json doc;
  memset(points, 0, sizeof *points);
  enum sl_status status = sl_json_parse(&doc, "points.json", text, strlen(text));
  if (status != SL_OK) return status;
  status = sl_points_read(points, &doc);
  sl_json_free(&doc);
  return status;
}

static const char good[] =
    "{\"schema\":1,\"machine\":\"m\",\"load\":0.5,\"cluster\":{\"name\":\"x\"},\n"
    "\"points\":[{\"op\":\"gemm\",\"variant\":\"trans_b\",\"dtype\":\"fp32\",\"ranks\":2,\"shape\":[21,29,37],\n"
    "\"bytes\":9984,\"source\":\"program\",\"count\":13,\"median_s\":3e-6,\"low_s\":2e-6,\"high_s\":5e-6,\"repeats\":7}"
    ",\n"
    "{\"op\":\"all_gather\",\"ranks\":2,\"shape\":[300],\"parts\":3,\"bytes\":600,\"median_s\":1e-5}],\n"
    "\"steps\":[{\"name\":\"c88\",\"ranks\":2,\"ops\":91,\"compute_s\":0.004,\"median_s\":0.005,\n"
    "\"calls\":[{\"op\":\"all_reduce\",\"parts\":2,\"bytes\":800,\"count\":5}]}]}";

static void file_there_and_back(void **unused) {
  (void)unused;
  struct sl_points points, again;
  if (parse(&points, good) != SL_OK) fail_msg("%s", sl_error_message());
  json_t *json = sl_points_json(&points);
  char *text = json_dumps(json, JSON_REAL_PRECISION(17));
  if (parse(&again, text) != SL_OK) fail_msg("%s", sl_error_message());
  assert_int_equal(again.count, 2);
  assert_int_equal(again.step_count, 1);
  assert_memory_equal(again.items, points.items, 2 * sizeof *points.items);
  assert_int_equal(points.items[0].variant, SL_VARIANT_TRANS_B);
  assert_int_equal(points.items[0].dim[2], 37);
  assert_int_equal(points.items[1].parts, 3);
  assert_int_equal(points.items[0].count, 13);
  assert_int_equal(points.items[1].count, 1);
  assert_true(points.items[1].high_s == 1e-5); /* a median alone is its own range */
  assert_int_equal(again.steps[0].calls[0].kind, SL_OP_ALL_REDUCE);
  assert_int_equal(again.steps[0].calls[0].count, 5);
  assert_true(again.steps[0].compute_s == 0.004);
  free(text);
  json_decref(json);
  sl_points_free(&points);
  sl_points_free(&again);
}

static void broken_files_say_where(void **unused) {
  (void)unused;
  static const char *const broken[][2] = {
      {"[1]", "expected a JSON object"},
      {"{}", "schema"},
      {"{\"schema\":2,\"points\":[]}", "schema: is 2"},
      {"{\"schema\":1,\"points\":[]}", "points: is []"},
      {"{\"schema\":1,\"points\":[7]}", "points[0]: expected an object"},
      {"{\"schema\":1,\"points\":[{\"op\":\"gem\",\"ranks\":1,\"shape\":[],\"median_s\":1}]}", "\"gemm\""},
      {"{\"schema\":1,\"points\":[{\"op\":\"gemm\",\"shape\":[],\"median_s\":1}]}", "ranks: is missing"},
      {"{\"schema\":1,\"points\":[{\"op\":\"gemm\",\"ranks\":1,\"shape\":[1,-2],\"median_s\":1}]}", "points[0].shape"},
      {"{\"schema\":1,\"points\":[{\"op\":\"gemm\",\"ranks\":1,\"shape\":[1]}]}", "median_s: is missing"},
      {"{\"schema\":1,\"points\":[{\"op\":\"gemm\",\"ranks\":1,\"shape\":[1],\"median_s\":0}]}", "median_s: is 0"},
      {"{\"schema\":1,\"points\":[{\"op\":\"gemm\",\"ranks\":1,\"shape\":[1],\"median_s\":2,\"low_s\":3}]}",
       "low_s: is 3"},
      {"{\"schema\":1,\"points\":[{\"op\":\"copy\",\"variant\":\"x\",\"ranks\":1,\"shape\":[],\"median_s\":1}]}",
       "variant"},
  };
  for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
    struct sl_points points;
    sl_error_clear();
    assert_int_equal(parse(&points, broken[i][0]), SL_ERR_INPUT);
    if (strstr(sl_error_message(), broken[i][1]) == NULL || strstr(sl_error_message(), "points.json") == NULL)
      fail_msg("\"%s\" for %s, expected \"%s\"", sl_error_message(), broken[i][0], broken[i][1]);
    sl_points_free(&points);
  }
  sl_error_clear();
}

static void no_program_of(const struct sl_job *job, const char *what) {
  const struct sl_program *p = &job->classes[0].programs[SL_PROGRAM_STEP];
  for (size_t i = 0; i < p->op_count; i++)
    if (is_acceptance_shape(&p->ops[i]))
      fail_msg("%s times an acceptance shape: %s (%lld, %lld, %lld, %lld)", what, sl_op_name(p->ops[i].kind),
               (long long)p->ops[i].dim[0], (long long)p->ops[i].dim[1], (long long)p->ops[i].dim[2],
               (long long)p->ops[i].dim[3]);
}

static void no_operand_leaves_its_buffer(const struct sl_job *job) {
  const struct sl_class *c = &job->classes[0];
  const struct sl_program *p = &c->programs[SL_PROGRAM_STEP];
  for (size_t i = 0; i < p->slice_count; i++)
    assert_true(p->slices[i].offset + p->slices[i].bytes <= c->buffers[p->slices[i].buffer].bytes);
}

static void fixture_model(struct fixture *f, const char *model, const char *config) {
  if (fixture_open(f, model, config, "localhost", 1, NULL) != SL_OK) fail_msg("%s", sl_error_message());
}

static void no_acceptance_shape_is_timed(void **unused) {
  (void)unused;
  static const struct sl_calibration_grid *const grids[] = {&sl_calibration_host, &sl_calibration_gpu};
  for (int g = 0; g < 2; g++) {
    struct fixture f;
    struct sl_job job;
    if (fixture_open(&f, "gpt2-tiny", "{\"train_micro_batch_size_per_gpu\":3,\"optimizer\":{\"type\":\"AdamW\"}}",
                     grids[g]->cluster, 1, NULL) != SL_OK)
      fail_msg("%s", sl_error_message());
    assert_int_equal(sl_calibration_bench_job(&job, &f.plan, grids[g], false, true), SL_OK);
    no_program_of(&job, "the benchmark");
    no_operand_leaves_its_buffer(&job);
    sl_job_free(&job);
    for (int i = 0; i < grids[g]->model_count; i++) {
      const struct sl_calibration_model *m = &grids[g]->models[i];
      assert_true(m->vocab != 256 && m->vocab != 512 && m->vocab != 50257 && m->seq <= m->positions);
      assert_true(m->width % m->heads == 0 && (m->kv_heads == 0 || m->heads % m->kv_heads == 0));
      if (g == 0) /* on a GPU, sizes that are no multiple of 64 have other kernels than a model's */
        assert_true(m->width % 64 != 0 && m->seq % 64 != 0 && m->width / m->heads != 64);
      for (int ranks = 1; ranks <= 2; ranks++) {
        struct sl_calibration_model_job model;
        if (sl_calibration_model_open(&model, m, grids[g]->cluster, ranks) != SL_OK)
          fail_msg("%s: %s", m->name, sl_error_message());
        no_program_of(&model.job, m->name);
        sl_calibration_model_close(&model);
      }
    }
    fixture_close(&f);
  }
}

/* The exclusion knows the acceptance models: nearly all that their products, attention and rows do is caught. */
static void acceptance_shapes_are_known(void **unused) {
  (void)unused;
  static const char *const models[] = {"gpt2-tiny",   "gpt2-mini",  "gpt2",   "gpt2",
                                       "gpt2-medium", "gpt2-large", "gpt2-xl"};
  static const int multiple[] = {1, 1, 1, 128, 1, 1, 1}; /* of the vocabulary */
  for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
    struct fixture f;
    char config[256];
    snprintf(
        config, sizeof config,
        "{\"train_micro_batch_size_per_gpu\":1,\"shardlab\":{\"seq_len\":128,\"make_vocab_size_divisible_by\":%d}}",
        multiple[i]);
    fixture_model(&f, models[i], config);
    const struct sl_program *p = &f.job.classes[0].programs[SL_PROGRAM_STEP];
    for (size_t k = 0; k < p->op_count; k++) {
      const enum sl_op_class op_class = sl_op_class_of(p->ops[k].kind);
      if (op_class == SL_CLASS_GEMM || op_class == SL_CLASS_ATTENTION || p->ops[k].kind == SL_OP_GELU_FWD)
        assert_true(is_acceptance_shape(&p->ops[k]));
    }
    fixture_close(&f);
  }
}

static const char profile[] =
    "{\"device\":{\"kind\":\"cpu\",\"cores\":2,\"memory_GiB\":1,\"memory_bandwidth_GBps\":7,\"peak_TFLOPS\":{\"fp32\":"
    "1},"
    "\"launch_us\":3,\"launch_us_stderr\":0.5,\"run_noise\":0.02,\"cache_MiB\":1,\"cache_bandwidth_GBps\":9},"
    "\"links\":[{\"bandwidth_GBps\":1,\"latency_us\":2}],\"op_costs\":["
    "{\"op\":\"gemm\",\"ranks\":1,\"launch_us\":11,\"GFLOPS\":50,\"GFLOPS_stderr\":5,\"scatter\":0.07},"
    "{\"op\":\"gemm\",\"variant\":\"trans_b\",\"ranks\":1,\"GFLOPS\":20},"
    "{\"op\":\"gemm\",\"ranks\":2,\"GFLOPS\":30,\"c_GBps\":2}]}";

static struct sl_cluster *load(const char *text) {
  struct sl_cluster *cluster = calloc(1, sizeof *cluster);
  struct sl_json doc;
  assert_int_equal(sl_json_parse(&doc, "profile.json", text, strlen(text)), SL_OK);
  if (sl_cluster_from_json(cluster, &doc) != SL_OK) fail_msg("%s", sl_error_message());
  sl_json_free(&doc);
  return cluster;
}

static void unload(struct sl_cluster *cluster) {
  sl_cluster_free(cluster);
  free(cluster);
}

static double cost_of(const struct sl_cluster *cluster, int world, unsigned flags) {
  static const struct sl_slice slices[3] = {{.access = SL_READ}, {.access = SL_READ}, {.access = SL_WRITE}};
  const struct sl_op op = {
      .kind = SL_OP_GEMM, .dtype = SL_F32, .flags = flags, .dim = {100, 200, 300}, .slice_count = 3};
  const struct sl_work work = sl_work_of(&op, slices, 0);
  struct sl_cost_rank rank;
  double seconds;
  assert_int_equal(sl_cost_share(&rank, cluster, NULL, world), SL_OK);
  assert_int_equal(sl_cost_compute(&rank, &work, &seconds), SL_OK);
  return seconds;
}

static void near(double got, double want) {
  if (!(fabs(got - want) <= 1e-9 * fabs(want))) fail_msg("%.12g, expected %.12g", got, want);
}

/* Products of the benchmark in `dtype`. */
static int products_in(const struct sl_program *p, enum sl_dtype dtype) {
  int count = 0;
  for (size_t i = 0; i < p->op_count; i++) count += p->ops[i].kind == SL_OP_GEMM && p->ops[i].dtype == dtype;
  return count;
}

static void tf32_is_measured_when_asked_for(void **unused) {
  (void)unused;
  struct fixture f;
  fixture_model(&f, "gpt2-tiny", "{\"train_micro_batch_size_per_gpu\":3,\"optimizer\":{\"type\":\"AdamW\"}}");
  for (int asked = 0; asked < 2; asked++) {
    struct sl_job job;
    assert_int_equal(sl_calibration_bench_job(&job, &f.plan, &sl_calibration_gpu, true, asked), SL_OK);
    const struct sl_program *p = &job.classes[0].programs[SL_PROGRAM_STEP];
    const int in_fp32 = products_in(p, SL_F32);
    assert_true(in_fp32 > 0);
    assert_int_equal(products_in(p, SL_TF32), asked ? in_fp32 : 0);
    sl_job_free(&job);
  }
  fixture_close(&f);
}

/* Sees every plan that a benchmark runs. */
static int plans[3];

static enum sl_status look_at_plan(void **state, const struct sl_job *job, const struct sl_exec_options *options,
                                   const int **local_ranks, int *local_count) {
  const struct sl_plan *plan = job->plan;
  assert_int_equal(plan->pp, plan->config->sl.pp);
  assert_int_equal(plan->pp * plan->dp, plan->world);
  for (int i = 0; i < plan->pp; i++) assert_non_null(plan->pp_ranks[i].stages);
  plans[plan->pp]++;
  return sl_exec_sim.open(state, job, options, local_ranks, local_count);
}

/* Sends have two pipeline ranks, and their plan is one that could be had by a configuration. */
static void benchmarks_run_plans_as_they_were_made(void **unused) {
  (void)unused;
  struct sl_exec_ops exec = sl_exec_sim;
  exec.open = look_at_plan;
  struct sl_calibration c = {.exec = &exec, .grid = &sl_calibration_host, .ranks = 2, .threads = 1, .quick = true};
  if (sl_calibration_bench(&c) != SL_OK) fail_msg("%s", sl_error_message());
  assert_true(plans[1] == 2 && plans[2] == 1);
  int sends = 0;
  for (size_t i = 0; i < c.points.count; i++)
    sends += c.points.items[i].kind == SL_OP_RECV || c.points.items[i].kind == SL_OP_SEND;
  assert_true(sends > 0);
  sl_points_free(&c.points);
}

/* Whatever says what was measured tells two points apart; when and how often it was does not. */
static void points_of_one_op_are_alike(void **unused) {
  (void)unused;
  const struct sl_point p = {
      .kind = SL_OP_GEMM, .ranks = 2, .parts = 1, .dim = {3, 5, 7}, .bytes = 11, .source = "c88"};
  struct sl_point others[8];
  for (int i = 0; i < 8; i++) others[i] = p;
  others[0].median_s = others[0].low_s = others[0].high_s = 1, others[0].repeats = others[0].count = 9;
  others[1].kind = SL_OP_COPY, others[2].variant = SL_VARIANT_TRANS_A, others[3].dtype = SL_BF16, others[4].ranks = 1;
  others[5].parts = 2, others[6].dim[2] = 8, others[7].source[1] = '9';
  for (int i = 0; i < 8; i++) assert_int_equal(sl_point_alike(&p, &others[i]), i == 0);
  others[0].bytes = 12;
  assert_false(sl_point_alike(&p, &others[0]));
}

/* 100 x 200 x 300: 12 Mflop, 80000 bytes of c. */
static void measured_costs_replace_formulas(void **unused) {
  (void)unused;
  struct sl_cluster *c = load(profile);
  c->devices_per_node = 8;
  near(cost_of(c, 1, 0), 3e-6 + 11e-6 + 12e6 / 50e9);
  near(cost_of(c, 1, SL_OP_TRANS_B), 3e-6 + 12e6 / 20e9);
  near(cost_of(c, 2, 0), 3e-6 + 12e6 / 30e9 + 80000 / 2e9);
  near(cost_of(c, 2, SL_OP_TRANS_A), 3e-6 + 12e6 / 30e9 + 80000 / 2e9); /* the plain one stands in */
  /* 4 ranks on 2 cores take turns: each op twice as long as with 2 */
  near(cost_of(c, 4, 0), 2 * 3e-6 + 2 * (12e6 / 30e9 + 80000 / 2e9));
  unload(c);
}

/* Sixteen bits without an entry: the other 16-bit type, then fp32; fp32 has no stand-in; type before variant. */
static void stand_ins_follow_the_rule(void **unused) {
  (void)unused;
  struct sl_op_costs table = {0}, *t = &table;
  for (int i = 0; i < 4; i++) assert_int_equal(sl_op_costs_add(t, &(struct sl_op_cost){0}), SL_OK);
  t->items[0] = (struct sl_op_cost){.kind = SL_OP_GEMM, .dtype = SL_F32, .variant = SL_VARIANT_TRANS_B, .ranks = 2};
  t->items[1] = (struct sl_op_cost){.kind = SL_OP_GEMM, .dtype = SL_F16, .ranks = 1};
  t->items[2] = (struct sl_op_cost){.kind = SL_OP_GELU_FWD, .dtype = SL_BF16, .ranks = 1};
  t->items[3] = (struct sl_op_cost){.kind = SL_OP_NORM, .dtype = SL_F32, .ranks = 4};
  assert_ptr_equal(sl_op_cost_find(t, SL_OP_GEMM, SL_VARIANT_TRANS_B, SL_BF16, 2), &t->items[1]);
  assert_ptr_equal(sl_op_cost_find(t, SL_OP_GEMM, SL_VARIANT_TRANS_B, SL_F32, 1), &t->items[0]);
  assert_ptr_equal(sl_op_cost_find(t, SL_OP_NORM, SL_VARIANT_PLAIN, SL_F16, 1), &t->items[3]);
  assert_null(sl_op_cost_find(t, SL_OP_GELU_FWD, SL_VARIANT_PLAIN, SL_F32, 1));
  assert_null(sl_op_cost_find(t, SL_OP_NORM, SL_VARIANT_PLAIN, SL_I32, 1));
  sl_op_costs_free(t);
}

static char warned[512];

static void take_warning(void *context, const char *message) {
  (void)context;
  snprintf(warned, sizeof warned, "%s", message);
}

/* A 16-bit model under a profile that knows products in fp32 alone: predicted, and said. */
static void predictions_name_what_stands_in(void **unused) {
  (void)unused;
  struct fixture f;
  struct sl_cluster *c = load(profile);
  fixture_model(
      &f, "gpt2-tiny",
      "{\"train_micro_batch_size_per_gpu\":3,\"bf16\":{\"enabled\":true},\"optimizer\":{\"type\":\"AdamW\"}}");
  sl_warn_set_sink(take_warning, NULL);
  f.cluster.op_costs = c->op_costs; /* and owns it */
  c->op_costs = (struct sl_op_costs){0};
  struct sl_run run = {.exec = &sl_exec_sim, .job = &f.job, .steps = 1};
  if (sl_run_execute(&run) != SL_OK) fail_msg("%s", sl_error_message());
  sl_run_close(&run);
  if (strstr(warned, "gemm in bf16 by fp32") == NULL || strstr(warned, "gelu in bf16 by the formulas") == NULL ||
      strstr(warned, "all_") != NULL)
    fail_msg("warned of \"%s\"", warned);
  sl_warn_set_sink(NULL, NULL);
  fixture_close(&f);
  unload(c);
}

/* Of a step of three such ops, of which the median of `runs` is predicted. */
static double step_error(const struct sl_cluster *c, const struct sl_op *op, int64_t runs) {
  const struct sl_work work = sl_work_of(op, NULL, 0);
  struct sl_cost_rank rank;
  struct sl_cost_error error;
  assert_int_equal(sl_cost_share(&rank, c, NULL, 1), SL_OK);
  assert_int_equal(sl_cost_error_open(&error, &rank), SL_OK);
  for (int i = 0; i < 3; i++) sl_cost_error_add(&error, &work);
  const double relative = sl_cost_error_relative(&error, runs);
  sl_cost_error_close(&error);
  return relative;
}

/* One op of 240 us flops (10 %) and 11 us launch (exact): its fit, or its scatter of 7 %, whichever is more, or what it
 * missed when held out; runs that differ by 2 %, more where steps are short. A type without an entry adds 30 %. */
static void error_bar_by_hand(void **unused) {
  (void)unused;
  struct sl_cluster *c = load(profile);
  struct sl_op op = {.kind = SL_OP_GEMM, .dtype = SL_F32, .dim = {100, 200, 300}, .group = SL_GROUP_NONE};
  const double part = 240.0 / 251;
  near(step_error(c, &op, 1), sqrt(part * part * 0.01 + 0.02 * 0.02));
  c->op_costs.items[0].scatter = 0.11;
  near(step_error(c, &op, 1), sqrt(0.11 * 0.11 + 0.02 * 0.02));
  c->op_costs.items[0].holdout = 0.13;
  near(step_error(c, &op, 1), sqrt(0.13 * 0.13 + 0.02 * 0.02));
  c->device.error_scale = 1.7;
  near(step_error(c, &op, 1), sqrt(pow(1.7 * 0.13, 2) + 0.02 * 0.02));
  c->device.error_scale = 0;
  /* a step of three ops of 251 us, by the law of the steps of 0.1 s */
  c->device.run_noise_slope = 0.05;
  near(step_error(c, &op, 1), hypot(0.13, 0.02 * pow(0.1 / 753e-6, 0.05)));
  c->device.run_noise_slope = 0;
  /* the median of five runs, by a profile of three rounds */
  const double pi = acos(-1), of_runs = pi / (10 + pi - 2), of_rounds = pi / (6 + pi - 2);
  near(step_error(c, &op, 5), sqrt(0.13 * 0.13 + of_runs * 0.02 * 0.02));
  c->device.rounds = 3;
  near(step_error(c, &op, 5), sqrt(0.13 * 0.13 + (of_runs + of_rounds) * 0.02 * 0.02));
  near(step_error(c, &op, 0), sqrt(0.13 * 0.13 + (1 + of_rounds) * 0.02 * 0.02));
  c->device.rounds = 0;
  op.dtype = SL_BF16;
  near(step_error(c, &op, 1), sqrt(0.13 * 0.13 + 0.3 * 0.3 + 0.02 * 0.02));
  op.dtype = SL_F32;
  op.kind = SL_OP_GELU_FWD; /* by the formulas alone */
  near(step_error(c, &op, 1), sqrt(0.5 * 0.5 + 0.02 * 0.02));
  op.kind = SL_OP_GEMM;
  c->op_costs.count = 0;
  assert_true(step_error(c, &op, 1) == 0);
  unload(c);
}

static void broken_profiles_say_where(void **unused) {
  (void)unused;
  static const char *const broken[][2] = {
      {"7", "op_costs"},
      {"[7]", "op_costs[0]"},
      {"[{\"op\":\"gemm\"}]", "launch_us"},
      {"[{\"op\":\"gemm\",\"GFLOPS\":0}]", "op_costs[0].GFLOPS"},
      {"[{\"op\":\"gemm\",\"GFLOP\":1}]", "did you mean \"GFLOPS\"?"},
      {"[{\"op\":\"gemm\",\"GFLOPS\":1,\"ranks\":0}]", "op_costs[0].ranks"},
      {"[{\"op\":\"gemm\",\"GFLOPS\":1,\"correlation\":{\"launch_us:GFLOPS\":2}}]", "correlation"},
  };
  for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
    char text[1024];
    struct sl_json doc;
    static struct sl_cluster cluster;
    snprintf(text, sizeof text, "%.*s\"op_costs\":%s}", (int)(strstr(profile, "\"op_costs\"") - profile), profile,
             broken[i][0]);
    sl_error_clear();
    assert_int_equal(sl_json_parse(&doc, "p.json", text, strlen(text)), SL_OK);
    assert_int_equal(sl_cluster_from_json(&cluster, &doc), SL_ERR_INPUT);
    if (strstr(sl_error_message(), broken[i][1]) == NULL)
      fail_msg("\"%s\", expected \"%s\"", sl_error_message(), broken[i][1]);
    sl_json_free(&doc);
  }
  sl_error_clear();
}

/* Two ranks, three steps of product, all_reduce, product: rank 1 computes longer in step 0 alone, and in step 2 both
 * take as long. A long wait in a collective makes no rank the slowest. */
static void times_are_of_the_slowest_rank(void **unused) {
  (void)unused;
  struct sl_op ops[] = {{.kind = SL_OP_GEMM}, {.kind = SL_OP_ALL_REDUCE}};
  struct sl_issue issues[] = {{.op = 0}, {.op = 1}, {.op = 0}};
  const struct sl_program program = {.ops = ops, .op_count = 2, .issues = issues, .issue_count = 3};
  const double all[] = {
      1, 2, 3, /* rank 0, product */
      9, 1, 7, /* the collective */
      1, 2, 5, /* product */
      3, 1, 4, /* rank 1 */
      1, 9, 6, 3, 1, 4,
  };
  const double want[] = {3, 2, 3, 1, 1, 7, 3, 2, 5};
  double seconds[9] = {0};
  sl_calibration_follow_slowest(seconds, all, 2, &program, 3);
  assert_memory_equal(seconds, want, sizeof want);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(file_there_and_back),
      cmocka_unit_test(broken_files_say_where),
      cmocka_unit_test(tf32_is_measured_when_asked_for),
      cmocka_unit_test(no_acceptance_shape_is_timed),
      cmocka_unit_test(acceptance_shapes_are_known),
      cmocka_unit_test(benchmarks_run_plans_as_they_were_made),
      cmocka_unit_test(points_of_one_op_are_alike),
      cmocka_unit_test(measured_costs_replace_formulas),
      cmocka_unit_test(stand_ins_follow_the_rule),
      cmocka_unit_test(predictions_name_what_stands_in),
      cmocka_unit_test(error_bar_by_hand),
      cmocka_unit_test(broken_profiles_say_where),
      cmocka_unit_test(times_are_of_the_slowest_rank),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
