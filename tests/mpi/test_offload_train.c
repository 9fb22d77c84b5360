/* Training with states in host memory: every form of offload that DeepSpeed has, at its ZeRO stages, with tensor and
 * pipeline parallelism, in fp32 and 16 bits, trains as without it. What the two memories hold and what travels between
 * them is what is predicted, to the byte; and copies that are held to a link's rate are over no sooner than the link
 * could carry them. */
#include "sim/sim.h"
#include "tests/mpi/checked.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

enum { STEPS = 3 };

#define OPTIMIZER ", \"offload_optimizer\": {\"device\": \"cpu\"}"
#define PARAM ", \"offload_param\": {\"device\": \"cpu\"}"
#define PAGEABLE(section) ", \"offload_" section "\": {\"device\": \"cpu\", \"pin_memory\": false}"
/* Sub-groups that are no whole number of pages, nor of blocks; a pool that is smaller than what is gathered ahead. */
#define NVME(more)                                                                                                     \
  ", \"sub_group_size\": 3000, \"offload_optimizer\": {\"device\": \"nvme\", \"nvme_path\": \".\"" more "}"
#define NVME_PARAM                                                                                                     \
  ", \"offload_param\": {\"device\": \"nvme\", \"nvme_path\": \".\", \"max_in_cpu\": 0, \"buffer_count\": 2}"
/* Twin-Flow: some sub-groups are updated by the device. And parameters of which some sub-groups stay in host memory. */
#define TWIN_FLOW ", \"sub_group_size\": 700, \"offload_optimizer\": {\"device\": \"cpu\", \"ratio\": 0.6}"
#define TWIN_FLOW_NVME                                                                                                 \
  ", \"sub_group_size\": 700, \"offload_optimizer\": {\"device\": \"nvme\", \"nvme_path\": \".\", \"ratio\": 0.6}"
#define SOME_IN_CPU                                                                                                    \
  ", \"sub_group_size\": 900, \"offload_param\": {\"device\": \"nvme\", \"nvme_path\": \".\", \"max_in_cpu\": 4000, "  \
  "\"buffer_count\": 2}"
/* The first is what the others are held against. Gradients are summed in fp32 in all, as offloaded ones are. Where a
 * step has one micro-batch, they go to NVMe with the states. */
static const struct {
  const char *keys;
  enum { ANY_STAGE, STAGE_3, STAGE_3_AT_ONCE } of; /* at once: a step's sequences in one micro-batch instead of two */
} modes[] = {{"", ANY_STAGE},
             {OPTIMIZER, ANY_STAGE},
             {PARAM, STAGE_3},
             {PAGEABLE("optimizer") PAGEABLE("param"), STAGE_3},
             {TWIN_FLOW, STAGE_3},
             {TWIN_FLOW PARAM, STAGE_3},
             {NVME(""), STAGE_3},
             {NVME(", \"pipeline_read\": true, \"pipeline_write\": true") PARAM, STAGE_3},
             {NVME(", \"pipeline_read\": true") NVME_PARAM, STAGE_3},
             {OPTIMIZER NVME_PARAM, STAGE_3},
             {OPTIMIZER SOME_IN_CPU, STAGE_3},
             {", \"offload_optimizer\": {\"device\": \"nvme\", \"nvme_path\": \".\"}" SOME_IN_CPU, STAGE_3},
             {TWIN_FLOW_NVME PARAM, STAGE_3},
             {NVME(""), STAGE_3_AT_ONCE},
             {TWIN_FLOW_NVME, STAGE_3_AT_ONCE},
             {NVME(", \"pipeline_read\": true, \"pipeline_write\": true") NVME_PARAM, STAGE_3_AT_ONCE}};
enum { MODES = sizeof modes / sizeof *modes, HALF_OF_THEM = 4 };

static const struct {
  const char *keys;
  double tolerance; /* of losses: the norm of gradients sums shards in another order than whole tensors */
} types[] = {{"", 1e-6},
             {"\"bf16\": {\"enabled\": true}, \"data_types\": {\"grad_accum_dtype\": \"fp32\"}, ", 1e-3},
             /* the first step overflows and updates nothing */
             {"\"fp16\": {\"enabled\": true, \"initial_scale_power\": 18, \"hysteresis\": 1}, \"data_types\": "
              "{\"grad_accum_dtype\": \"fp32\"}, ",
              1e-3}};

