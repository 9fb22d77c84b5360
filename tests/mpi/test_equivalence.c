/* Every way to run a configuration trains the same: ZeRO 0 to 3, any number of ranks, any accumulation, at one global batch.
 *
 * Run alone (one rank) it writes the reference: losses, gradient norms, first-step gradients. Run on several ranks it goes
 * through the grid and compares with that file: losses <= 1e-6, every gradient tensor and the gradient norm <= 1e-5,
 * relative. Half of the grid uses SGD with momentum, because AdamW hides a wrong gradient scale. Prints the command line of
 * what fails. usage: test_equivalence REFERENCE */
#include "tests/mpi/grid.h"

enum { STEPS = 5, BATCH = 96 /* divides by 1, 2, 3, 4, 8 ranks, with accumulation 1 and 4 */ };

static const struct {
  const char *name, *model, *data, *shardlab;
} models[] = {
    {"gpt2", SL_SOURCE_DIR "/tests/golden/gpt2_odd/config.json", SL_SOURCE_DIR "/tests/golden/gpt2_odd/tokens.bin",
     "\"seq_len\": 7"},
    {"gpt2-dropout", SL_SOURCE_DIR "/tests/mpi/gpt2_dropout.json", SL_SOURCE_DIR "/tests/golden/gpt2_odd/tokens.bin",
     "\"seq_len\": 7"},
    {"llama", SL_SOURCE_DIR "/tests/mpi/llama.json", SL_SOURCE_DIR "/tests/golden/gpt2_odd/tokens.bin",
     "\"seq_len\": 7"},
    {"mlp", SL_SOURCE_DIR "/tests/mpi/mlp.json", "random:1000", "\"seed\": 7"},
};
static const char *const optimizers[] = {
    "{\"type\": \"SGD\", \"params\": {\"lr\": 0.05, \"momentum\": 0.9, \"weight_decay\": 0.01}}",
    "{\"type\": \"AdamW\", \"params\": {\"lr\": 0.003, \"betas\": [0.9, 0.95], \"weight_decay\": 0.1}}",
};
enum { MODELS = sizeof models / sizeof *models, OPTIMIZERS = 2 };

/* How stages 0 to 3 differ from one entry to the next: bucket sizes that cut tensors' runs oddly, overlap on and off, the
 * thresholds of stage 3. */
static const struct {
  const char *zero, *preset;
} variants[] = {
    {"\"stage\": 0, \"reduce_bucket_size\": 3000", ""},
    {"\"stage\": 0, \"overlap_comm\": true, \"reduce_bucket_size\": 9000", ""},
    {"\"stage\": 1, \"reduce_bucket_size\": 2500, \"allgather_bucket_size\": 1001", ""},
    {"\"stage\": 1, \"overlap_comm\": true", ""},
    {"\"stage\": 2, \"reduce_bucket_size\": 2500, \"overlap_comm\": true, \"allgather_bucket_size\": 7777", ""},
    {"\"stage\": 2, \"overlap_comm\": false", ""},
    {"\"stage\": 3, \"stage3_param_persistence_threshold\": 0, \"stage3_max_reuse_distance\": 0, "
     "\"stage3_prefetch_bucket_size\": 3000, \"reduce_bucket_size\": 5000",
     ""},
    {"\"stage\": 3, \"stage3_param_persistence_threshold\": 100, \"stage3_prefetch_bucket_size\": 0, "
     "\"stage3_max_reuse_distance\": 6000",
     ""},
    {"\"stage\": 3, \"overlap_comm\": false, \"reduce_bucket_size\": 1000", ""},
    {"\"stage\": 1, \"offload_optimizer\": {\"device\": \"cpu\"}", ""},
    {"\"stage\": 2, \"offload_optimizer\": {\"device\": \"cpu\"}, \"reduce_bucket_size\": 4000", ""},
    {"\"stage\": 3, \"offload_optimizer\": {\"device\": \"cpu\"}, \"offload_param\": {\"device\": \"cpu\"}, "
     "\"stage3_param_persistence_threshold\": 50, \"stage3_max_reuse_distance\": 4000",
     ""},
    {"\"stage\": 0", "ddp"},
    {"\"stage\": 0", "zero-redundancy-optimizer"},
    {"\"stage\": 0", "fsdp"},
    {"\"stage\": 0", "fsdp-shard-grad-op"},
    {"\"stage\": 0", "megatron-distributed-optimizer"},
    {"\"stage\": 2, \"reduce_bucket_size\": 6000", "\", \"attention\": \"flash"},
};
enum { VARIANTS = sizeof variants / sizeof *variants };

