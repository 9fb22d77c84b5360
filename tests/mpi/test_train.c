/* Training on the host backend against PyTorch's golden values (tests/golden): losses of ten steps, gradients of the
 * first and weights after the last, for each ZeRO stage and the number of ranks that mpirun started. Every rank checks.
 * Arguments: golden folder, ZeRO stage, micro-batch per rank, scratch file prefix. */
#include "core/cluster/cluster.h"
#include "core/io/safetensors.h"
#include "core/job/job.h"
#include "core/op/wire.h"
#include "core/run/executor.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 10 };

static int failures;

static void check(bool ok, const char *what, double got, double want) {
  if (ok) return;
  failures++;
  fprintf(stderr, "%s: got %.9g, expected %.9g\n", what, got, want);
}

static void must(enum sl_status status, const char *what) {
  if (status == SL_OK) return;
  fprintf(stderr, "%s: %s\n", what, sl_error_message());
  exit(1);
}

struct job {
  struct sl_model model;
  struct sl_config config;
  struct sl_cluster cluster;
  struct sl_plan plan;
  struct sl_job job;
};

static void build(struct job *j, const char *folder, const char *run, int world, int stage, int micro, bool grads) {
  char path[4096];
  struct sl_json doc;
  memset(j, 0, sizeof *j);
  snprintf(path, sizeof path, "%s/config.json", folder);
  must(sl_model_load(&j->model, path), "model");
  snprintf(path, sizeof path, "%s/ds_%s.json", folder, run);
  must(sl_json_load(&doc, path), "config");
  must(sl_config_from_json(&j->config, &doc, true), "config");
  j->config.zero.stage = stage;
  j->config.sl.seed = 1234; /* the mlp's samples */
  j->config.train_micro_batch_size_per_gpu = micro;
  must(sl_cluster_load(&j->cluster, "localhost"), "cluster");
  j->cluster.devices_per_node = world > j->cluster.devices_per_node ? world : j->cluster.devices_per_node;
  must(sl_plan_build(&j->plan, &j->model, &j->config, &j->cluster, world), "plan");
  must(sl_job_build(&j->job, &j->plan, &(struct sl_build_options){.save_params = true, .save_grads = grads}), "job");
}

static void drop(struct job *j) {
  sl_job_free(&j->job);
  sl_plan_free(&j->plan);
  sl_cluster_free(&j->cluster);
  sl_config_free(&j->config);
  sl_model_free(&j->model);
}

/* Relative distance of two files' tensors: |a - b| / |b| over everything. */
static double distance(const char *path, const char *golden_path) {
  struct sl_safetensors a, b;
  must(sl_safetensors_open(&a, path), "ours");
  must(sl_safetensors_open(&b, golden_path), "golden");
  double difference = 0, size = 0;
  for (int i = 0; i < b.count; i++) {
    const struct sl_safetensors_tensor *t = &b.tensors[i], *u = sl_safetensors_find(&a, t->name);
    check(u != NULL && u->numel == t->numel, t->name, u ? (double)u->numel : -1, (double)t->numel);
    if (!u || u->numel != t->numel) continue;
    float *x = calloc((size_t)t->numel, 4), *y = calloc((size_t)t->numel, 4);
    must(sl_safetensors_read(&a, u, 0, u->numel, x), "ours");
    must(sl_safetensors_read(&b, t, 0, t->numel, y), "golden");
    bool bias = strstr(t->name, "attn.c_attn.bias") != NULL;
    for (int64_t k = 0; k < t->numel; k++) {
      if (bias && k >= t->numel / 3 && k < 2 * t->numel / 3) continue; /* rounding noise: see tests/golden/README.md */
      difference += pow((double)x[k] - y[k], 2);
      size += pow(y[k], 2);
    }
    free(x);
    free(y);
  }
  sl_safetensors_close(&a);
  sl_safetensors_close(&b);
  return sqrt(difference / size);
}

static void check_near(const char *what, double distance_got, double most) {
  check(distance_got <= most, what, distance_got, most);
  printf("%s: relative distance %.2g\n", what, distance_got);
}

/* Run `steps` steps from the golden start. */
static void run(struct job *j, const struct sl_exec_ops *exec, const char *folder, int64_t steps, const char *save,
                const char *save_grads, struct sl_run *r) {
  static char data[4096], init[4096];
  snprintf(init, sizeof init, "%s/init.safetensors", folder);
  snprintf(data, sizeof data, !sl_model_reads_tokens(&j->model) ? "random:80" : "%s/tokens.bin", folder);
  *r = (struct sl_run){.exec = exec, .job = &j->job, .steps = steps};
  const bool poison = steps == 1; /* it touches every byte, which would make the memory figure say nothing */
  r->options = (struct sl_exec_options){.threads = 1,
                                        .data = data,
                                        .init = init,
                                        .save = save,
                                        .save_grads = save_grads,
                                        .poison = poison,
                                        .fail_rank = -1,
                                        .fail_step = -1};
  must(sl_run_execute(r), "run");
}

static void check_losses(const struct sl_run *r, const char *folder, const char *name) {
  char path[4096], what[64];
  snprintf(path, sizeof path, "%s/losses.json", folder);
  json_t *doc = json_load_file(path, 0, NULL), *want = json_object_get(doc, name);
  check(json_array_size(want) == STEPS, "golden losses", (double)json_array_size(want), STEPS);
  for (size_t s = 0; s < STEPS && s < json_array_size(want); s++) {
    double loss = json_number_value(json_array_get(want, s));
    snprintf(what, sizeof what, "%s: loss of step %zu", name, s);
    check(fabs(r->results[s].loss - loss) <= 3e-6 * fabs(loss), what, r->results[s].loss, loss);
  }
  json_decref(doc);
}