static const struct { int tp, pp; } layouts[] = {{1, 1}, {2, 1}, {1, 2}, {2, 2}};

struct trained {
  struct fixture fixture;
  struct sl_run run;
};

static const double link_rate = 2e7, pageable_rate = 1e7; /* byte/s: slower than what computes */

static void train(struct trained *t, const struct sl_exec_ops *exec, const char *config, bool held) {
  memset(t, 0, sizeof *t);
  if (fixture_open(&t->fixture, SL_SOURCE_DIR "/tests/mpi/grid_gpt2.json", config, "localhost", world, NULL) != SL_OK)
    give_up(config);
  t->fixture.cluster.device.host_link = held ? link_rate : 0;
  t->fixture.cluster.device.host_link_pageable = held ? pageable_rate : 0;
  if (sl_check(&t->fixture.job) != SL_OK) give_up(config);
  t->run = (struct sl_run){.exec = exec,
                           .job = &t->fixture.job,
                           .steps = exec->measures ? STEPS : 1,
                           .options = {.data = SL_SOURCE_DIR "/tests/golden/gpt2_odd/tokens.bin",
                                       .threads = 1,
                                       .poison = exec->measures && !held,
                                       .fail_rank = -1,
                                       .fail_step = -1}};
  if (sl_run_execute(&t->run) != SL_OK) give_up(config);
}

static void finish(struct trained *t) {
  sl_run_close(&t->run);
  fixture_close(&t->fixture);
}

static bool same_row(const struct sl_traffic *a, const struct sl_traffic *b) {
  return a->group == b->group && a->op == b->op && a->dtype == b->dtype && a->payload == b->payload &&
         a->link == b->link;
}

static const struct sl_traffic *row_like(const struct sl_exec_report *report, const struct sl_traffic *like) {
  static const struct sl_traffic none;
  for (int i = 0; i < report->traffic_count; i++)
    if (same_row(&report->traffic[i], like)) return &report->traffic[i];
  return &none;
}

/* A link carries one copy after the other, so it is not busy for longer than the step. */
static void compare_link(const struct trained *t, const char *config) {
  const struct sl_step_result *last = &t->run.results[STEPS - 1];
  const struct sl_exec_report *report = &t->run.reports[0];
  for (int link = SL_LANE_H2D; link <= SL_LANE_D2H; link++) {
    double busy_s = 0;
    for (int i = 0; i < report->traffic_count; i++)
      busy_s += (int)report->traffic[i].link == link ? report->traffic[i].time_s : 0;
    expect(busy_s <= last->end_s - last->start_s, "busy seconds of a link", busy_s, last->end_s - last->start_s,
           config);
  }
}

/* Bytes over both links. */
static int64_t copied(const struct sl_exec_report *report) {
  int64_t bytes = 0;
  for (int i = 0; i < report->traffic_count; i++) bytes += report->traffic[i].link != 0 ? report->traffic[i].bytes : 0;
  return bytes;
}

static void compare_prediction(const struct trained *t, const char *config, bool held) {
  const struct sl_exec_report *host = &t->run.reports[0];
  struct trained predicted;
  train(&predicted, &sl_exec_sim, config, held);
  const struct sl_exec_report *sim = &predicted.run.reports[rank];
  for (int space = 0; space < SL_SPACE_COUNT; space++)
    expect(host->arena_bytes[space] == sim->arena_bytes[space], sl_space_name(space), (double)host->arena_bytes[space],
           (double)sim->arena_bytes[space], config);
  expect(host->call_hash == sim->call_hash, "order of calls", (double)host->call_hash, (double)sim->call_hash, config);
  expect(host->traffic_count == sim->traffic_count, "rows", host->traffic_count, sim->traffic_count, config);
  for (int i = 0; i < sim->traffic_count; i++) {
    const struct sl_traffic *want = &sim->traffic[i], *got = row_like(host, want);
    expect(got->calls == want->calls, "calls", (double)got->calls, (double)want->calls, config);
    expect(got->bytes == want->bytes, "bytes", (double)got->bytes, (double)want->bytes, config);
    expect(got->wire_bytes == want->wire_bytes, "wire bytes", (double)got->wire_bytes, (double)want->wire_bytes,
           config);
    if (want->link == 0 || !held || sl_lane_is_nvme(want->link)) continue;
    const double rate = strstr(config, "pin_memory") != NULL ? pageable_rate : link_rate;
    const double least = (double)want->bytes / rate * (1 - 1e-9);
    expect(got->time_s >= least, "seconds of a link", got->time_s, least, config);
    expect(want->time_s >= least, "predicted seconds of a link", want->time_s, least, config);
  }
  finish(&predicted);
}

