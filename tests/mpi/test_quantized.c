/* ZeRO++'s quantised transfers, on 4 and 6 ranks that are nodes of two: gradients that went through 4 bits twice are
 * close to those that did not, and vectors, which are not quantised, have their bits; weights that were gathered in 8
 * bits train as the others do; the same run gives the same bits. All with poison, so that a packed buffer that is given
 * up too soon shows. With the argument "long": 200 steps from three seeds, whose mean loss of the last 20 is within 1 %
 * of the plain run's. */
#include "tests/mpi/checked.h"

enum { STEPS = 3 };

static void train(struct grid_result *r, const struct sl_exec_ops *host, const char *config, int steps) {
  const struct grid_run g = {.model = SL_SOURCE_DIR "/tests/mpi/gpt2_narrow.json",
                             .config = config,
                             .data = SL_SOURCE_DIR "/examples/corpus.txt",
                             .steps = steps,
                             .poison = steps <= STEPS,
                             .cluster = SL_SOURCE_DIR "/tests/mpi/nodes_of_two.json"};
  checked_train(r, host, &g);
}

#define WEIGHTS ", \"zero_quantized_weights\": true"
#define GRADIENTS ", \"zero_quantized_gradients\": true"

static void config_of(char *out, size_t size, const char *zero, const char *more, int seed, const char *sl) {
  snprintf(out, size,
           "{\"train_micro_batch_size_per_gpu\": 2, \"gradient_accumulation_steps\": 2, \"gradient_clipping\": 1.0, "
           "\"optimizer\": {\"type\": \"AdamW\", \"params\": {\"lr\": 0.001}}, \"zero_optimization\": {\"stage\": 3, "
           "\"stage3_param_persistence_threshold\": 100, \"stage3_prefetch_bucket_size\": 20000, "
           "\"stage3_max_reuse_distance\": 0%s%s}%s, \"shardlab\": {\"seq_len\": 32, \"seed\": %d}}",
           zero, more, sl, seed);
}

/* What training in other ways may cost: of a tensor's gradient in norm, of the losses. */
static const struct {
  const char *zero, *more, *sl; /* of both runs; of the second; another section of both */
  double gradient, loss;
  bool vectors; /* keep their bits */
} cases[] = {
    {"", GRADIENTS, "", 0.12, 0.002, true},
    {", \"overlap_comm\": false, \"reduce_bucket_size\": 9000", GRADIENTS, "", 0.12, 0.002, true},
    {"", WEIGHTS, "", 0.03, 0.002, false},
    {", \"overlap_comm\": false", WEIGHTS, "", 0.03, 0.002, false},
    {"", WEIGHTS ", \"zero_hpz_partition_size\": 2" GRADIENTS, "", 0.13, 0.002, false},
    {"", WEIGHTS GRADIENTS, ", \"bf16\": {\"enabled\": true}", 0.13, 0.004, false},
    {"", WEIGHTS GRADIENTS, ", \"fp16\": {\"enabled\": true, \"loss_scale\": 256}", 0.13, 0.004, false},
    {", \"offload_param\": {\"device\": \"cpu\"}, \"offload_optimizer\": {\"device\": \"cpu\"}", WEIGHTS GRADIENTS, "",
     0.13, 0.002, false},
};

static void compare(const struct sl_exec_ops *host, int at) {
  struct grid_result plain, other, again;
  char config[2][1024];
  double worst = 0;
  config_of(config[0], sizeof config[0], cases[at].zero, "", 7, cases[at].sl);
  config_of(config[1], sizeof config[1], cases[at].zero, cases[at].more, 7, cases[at].sl);
  train(&plain, host, config[0], 1);
  train(&other, host, config[1], 1);
  const struct sl_model *m = &plain.fixture.model;
  for (int i = 0; i < m->tensor_count; i++) {
    const size_t bytes = (size_t)m->tensors[i].numel * sizeof(float);
    float *a = malloc(bytes), *b = malloc(bytes);
    grid_tensor(&plain, rank, SL_ROLE_GRAD, i, a);
    grid_tensor(&other, rank, SL_ROLE_GRAD, i, b);
    const double distance = grid_distance(b, a, m->tensors[i].numel);
    expect(distance <= cases[at].gradient, m->tensors[i].name, distance, cases[at].gradient, config[1]);
    if (cases[at].vectors && m->tensors[i].n_dim == 1)
      expect(memcmp(a, b, bytes) == 0, "a vector differs", distance, 0, config[1]);
    if (distance > worst) worst = distance;
    free(a), free(b);
  }
  expect(worst > 1e-4, "nothing was quantised", worst, 1e-4, config[1]);
  grid_close(&plain), grid_close(&other);
  train(&plain, host, config[0], STEPS);
  train(&other, host, config[1], STEPS);
  train(&again, host, config[1], STEPS);
  for (int s = 0; s < STEPS; s++) {
    const double a = plain.run.results[s].loss, b = other.run.results[s].loss;
    expect(fabs(b / a - 1) <= cases[at].loss, "loss", b, a, config[1]);
    expect(b == again.run.results[s].loss, "the loss of the same run again", again.run.results[s].loss, b, config[1]);
  }
  if (rank == 0) printf("%s%s: gradients differ by at most %.4f\n", cases[at].more, cases[at].sl, worst);
  grid_close(&plain), grid_close(&other), grid_close(&again);
}

static double learned_by(const struct sl_exec_ops *host, const char *more, const char *sl, int seed) {
  struct grid_result r;
  char config[1024];
  config_of(config, sizeof config, "", more, seed, sl);
  train(&r, host, config, LONG_STEPS);
  const double loss = learned(&r);
  grid_close(&r);
  return loss;
}

static void learns_as_the_plain_run(const struct sl_exec_ops *host) {
  static const char *const ways[] = {WEIGHTS, GRADIENTS, WEIGHTS GRADIENTS ", \"zero_hpz_partition_size\": 2"};
  static const char *const types[] = {"", ", \"bf16\": {\"enabled\": true}"};
  for (int seed = 1; seed <= SEEDS; seed++) {
    for (int t = 0; t < 2; t++) {
      const double plain = learned_by(host, "", types[t], seed);
      for (int w = 0; w < 3; w++) {
        const double loss = learned_by(host, ways[w], types[t], seed);
        expect(fabs(loss / plain - 1) <= 0.01, "loss after 200 steps", loss, plain, ways[w]);
        if (rank == 0)
          printf("seed %d%s%s: loss %.4f, plain %.4f, %+.2f %%\n", seed, types[t], ways[w], loss, plain,
                 100 * (loss / plain - 1));
      }
    }
  }
}

int main(int argc, char **argv) {
  const struct sl_exec_ops *host = checked_open(&argc, &argv);
  if (argc > 1)
    learns_as_the_plain_run(host);
  else
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i += world == 4 ? 1 : 4) compare(host, (int)i);
  return checked_close();
}
