/* Ops per second of the exact clock under core's executor loop: two ranks, three lanes, a million ops in 50 steps.
 * Prints one line; the argument is the number of layers (default 1000).
 *
 * The program is ZeRO-3's pattern: per layer a gather, eight kernels that wait for it, and a reduction of the last. */
#include "sim/sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { KERNELS = 8, PER_LAYER = KERNELS + 2, STEPS = 50 };

static struct sl_slice slices[] = {{.bytes = 4000000, .access = SL_READ_WRITE}, {.bytes = 2000000}, {.bytes = 4000000}};

/* The ops of one layer; the schedule repeats them. */
static void fill_ops(struct sl_op *ops) {
  struct sl_op gather = {.kind = SL_OP_ALL_GATHER, .lane = SL_LANE_SHARD, .group = SL_GROUP_SHARD, .dim = {1000000}};
  gather.slice = 1, gather.slice_count = 2;
  ops[0] = gather;
  for (int i = 1; i <= KERNELS; i++) {
    struct sl_op gemm = {.kind = SL_OP_GEMM, .group = SL_GROUP_NONE, .dim = {100 * i + 7, 500, 300}, .slice_count = 1};
    ops[i] = gemm;
  }
  struct sl_op reduce = {.kind = SL_OP_ALL_REDUCE, .lane = SL_LANE_DP, .group = SL_GROUP_DP, .dim = {1000000}};
  reduce.slice_count = 1;
  ops[KERNELS + 1] = reduce;
}

/* Layer `layer`: the gather runs two layers ahead of compute, kernels follow the gather, the reduction the last kernel.
 */
static void fill_layer(struct sl_program *p, uint32_t layer) {
  for (uint32_t i = 0; i < PER_LAYER; i++) {
    struct sl_issue issue = {.op = i, .wait = (uint32_t)p->wait_count};
    issue.lane_index = (p->lane_ops[p->ops[i].lane]++) & 0xffffff;
    struct sl_wait wait = {.lane = SL_LANE_COMPUTE, .count = layer < 2 ? 0 : (layer - 1) * KERNELS};
    if (i == 1) wait = (struct sl_wait){.lane = SL_LANE_SHARD, .count = layer + 1};
    if (i == PER_LAYER - 1) wait.count = (layer + 1) * KERNELS;
    issue.wait_count = i < 2 || i == PER_LAYER - 1;
    if (issue.wait_count > 0) p->waits[p->wait_count++] = wait;
    p->issues[p->issue_count++] = issue;
  }
}

static double wall(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static enum sl_status bench(uint32_t layers) {
  struct sl_op ops[PER_LAYER];
  struct sl_instance instance = {.micro_batch = -1};
  fill_ops(ops);
  struct sl_class class = {.rank_count = 2};
  struct sl_program *p = &class.programs[SL_PROGRAM_STEP];
  *p = (struct sl_program){.kind = SL_PROGRAM_STEP, .ops = ops, .slices = slices, .instances = &instance};
  p->op_count = PER_LAYER, p->slice_count = 3, p->instance_count = 1;
  SL_TRY(sl_calloc(&p->issues, (size_t)layers * PER_LAYER, sizeof *p->issues));
  SL_TRY(sl_calloc(&p->waits, (size_t)layers * 3, sizeof *p->waits));
  for (uint32_t i = 0; i < layers; i++) fill_layer(p, i);

  struct sl_cluster cluster = {.devices_per_node = 2, .n_link = 1};
  cluster.device = (struct sl_device){.kind = SL_DEVICE_GPU, .memory_bandwidth = 1e12, .launch_latency = 2e-6};
  cluster.device.gemm_efficiency = cluster.device.attention_efficiency = cluster.device.elementwise_efficiency = 0.8;
  cluster.device.comm_cpu_share = 0.1;
  cluster.device.peak[SL_F32] = 1e13;
  cluster.link[0] = (struct sl_link){.span = 2, .bandwidth = 1e11, .latency = 5e-6};
  struct sl_model model = {.n_layer = 1}; /* a pipeline's stalls depend on the number of blocks */
  struct sl_config config = {0};          /* one program for every step: no 1-bit optimizer */
  struct sl_plan plan = {.model = &model,
                         .config = &config,
                         .cluster = &cluster,
                         .world = 2,
                         .tp = 1,
                         .cp = 1,
                         .dp = 2,
                         .dp_cp = 2,
                         .pp = 1,
                         .shard = 2,
                         .secondary = 1};
  struct sl_job job = {.plan = &plan, .classes = &class, .class_count = 1, .classes_per_pp_rank = 1};
  struct sl_run run = {.exec = &sl_exec_sim, .job = &job, .options = {.fold = false, .fail_rank = -1}, .steps = STEPS};
  double start = wall();
  SL_TRY(sl_run_execute(&run));
  double seconds = wall() - start;
  size_t done = STEPS * p->issue_count * (size_t)run.local_count;
  printf("sim: %.2f million ops/s (%zu ops, %d ranks, %.3f s; virtual %.6f s)\n", 1e-6 * (double)done / seconds, done,
         run.local_count, seconds, run.results[STEPS - 1].end_s);
  sl_run_close(&run);
  free(p->issues);
  free(p->waits);
  return SL_OK;
}

int main(int argc, char **argv) {
  long layers = argc > 1 ? strtol(argv[1], NULL, 10) : 1000;
  if (layers < 1 || layers > 1000000) {
    fprintf(stderr, "bench_sim: layers is '%s', expected 1 to 1000000\n", argv[1]);
    return 2;
  }
  enum sl_status status = bench((uint32_t)layers);
  if (status != SL_OK) fprintf(stderr, "bench_sim: %s\n", sl_error_message());
  return sl_exit_code(status);
}