static void compare_losses(const struct trained *plain, const struct trained *t, double tolerance, const char *config) {
  for (int s = 0; s < STEPS; s++) {
    const struct sl_step_result *a = &plain->run.results[s], *b = &t->run.results[s];
    expect(fabs(a->loss - b->loss) <= tolerance * a->loss, "loss", b->loss, a->loss, config);
    const bool both = !isfinite(a->grad_norm) && !isfinite(b->grad_norm);
    expect(both || fabs(a->grad_norm - b->grad_norm) <= 10 * tolerance * a->grad_norm, "norm of the gradient",
           b->grad_norm, a->grad_norm, config);
  }
}

/* Does anything but the optimizer's own copies leave the device? With parameters in host memory less stays there. */
static void compare_memory(const struct trained *plain, const struct trained *t, const char *config) {
  const struct sl_exec_report *with = &t->run.reports[0], *without = &plain->run.reports[0];
  expect(without->arena_bytes[SL_SPACE_HOST] == 0, "host memory without offload",
         (double)without->arena_bytes[SL_SPACE_HOST], 0, config);
  expect(copied(without) == 0, "bytes copied without offload", (double)copied(without), 0, config);
  expect(with->arena_bytes[SL_SPACE_HOST] > 0, "host memory", (double)with->arena_bytes[SL_SPACE_HOST], 1, config);
  expect(copied(with) > 0, "bytes copied", (double)copied(with), 1, config);
}

static void one_layout(const struct sl_exec_ops *host, int stage, int type, int tp, int pp) {
  struct trained plain;
  for (int mode = 0; mode < MODES; mode++) {
    struct trained t;
    char config[1024];
    const bool held = (stage + mode) % 2 == 0, at_once = modes[mode].of == STAGE_3_AT_ONCE;
    if (modes[mode].of != ANY_STAGE && stage != 3) continue;
    if (at_once && pp > 1) continue;
    if (mode >= HALF_OF_THEM && (type + mode + tp + pp) % 2 != 0) continue; /* half of them each */
    if (mode > 0 && type == 2 && (mode + tp + pp) % 2 != 0) continue;
    snprintf(
        config, sizeof config,
        "{\"train_micro_batch_size_per_gpu\": %d, \"gradient_accumulation_steps\": %d, \"gradient_clipping\": 0.5, "
        "\"aio\": "
        "{\"block_size\": 8192, \"queue_depth\": 3, \"intra_op_parallelism\": %d, \"single_submit\": %s, "
        "\"overlap_events\": %s}, "
        "%s\"optimizer\": {\"type\": \"AdamW\", \"params\": {\"lr\": 0.003}}, \"zero_optimization\": {\"stage\": "
        "%d, \"reduce_bucket_size\": 3000, \"stage3_param_persistence_threshold\": 30%s}, \"shardlab\": "
        "{\"seq_len\": 7, \"tp\": %d, \"pp\": %d}}",
        at_once ? 4 : 2, at_once ? 1 : 2, 1 + type, type == 1 ? "true" : "false", tp == 1 ? "true" : "false",
        types[type].keys, stage, modes[mode].keys, tp, pp);
    train(&t, host, config, held);
    compare_prediction(&t, config, held);
    if (mode == 0) {
      plain = t;
      continue;
    }
    compare_losses(&plain, &t, types[type].tolerance, config);
    compare_memory(&plain, &t, config);
    if (held) compare_link(&t, config);
    finish(&t);
  }
  finish(&plain);
}

/* FSDP's CPUOffload: parameters, gradients and states of all blocks in host memory. Shards are fp32, so parameters are
 * their own masters; but a rank alone, without offload, shards nothing and has masters beside 16-bit parameters. */
