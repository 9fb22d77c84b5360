/* 16-bit training learns as fp32 does: a small GPT-2 on examples/corpus.txt, 200 steps, the mean loss of the last 20
 * within 1% of fp32's, for bf16 and for fp16 with its dynamic scale, from one seed; with the argument "long" from
 * three. */
#include "tests/mpi/checked.h"

static const struct {
  const char *name, *config;
} precisions[] = {
    {"fp32", "\"bf16\": {\"enabled\": false}"},
    {"bf16", "\"bf16\": {\"enabled\": true}"},
    {"fp16", "\"fp16\": {\"enabled\": true, \"initial_scale_power\": 18}"},
};

static double train(const struct sl_exec_ops *host, int precision, int seed, int64_t *skipped) {
  char config[512];
  struct grid_result r;
  snprintf(config, sizeof config,
           "{\"train_batch_size\": 8, %s, \"optimizer\": {\"type\": \"AdamW\", \"params\": {\"lr\": 0.001}}, "
           "\"zero_optimization\": {\"stage\": 2}, \"shardlab\": {\"seq_len\": 64, \"seed\": %d}}",
           precisions[precision].config, seed);
  const struct grid_run g = {.model = SL_SOURCE_DIR "/tests/mpi/gpt2_narrow.json",
                             .config = config,
                             .data = SL_SOURCE_DIR "/examples/corpus.txt",
                             .steps = LONG_STEPS};
  checked_train(&r, host, &g);
  *skipped = 0;
  for (int s = 0; s < LONG_STEPS; s++) *skipped += r.run.results[s].skipped;
  const double loss = learned(&r);
  grid_close(&r);
  return loss;
}

int main(int argc, char **argv) {
  const struct sl_exec_ops *host = checked_open(&argc, &argv);
  const int seeds = argc > 1 && strcmp(argv[1], "long") == 0 ? SEEDS : 1;
  for (int seed = 1; seed <= seeds; seed++) {
    double fp32 = 0;
    for (int p = 0; p < 3; p++) {
      int64_t skipped;
      const double loss = train(host, p, seed, &skipped);
      if (p == 0) fp32 = loss;
      expect(fabs(loss / fp32 - 1) <= 0.01, "mean loss of the last steps", loss, fp32, precisions[p].name);
      expect((p == 2) == (skipped > 0), "steps skipped while fp16 finds its scale", (double)skipped, p == 2,
             precisions[p].name);
      if (rank == 0)
        printf("seed %d, %s: mean loss of steps %d to %d %.5f (%+.3f%%), %lld steps skipped\n", seed,
               precisions[p].name, LONG_STEPS - TAIL + 1, LONG_STEPS, loss, 100 * (loss / fp32 - 1),
               (long long)skipped);
    }
  }
  return checked_close();
}