/* What each rank sent over the wire is what core says a ring sends. */
static void check_report(const struct sl_run *r, int world) {
  const struct sl_exec_report *report = &r->reports[0];
  int64_t wire = 0;
  for (int i = 0; i < report->traffic_count; i++) wire += report->traffic[i].wire_bytes;
  const struct sl_class *c = &r->job->classes[0];
  const struct sl_program *p = &c->programs[SL_PROGRAM_STEP];
  int64_t want = 0;
  for (size_t i = 0; i < p->issue_count; i++) {
    const struct sl_op *op = &p->ops[p->issues[i].op];
    if (sl_op_class_of(op->kind) != SL_CLASS_COLLECTIVE) continue;
    struct sl_members m = sl_plan_group(r->job->plan, op->group, r->local_ranks[0]);
    want += sl_op_wire_bytes(op, sl_op_slices(p, op), m.size, m.index);
  }
  check(wire == want && (world == 1) == (wire == 0), "bytes on the wire", (double)wire, (double)want);
  check(report->arena_bytes[SL_SPACE_DEVICE] == c->arena_bytes[SL_SPACE_DEVICE], "arena",
        (double)report->arena_bytes[SL_SPACE_DEVICE], (double)c->arena_bytes[SL_SPACE_DEVICE]);
  if (r->local_ranks[0] == 0)
    printf("arena %.3f MB, process %.3f MB, context %.1f MB\n", 1e-6 * (double)report->arena_bytes[SL_SPACE_DEVICE],
           1e-6 * (double)report->process_bytes, 1e-6 * (double)report->context_bytes);
}

/* Bytes that this rank has put on the wire by the program, per group: what a witness outside (tests/witness) must
 * count. */
static int64_t wire_of(const struct sl_run *r, enum sl_group group, enum sl_program_kind kind) {
  const struct sl_program *p = &r->job->classes[0].programs[kind];
  const struct sl_members m = sl_plan_group(r->job->plan, group, r->local_ranks[0]);
  int64_t bytes = 0;
  for (size_t i = 0; i < p->issue_count; i++) {
    const struct sl_op *op = &p->ops[p->issues[i].op];
    bool counts = sl_op_class_of(op->kind) == SL_CLASS_COLLECTIVE && op->group == group;
    if (counts) bytes += sl_op_wire_bytes(op, sl_op_slices(p, op), m.size, m.index);
  }
  return bytes;
}

static void add_expected(json_t *expected, const struct sl_run *r) {
  for (enum sl_group group = SL_GROUP_NONE + 1; group < SL_GROUP_COUNT; group++) {
    const char *name = sl_group_name(group);
    int64_t bytes = wire_of(r, group, SL_PROGRAM_INIT) + r->steps * wire_of(r, group, SL_PROGRAM_STEP) +
                    wire_of(r, group, SL_PROGRAM_SAVE);
    json_int_t before = json_integer_value(json_object_get(expected, name));
    json_object_set_new(expected, name, json_integer(before + bytes));
  }
}

static void write_expected(const json_t *expected, const char *stem, int rank) {
  char path[4096];
  snprintf(path, sizeof path, "%s.expected.%d", stem, rank);
  if (json_dump_file(expected, path, 0) != 0) must(SL_ERR_IO, path);
}

int main(int argc, char **argv) {
  if (argc != 6) return fprintf(stderr, "usage: %s FOLDER RUN STAGE MICRO SCRATCH\n", argv[0]), 2;
  const char *folder = argv[1], *name = argv[2], *ranks = getenv("OMPI_COMM_WORLD_SIZE");
  const int world = ranks ? atoi(ranks) : 1;
  char save[4096], grads[4096], golden[4096];
  snprintf(save, sizeof save, "%s.weights", argv[5]);
  snprintf(grads, sizeof grads, "%s.grads", argv[5]);
  const struct sl_exec_ops *exec;
  must(sl_exec_load("host", &exec), "module");
  struct job j;
  struct sl_run r;
  json_t *expected = json_object();

  build(&j, folder, name, world, atoi(argv[3]), atoi(argv[4]), true);
  run(&j, exec, folder, 1, NULL, grads, &r);
  const int rank = r.local_ranks[0];
  snprintf(golden, sizeof golden, "%s/grads.safetensors", folder);
  if (rank == 0) check_near("gradients of the first step", distance(grads, golden), 3e-6);
  add_expected(expected, &r);
  sl_run_close(&r);
  drop(&j);

  build(&j, folder, name, world, atoi(argv[3]), atoi(argv[4]), false);
  run(&j, exec, folder, STEPS, save, NULL, &r);
  check_losses(&r, folder, name);
  check_report(&r, world);
  snprintf(golden, sizeof golden, "%s/final_adamw.safetensors", folder);
  if (rank == 0 && strcmp(name, "adamw") == 0) check_near("weights after the last step", distance(save, golden), 1e-5);
  add_expected(expected, &r);
  sl_run_close(&r);
  drop(&j);
  write_expected(expected, argv[5], rank);
  json_decref(expected);
  if (rank == 0) printf("%s\n", failures ? "FAIL" : "ok");
  return failures != 0;
}