static void fsdp_offloads(const struct sl_exec_ops *host, int type) {
  struct trained run[2];
  char config[1024];
  for (int offloaded = 0; offloaded < 2; offloaded++) {
    snprintf(
        config, sizeof config,
        "{\"train_micro_batch_size_per_gpu\": 2, \"gradient_accumulation_steps\": 2, \"gradient_clipping\": 0.5, "
        "%s\"optimizer\": {\"type\": \"AdamW\", \"params\": {\"lr\": 0.003}}, \"zero_optimization\": {\"stage\": 3%s}, "
        "\"shardlab\": {\"seq_len\": 7, \"preset\": \"%s\"}}",
        types[type].keys, offloaded ? OPTIMIZER PARAM : "", world == 2 ? "fsdp" : "fsdp2");
    train(&run[offloaded], host, config, false);
    compare_prediction(&run[offloaded], config, false);
  }
  const int64_t without = run[0].fixture.job.classes[0].memory[SL_SPACE_DEVICE].state_bytes[SL_CATEGORY_OPTIMIZER],
                with = run[1].fixture.job.classes[0].memory[SL_SPACE_HOST].state_bytes[SL_CATEGORY_OPTIMIZER];
  const int64_t want = world == 1 && run[0].fixture.config.param_dtype != SL_F32 ? without / 3 * 2 : without;
  expect(with == want && with > 0, "bytes of states that are offloaded", (double)with, (double)want, config);
  compare_losses(&run[0], &run[1], types[type].tolerance, config);
  compare_memory(&run[0], &run[1], config);
  for (int i = 0; i < 2; i++) finish(&run[i]);
}

/* ---- what recomputed blocks keep of their inputs ---- */

static const char *const kept[] = {"", "\"partition_activations\": true", "\"cpu_checkpointing\": true",
                                   "\"partition_activations\": true, \"cpu_checkpointing\": true"};

/* What copies carry one way, of activations alone. */
static int64_t activations_copied(const struct sl_exec_report *report, enum sl_lane link) {
  int64_t bytes = 0;
  for (int i = 0; i < report->traffic_count; i++)
    if (report->traffic[i].link == link && report->traffic[i].payload == SL_PAYLOAD_ACTIVATION)
      bytes += report->traffic[i].bytes;
  return bytes;
}

/* Each block's input goes to host memory once a micro-batch, and comes back once. */
static void compare_activations(const struct trained *t, bool on_host, int sharers, const char *config) {
  const struct sl_plan *plan = &t->fixture.plan;
  const struct sl_exec_report *report = &t->run.reports[0];
  const int own = sl_plan_coord(plan, rank).pp;
  const int64_t part =
      plan->micro_batch * plan->seq * plan->model->n_embd / sharers * sl_dtype_bytes(plan->config->param_dtype);
  const int64_t inputs = plan->model->n_layer / plan->pp,
                in_flight = plan->pp - own < plan->n_micro ? plan->pp - own : plan->n_micro;
  const int64_t room = (part + SL_ALIGN - 1) / SL_ALIGN * SL_ALIGN * inputs * in_flight;
  const int64_t bytes = on_host ? part * inputs * plan->n_micro : 0;
  for (int link = SL_LANE_H2D; link <= SL_LANE_D2H; link++) {
    const int64_t got = activations_copied(report, (enum sl_lane)link);
    expect(got == bytes, "bytes of activations copied", (double)got, (double)bytes, config);
  }
  expect(report->arena_bytes[SL_SPACE_HOST] == (on_host ? room : 0), "host memory of activations",
         (double)report->arena_bytes[SL_SPACE_HOST], (double)(on_host ? room : 0), config);
}

