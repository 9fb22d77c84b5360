/* Traffic three times over: what the host backend reports, what a witness that knows no program counted of its MPI
 * calls (tests/witness, preloaded) step by step, and what the simulator charged for the same job. All three agree to
 * the byte, per group; host and simulator also row by row, and in the order of calls. */
#include "tests/mpi/grid.h"

#include <dlfcn.h>

#include "sim/sim.h"

enum { STEPS = 3 };

static long long (*sent)(const char *name); /* the witness's */
static int rank, world, failures, checks;

static void expect(bool good, const char *what, long long got, long long want, const char *config) {
  checks++;
  if (good) return;
  failures++;
  fprintf(stderr, "FAIL rank %d of %d: %s is %lld, expected %lld\n  config %s\n", rank, world, what, got, want, config);
}

/* What the witness has counted at the end of each step, and before the first. */
struct counts {
  long long at[STEPS + 1][SL_GROUP_COUNT];
};

static void take_counts(void *context, int64_t step, const struct sl_step_result *result) {
  struct counts *c = context;
  (void)result;
  for (int g = SL_GROUP_NONE + 1; g < SL_GROUP_COUNT; g++) c->at[step + 1][g] = sent(sl_group_name((enum sl_group)g));
}

static long long gradient_bytes(const struct sl_exec_report *r) {
  long long bytes = 0;
  for (int i = 0; i < r->traffic_count; i++)
    bytes += r->traffic[i].payload == SL_PAYLOAD_GRADIENT ? r->traffic[i].wire_bytes : 0;
  return bytes;
}

static long long reported(const struct sl_exec_report *r, int group) {
  long long bytes = 0;
  for (int i = 0; i < r->traffic_count; i++) bytes += (int)r->traffic[i].group == group ? r->traffic[i].wire_bytes : 0;
  return bytes;
}

/* Steps repeat exactly, so the last two differences speak for the first, in which the init program's calls are too. */
static void compare_witness(const struct sl_exec_report *host, const struct counts *c, const char *config) {
  for (int g = SL_GROUP_NONE + 1; g < SL_GROUP_COUNT; g++) {
    for (int s = 1; s < STEPS; s++) {
      const long long counted = c->at[s + 1][g] - c->at[s][g], want = reported(host, g);
      expect(counted == want, sl_group_name((enum sl_group)g), want, counted, config);
    }
  }
}

static bool same_row(const struct sl_traffic *a, const struct sl_traffic *b) {
  return a->group == b->group && a->op == b->op && a->dtype == b->dtype && a->payload == b->payload &&
         a->link == b->link;
}

static void compare_simulated(const struct sl_exec_report *host, const struct sl_exec_report *sim, const char *config) {
  expect(host->call_hash == sim->call_hash, "order of calls", (long long)host->call_hash, (long long)sim->call_hash,
         config);
  expect(host->traffic_count == sim->traffic_count, "rows", host->traffic_count, sim->traffic_count, config);
  for (int i = 0; i < sim->traffic_count; i++) {
    const struct sl_traffic *want = &sim->traffic[i], none = {0}, *got = &none;
    for (int k = 0; k < host->traffic_count; k++)
      if (same_row(&host->traffic[k], want)) got = &host->traffic[k];
    expect(got->calls == want->calls, "calls", got->calls, want->calls, config);
    expect(got->bytes == want->bytes, "bytes", got->bytes, want->bytes, config);
    expect(got->wire_bytes == want->wire_bytes, "wire bytes", got->wire_bytes, want->wire_bytes, config);
  }
}