struct reference {
  double losses[MODELS][OPTIMIZERS][STEPS], norms[MODELS][OPTIMIZERS][STEPS];
  int64_t numel[MODELS];
  float *gradients[MODELS]; /* all tensors, one behind the other, of step 0 */
};

static int rank, world, failures;

static void config_text(char *out, size_t size, int model, int optimizer, int variant, int micro, int accumulate) {
  snprintf(out, size,
           "{\"train_micro_batch_size_per_gpu\": %d, \"gradient_accumulation_steps\": %d, \"gradient_clipping\": 0.5, "
           "\"zero_allow_untested_optimizer\": true, \"optimizer\": %s, \"zero_optimization\": {%s}, "
           "\"shardlab\": {\"preset\": \"%s\", %s}}",
           micro, accumulate, optimizers[optimizer], variants[variant].zero, variants[variant].preset,
           models[model].shardlab);
}

static void train(struct grid_result *r, const struct sl_exec_ops *host, int model, const char *config, int steps,
                  bool poison) {
  const struct grid_run g = {models[model].model, config, models[model].data, NULL, steps, poison};
  if (grid_execute(r, host, &g, world) == SL_OK) return;
  fprintf(stderr, "rank %d: %s\n  config %s\n", rank, sl_error_message(), config);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* All gradients in model order, whatever the plan's order is. */
static float *gradients_of(struct grid_result *r, int64_t *numel) {
  const struct sl_stage *s = &r->fixture.plan.stages[0];
  float *all = calloc((size_t)s->layout.numel, sizeof *all);
  *numel = 0;
  for (int t = 0; t < r->fixture.model.tensor_count; t++) {
    grid_tensor(r, rank, SL_ROLE_GRAD, t, all + *numel);
    *numel += r->fixture.model.tensors[t].numel;
  }
  return all;
}

/* ---- the reference ---- */

static void make_reference(const struct sl_exec_ops *host, struct reference *ref) {
  struct grid_result r;
  char config[2048];
  for (int m = 0; m < MODELS; m++) {
    config_text(config, sizeof config, m, 0, 0, BATCH, 1);
    train(&r, host, m, config, 1, false);
    ref->gradients[m] = gradients_of(&r, &ref->numel[m]);
    grid_close(&r);
    for (int o = 0; o < OPTIMIZERS; o++) {
      config_text(config, sizeof config, m, o, 0, BATCH, 1);
      train(&r, host, m, config, STEPS, false);
      for (int s = 0; s < STEPS; s++) {
        ref->losses[m][o][s] = r.run.results[s].loss;
        ref->norms[m][o][s] = r.run.results[s].grad_norm;
      }
      grid_close(&r);
    }
  }
}

static void transfer_reference(const char *path, struct reference *ref, const char *mode) {
  FILE *f = fopen(path, mode);
  const bool reads = mode[0] == 'r';
  size_t n = 0;
  if (f != NULL) {
    n = reads ? fread(ref, offsetof(struct reference, gradients), 1, f)
              : fwrite(ref, offsetof(struct reference, gradients), 1, f);
    for (int m = 0; n == 1 && m < MODELS; m++) {
      if (reads) ref->gradients[m] = calloc((size_t)ref->numel[m], sizeof(float));
      n = reads ? fread(ref->gradients[m], sizeof(float) * (size_t)ref->numel[m], 1, f)
                : fwrite(ref->gradients[m], sizeof(float) * (size_t)ref->numel[m], 1, f);
    }
    fclose(f);
  }
  if (n == 1) return;
  fprintf(stderr, "%s: cannot %s the reference\n", path, reads ? "read" : "write");
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* ---- the grid ---- */

/* Written so that NaN fails. */
static void expect(bool good, const char *what, double value, double bound, const char *config) {
  if (good) return;
  if (rank == 0)
    fprintf(stderr, "FAIL %s: %.3g, expected at most %.0e\n  world %d, config %s\n", what, value, bound, world, config);
  failures++;
}

static void compare_gradients(struct grid_result *r, const struct reference *ref, int m, const char *config) {
  int64_t numel, at = 0;
  float *all = gradients_of(r, &numel);
  for (int t = 0; t < r->fixture.model.tensor_count; t++) {
    const struct sl_tensor *tensor = &r->fixture.model.tensors[t];
    const double d = grid_distance(all + at, ref->gradients[m] + at, tensor->numel);
    expect(d <= 1e-5, tensor->name, d, 1e-5, config);
    at += tensor->numel;
  }
  free(all);
}

static void compare_losses(const struct grid_result *r, const struct reference *ref, int m, int o, const char *config) {
  for (int s = 0; s < STEPS; s++) {
    const double loss = fabs(r->run.results[s].loss / ref->losses[m][o][s] - 1);
    const double norm = fabs(r->run.results[s].grad_norm / ref->norms[m][o][s] - 1);
    expect(loss <= 1e-6, "loss", loss, 1e-6, config);
    expect(norm <= 1e-5, "gradient norm", norm, 1e-5, config);
  }
}

/* The planner's bar: no more than 5% over what is live at once, for arenas worth the name. */
static void compare_memory(const struct grid_result *r, const char *config) {
  const struct sl_class *c = &r->fixture.job.classes[sl_job_class_of(&r->fixture.job, rank)];
  const double ratio = (double)c->arena_bytes[SL_SPACE_DEVICE] / (double)c->memory->live_peak_bytes;
  expect(r->run.reports[0].arena_bytes[SL_SPACE_DEVICE] == c->arena_bytes[SL_SPACE_DEVICE], "arena bytes", 0, 0,
         config);
  if (c->arena_bytes[SL_SPACE_DEVICE] > 64 << 20) expect(ratio <= 1.05, "arena over live bytes", ratio, 1.05, config);
}

static void run_grid(const struct sl_exec_ops *host, const struct reference *ref) {
  struct grid_result r;
  char config[2048];
  int turn = 0;
  for (int m = 0; m < MODELS; m++) {
    for (int v = 0; v < VARIANTS; v++) {
      for (int accumulate = 1; accumulate <= 4; accumulate += 3, turn++) {
        const int o = turn / 2 % 2 == turn % 2; /* both optimizers meet every stage and both accumulations */
        if (BATCH % (world * accumulate) != 0) continue;
        config_text(config, sizeof config, m, o, v, BATCH / world / accumulate, accumulate);
        train(&r, host, m, config, 1, false);
        compare_gradients(&r, ref, m, config);
        grid_close(&r);
        train(&r, host, m, config, STEPS, turn % 2 == 1);
        compare_losses(&r, ref, m, o, config);
        compare_memory(&r, config);
        grid_close(&r);
      }
    }
  }
  if (rank == 0) printf("world %d: %d configurations, %d failures\n", world, turn, failures);
}

int main(int argc, char **argv) {
  static struct reference ref;
  const struct sl_exec_ops *host;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &world);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world);
  if (argc != 2 || sl_exec_load("host", &host) != SL_OK) {
    fprintf(stderr, "usage: test_equivalence REFERENCE   %s\n", sl_error_message());
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  if (world == 1) {
    make_reference(host, &ref);
    transfer_reference(argv[1], &ref, "wb");
  } else {
    transfer_reference(argv[1], &ref, "rb");
  }
  run_grid(host, &ref);
  for (int m = 0; m < MODELS; m++) free(ref.gradients[m]);
  MPI_Finalize();
  return failures > 0;
}