/* In parts, in host memory, or both: the bits of the losses are those of what stays where it was made. */
static void activations_elsewhere(const struct sl_exec_ops *host, int type, int tp, int pp) {
  struct trained plain;
  for (int k = 0; k < (int)(sizeof kept / sizeof *kept); k++) {
    struct trained t;
    char config[1024];
    const bool held = (k + tp) % 2 == 0;
    snprintf(config, sizeof config,
             "{\"train_micro_batch_size_per_gpu\": 2, \"gradient_accumulation_steps\": 3, %s\"optimizer\": {\"type\": "
             "\"AdamW\", \"params\": {\"lr\": 0.003}}, \"zero_optimization\": {\"stage\": %d}, "
             "\"activation_checkpointing\": {%s}, \"shardlab\": {\"seq_len\": 7, \"tp\": %d, \"pp\": %d, "
             "\"recompute\": \"full\", \"scatter_gather_tensors_in_pipeline\": %s}}",
             types[type].keys, pp > 1 ? 1 : 3, kept[k], tp, pp, tp > 1 && pp > 1 ? "true" : "false");
    train(&t, host, config, held);
    compare_prediction(&t, config, held);
    compare_activations(&t, k >= 2, k % 2 == 1 ? tp : 1, config);
    if (k == 0) plain = t;
    for (int s = 0; s < STEPS; s++) {
      const double want = plain.run.results[s].loss, got = t.run.results[s].loss;
      expect(got == want, "loss with activations elsewhere", got, want, config);
    }
    if (k > 0) finish(&t);
  }
  finish(&plain);
}

/* The file has no name; it is found among this process's. */
static void flip(void *context, int64_t step, const struct sl_step_result *result) {
  DIR *all = opendir("/proc/self/fd");
  struct dirent *entry;
  (void)context;
  (void)result;
  while (step == 0 && (entry = readdir(all)) != NULL) {
    char link[64], path[512], byte;
    snprintf(link, sizeof link, "/proc/self/fd/%.20s", entry->d_name);
    const ssize_t n = readlink(link, path, sizeof path - 1);
    if (n <= 0) continue;
    path[n] = '\0';
    if (strstr(path, "shardlab-nvme-") == NULL) continue;
    const int file = open(link, O_RDWR); /* not past the page cache, as the run does */
    if (pread(file, &byte, 1, 5000) != 1) failures++;
    byte ^= 4;
    if (pwrite(file, &byte, 1, 5000) != 1 || fsync(file) != 0) failures++;
    close(file);
  }
  closedir(all);
}

/* A bit that changes on the disk between two steps ends the run at its next read, which says whose it was. */
static void a_flipped_bit_ends_the_run(const struct sl_exec_ops *host) {
  static const char config[] =
      "{\"train_micro_batch_size_per_gpu\": 2, \"optimizer\": {\"type\": \"AdamW\"}, \"zero_optimization\": "
      "{\"stage\": 3" NVME("") "}, \"shardlab\": {\"seq_len\": 7}}";
  struct trained t = {0};
  if (fixture_open(&t.fixture, SL_SOURCE_DIR "/tests/mpi/grid_gpt2.json", config, "localhost", 1, NULL) != SL_OK)
    give_up(config);
  t.run = (struct sl_run){
      .exec = host,
      .job = &t.fixture.job,
      .steps = STEPS,
      .progress = flip,
      .options = {
          .data = SL_SOURCE_DIR "/tests/golden/gpt2_odd/tokens.bin", .threads = 1, .fail_rank = -1, .fail_step = -1}};
  expect(sl_run_execute(&t.run) == SL_ERR_IO, "a run with a flipped bit ends", 0, 1, config);
  expect(strstr(sl_error_message(), "./shardlab-nvme-") != NULL && strstr(sl_error_message(), ": master: ") != NULL &&
             strstr(sl_error_message(), "at 4096 are not those that were written") != NULL,
         sl_error_message(), 0, 1, config);
  sl_error_clear();
  fixture_close(&t.fixture);
}

int main(int argc, char **argv) {
  const struct sl_exec_ops *host = checked_open(&argc, &argv);
  for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
    if (world % (layouts[i].tp * layouts[i].pp) != 0) continue;
    for (int stage = 1; stage <= 3; stage++)
      for (size_t type = 0; type < sizeof types / sizeof *types; type++) /* of several ranks one 16-bit type each */
        if (world == 1 || type == 0 || type == 1 + (i + (size_t)stage) % 2)
          one_layout(host, stage, (int)type, layouts[i].tp, layouts[i].pp);
    activations_elsewhere(host, (int)i % 3, layouts[i].tp, layouts[i].pp);
  }
  if (world == 1) a_flipped_bit_ends_the_run(host);
  for (int type = 0; type < 2; type++) fsdp_offloads(host, type);
  return checked_close();
}
