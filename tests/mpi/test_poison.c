/* Poison (options.poison: dead bytes become NaN as soon as their last user is done) changes no result, bit for bit, and
 * shows a use after free that runs unnoticed without it. */
#include "core/op/operands.h"
#include "tests/mpi/grid.h"

enum { STEPS = 3 };

static int rank, world, failures;

static void expect(bool good, const char *what, const char *config) {
  if (good) return;
  failures++;
  fprintf(stderr, "FAIL rank %d of %d: %s\n  config %s\n", rank, world, what, config);
}

/* Number types of parameters, of gradients on the wire, and of gradients between micro-batches. */
static const char *const types[] = {
    "",
    "\"bf16\": {\"enabled\": true}, \"data_types\": {\"grad_accum_dtype\": \"bf16\"}, ",
    "\"fp16\": {\"enabled\": true, \"loss_scale\": 64}, \"communication_data_type\": \"fp32\", ",
};
enum { TYPES = sizeof types / sizeof *types };

static void write_config(char *out, size_t size, int type, int stage, bool overlap) {
  snprintf(out, size,
           "{%s\"train_micro_batch_size_per_gpu\": 3, \"gradient_accumulation_steps\": 2, \"gradient_clipping\": 0.5, "
           "\"optimizer\": {\"type\": \"AdamW\", \"params\": {\"lr\": 0.003}}, \"zero_optimization\": {\"stage\": %d, "
           "\"overlap_comm\": %s, \"reduce_bucket_size\": 2500, \"allgather_bucket_size\": 1001, "
           "\"stage3_prefetch_bucket_size\": 3000, \"stage3_param_persistence_threshold\": 30}, "
           "\"shardlab\": {\"seq_len\": 7}}",
           types[type], stage, overlap ? "true" : "false");
}

static const char model[] = SL_SOURCE_DIR "/tests/mpi/gpt2_dropout.json";
static const char data[] = SL_SOURCE_DIR "/tests/golden/gpt2_odd/tokens.bin";

static void train(struct grid_result *r, const struct sl_exec_ops *host, const char *config, bool poison) {
  const struct grid_run g = {model, config, data, NULL, STEPS, poison, NULL};
  if (grid_execute(r, host, &g, world) == SL_OK) return;
  fprintf(stderr, "rank %d: %s\n", rank, sl_error_message());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void same_bits(const struct sl_exec_ops *host, const char *config) {
  struct grid_result clean, poisoned;
  train(&clean, host, config, false);
  train(&poisoned, host, config, true);
  for (int s = 0; s < STEPS; s++) {
    const struct sl_step_result *a = &clean.run.results[s], *b = &poisoned.run.results[s];
    expect(isfinite(a->loss) && a->loss == b->loss, "the loss differs", config);
    expect(a->grad_norm == b->grad_norm, "the gradient norm differs", config);
    expect(!a->skipped && !b->skipped, "a step is skipped", config);
  }
  const struct sl_pp_rank *pp_rank = &clean.fixture.plan.pp_ranks[0];
  for (int i = 0; i < pp_rank->tensor_count; i++) {
    const size_t bytes = (size_t)pp_rank->tensors[i].numel * sizeof(float);
    float *x = calloc(1, bytes), *y = calloc(1, bytes);
    for (enum sl_role role = SL_ROLE_PARAM; role <= SL_ROLE_GRAD; role++) {
      grid_tensor(&clean, rank, role, pp_rank->tensors[i].tensor, x);
      grid_tensor(&poisoned, rank, role, pp_rank->tensors[i].tensor, y);
      expect(memcmp(x, y, bytes) == 0, "a tensor differs", config);
    }
    free(x);
    free(y);
  }
  grid_close(&clean);
  grid_close(&poisoned);
}

/* The backward of GELU says that it does not read its input, and reads it all the same: for the program those bytes are
 * dead once the forward is done with them. */
static bool fault_shows(const struct sl_exec_ops *host, const char *config, bool poison) {
  struct fixture f;
  if (fixture_open(&f, model, config, "localhost", world, NULL) != SL_OK) MPI_Abort(MPI_COMM_WORLD, 1);
  struct sl_program *p = &f.job.classes[0].programs[SL_PROGRAM_STEP];
  for (size_t i = 0; i < p->op_count; i++)
    if (p->ops[i].kind == SL_OP_GELU_BWD) p->slices[p->ops[i].slice + sl_op_at(&p->ops[i], SL_AT_X)].bytes = 0;
  struct sl_run run = {.exec = host,
                       .job = &f.job,
                       .steps = 2,
                       .options = {.data = data, .poison = poison, .threads = 1, .fail_rank = -1, .fail_step = -1}};
  if (sl_run_execute(&run) != SL_OK) MPI_Abort(MPI_COMM_WORLD, 1);
  const bool shows = isnan(run.results[1].loss) || run.results[0].skipped; /* fp16 skips what is not finite */
  sl_run_close(&run);
  fixture_close(&f);
  return shows;
}

int main(int argc, char **argv) {
  const struct sl_exec_ops *host;
  char config[1024];
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &world);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world);
  if (sl_exec_load("host", &host) != SL_OK) MPI_Abort(MPI_COMM_WORLD, 2);
  for (int type = 0; type < TYPES; type++) {
    for (int stage = 0; stage < 4; stage++) {
      for (int overlap = 0; overlap < 2; overlap++) {
        if (type > 0 && overlap != (stage + type) % 2) continue;
        write_config(config, sizeof config, type, stage, overlap);
        same_bits(host, config);
      }
    }
    write_config(config, sizeof config, type, 0, false);
    expect(!fault_shows(host, config, false), "the use after free shows without poison", config);
    expect(fault_shows(host, config, true), "poison does not show the use after free", config);
  }
  if (rank == 0) printf("world %d: %d failures\n", world, failures);
  MPI_Finalize();
  return failures > 0;
}