static void give_up(const char *why) {
  fprintf(stderr, "rank %d: %s\n", rank, why);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Number types: of parameters, of gradients on the wire, and of gradients between micro-batches. The first is fp32, and
 * the last HALF_WIRES are fp32 parameters whose gradients travel in 16 bits. */
static const char *const types[] = {
    "",
    "\"bf16\": {\"enabled\": true}, ",
    "\"fp16\": {\"enabled\": true, \"loss_scale\": 64}, ",
    "\"bf16\": {\"enabled\": true}, \"communication_data_type\": \"fp32\", \"data_types\": {\"grad_accum_dtype\": "
    "\"bf16\"}, ",
    "\"fp16\": {\"enabled\": true, \"loss_scale\": 64}, \"communication_data_type\": \"bf16\", \"data_types\": "
    "{\"grad_accum_dtype\": \"fp32\"}, ",
    "\"communication_data_type\": \"fp16\", ",
    "\"communication_data_type\": \"bf16\", ",
};
enum { TYPES = sizeof types / sizeof *types, HALF_WIRES = 2 };
static const char *const presets[] = {"ddp", "zero-redundancy-optimizer", "fsdp", "fsdp-shard-grad-op",
                                      "megatron-distributed-optimizer"};
enum { PRESETS = sizeof presets / sizeof *presets };

struct one {
  int stage, accumulate, type;
  bool overlap;
  const char *preset; /* "": by the stage */
};

static void config_text(char *out, size_t size, const struct one *c) {
  snprintf(out, size,
           "{%s\"train_micro_batch_size_per_gpu\": 2, \"gradient_accumulation_steps\": %d, \"optimizer\": {\"type\": "
           "\"AdamW\", \"params\": {\"lr\": 0.001}}, \"zero_optimization\": {\"stage\": %d, \"overlap_comm\": %s, "
           "\"reduce_bucket_size\": 4001, \"allgather_bucket_size\": 3001, \"stage3_prefetch_bucket_size\": 5000, "
           "\"stage3_param_persistence_threshold\": 100}, \"shardlab\": {\"seq_len\": 7, \"preset\": \"%s\"}}",
           types[c->type], c->accumulate, c->stage, c->overlap ? "true" : "false", c->preset);
}

/* Returns the bytes of gradients that this rank puts on the wire in a step. */
static long long run_one(const struct sl_exec_ops *host, const struct one *c) {
  char config[1024];
  struct fixture f;
  struct counts counts = {{{0}}};
  config_text(config, sizeof config, c);
  if (fixture_open(&f, SL_SOURCE_DIR "/tests/golden/gpt2_odd/config.json", config, "localhost", world, NULL) != SL_OK)
    give_up(sl_error_message());
  const struct sl_exec_options options = {
      .data = SL_SOURCE_DIR "/tests/golden/gpt2_odd/tokens.bin", .threads = 1, .fail_rank = -1, .fail_step = -1};
  struct sl_run real = {.exec = host,
                        .job = &f.job,
                        .steps = STEPS,
                        .options = options,
                        .progress = take_counts,
                        .progress_context = &counts};
  struct sl_run virtual = {.exec = &sl_exec_sim, .job = &f.job, .steps = STEPS, .options = {.fail_rank = -1}};
  if (sl_run_execute(&real) != SL_OK || sl_run_execute(&virtual) != SL_OK) give_up(sl_error_message());
  compare_witness(&real.reports[0], &counts, config);
  compare_simulated(&real.reports[0], &virtual.reports[rank], config);
  const long long bytes = gradient_bytes(&real.reports[0]);
  expect(bytes > 0, "gradient bytes", bytes, 1, config);
  sl_run_close(&real);
  sl_run_close(&virtual);
  fixture_close(&f);
  return bytes;
}

/* A 16-bit wire carries half of fp32's bytes; Megatron-LM's main_grad is fp32 whatever the configuration says. */
static void run_types(const struct sl_exec_ops *host, const struct one *c) {
  const long long bytes = run_one(host, c);
  if (c->type < TYPES - HALF_WIRES) return;
  struct one wide = *c;
  wide.type = 0;
  const int parts = strcmp(c->preset, "megatron-distributed-optimizer") == 0 ? 1 : 2;
  const long long full = run_one(host, &wide);
  expect(parts * bytes == full, "gradient bytes of a 16-bit wire", bytes, full / parts, types[c->type]);
}

int main(int argc, char **argv) {
  const struct sl_exec_ops *host;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &world);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world);
  void *symbol = dlsym(RTLD_DEFAULT, "sl_pmpi_sent");
  if (symbol == NULL) give_up("the witness is not loaded; expected LD_PRELOAD=libshardlab_pmpi.so");
  memcpy(&sent, &symbol, sizeof sent);
  if (sl_exec_load("host", &host) != SL_OK) give_up(sl_error_message());
  for (int stage = 0; stage < 4; stage++) {
    for (int overlap = 0; overlap < 4; overlap++) /* and accumulation */
      run_one(host, &(struct one){stage, 1 + overlap / 2 * 2, 0, overlap % 2, ""});
    for (int type = 1; type < TYPES; type++) /* DeepSpeed without ZeRO refuses fp32 gradients beside fp16 */
      if (stage > 0 || type != TYPES - HALF_WIRES - 1)
        run_types(host, &(struct one){stage, 1 + (stage + type) % 2 * 2, type, type % 2, ""});
  }
  for (int p = 0; p < PRESETS; p++)
    for (int type = 0; type < TYPES; type++)
      run_types(host, &(struct one){0, 1 + (p + type) % 2 * 2, type, false, presets[p]});
  if (rank == 0) printf("world %d: %d checks on each rank, %d failures on the first\n", world, checks, failures);
  MPI_Finalize();
  return failures > 0;
}
