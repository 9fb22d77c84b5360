/* 1-bit Adam: up to freeze_step the bits of AdamW without bias correction, whatever bias_correction says; behind it the
 * same run gives the same bits, and what a step adds to the momentum is in the new momentum and in the errors that are
 * kept, to the last element, of any way to cut the job. All with poison. With the argument "long": 200 steps from three
 * seeds, whose mean loss of the last 20 is within 1 % of AdamW's, and 200 steps that end at freeze_step, whose losses
 * are the bits of AdamW's without bias correction. */
#include "core/op/quantized.h"
#include "tests/mpi/checked.h"

enum { STEPS = 6, FREEZE = 3, LONG_FREEZE = 140 };

static void train(struct grid_result *r, const struct sl_exec_ops *host, const char *config, int steps) {
  const struct grid_run g = {.model = SL_SOURCE_DIR "/tests/mpi/gpt2_narrow.json",
                             .config = config,
                             .data = SL_SOURCE_DIR "/examples/corpus.txt",
                             .steps = steps,
                             .poison = steps <= STEPS};
  checked_train(r, host, &g);
}

static void config_of(char *out, size_t size, const char *type, const char *params, const char *more, int seed,
                      const char *sl) {
  snprintf(out, size,
           "{\"train_micro_batch_size_per_gpu\": 2, \"gradient_accumulation_steps\": 2, \"gradient_clipping\": 1.0%s, "
           "\"optimizer\": {\"type\": \"%s\", \"params\": {\"lr\": 0.001, \"betas\": [0.9, 0.95]%s}}, "
           "\"shardlab\": {\"seq_len\": 32, \"seed\": %d%s}}",
           more, type, params, seed, sl);
}

/* How far the losses of compressed steps may be from AdamW's. */
static const struct {
  const char *more, *sl;
  double loss;
} cases[] = {
    {"", "", 0.1},
    {", \"bf16\": {\"enabled\": true}", "", 0.1},
    {", \"fp16\": {\"enabled\": true, \"loss_scale\": 256}", "", 0.1},
    {"", ", \"pp\": 2", 0.1},
    {"", ", \"tp\": 2, \"sequence_parallel\": true", 0.1},
};

static void compare(const struct sl_exec_ops *host, int at) {
  struct grid_result plain, other, again;
  char config[2][1024], freeze[64];
  snprintf(freeze, sizeof freeze, ", \"freeze_step\": %d", FREEZE);
  config_of(config[0], sizeof config[0], "AdamW", ", \"bias_correction\": false", cases[at].more, 7, cases[at].sl);
  config_of(config[1], sizeof config[1], "OneBitAdam", freeze, cases[at].more, 7, cases[at].sl);
  train(&plain, host, config[0], STEPS);
  train(&other, host, config[1], STEPS);
  train(&again, host, config[1], STEPS);
  for (int s = 0; s < STEPS; s++) {
    const struct sl_step_result *a = &plain.run.results[s], *b = &other.run.results[s], *c = &again.run.results[s];
    expect((b->program == SL_PROGRAM_COMPRESSED) == (s >= FREEZE), "a step's program", b->program, s, config[1]);
    /* the loss of the first compressed step is of parameters that warm-up made */
    if (s <= FREEZE) expect(a->loss == b->loss, "loss of the warm-up", b->loss, a->loss, config[1]);
    if (s < FREEZE) expect(a->grad_norm == b->grad_norm, "norm of the warm-up", b->grad_norm, a->grad_norm, config[1]);
    expect(fabs(b->loss / a->loss - 1) <= cases[at].loss, "loss", b->loss, a->loss, config[1]);
    expect(b->loss == c->loss, "the loss of the same run again", c->loss, b->loss, config[1]);
  }
  expect(other.run.results[STEPS - 1].loss != plain.run.results[STEPS - 1].loss, "nothing was compressed", 0, 1,
         config[1]);
  /* a rank's own gradient is longer than the mean of all */
  const double own = other.run.results[FREEZE].grad_norm, mean = plain.run.results[FREEZE].grad_norm;
  if (other.fixture.plan.dp > 1) expect(own > mean && own < 4 * mean, "norm", own, mean, config[1]);
  grid_close(&plain), grid_close(&other), grid_close(&again);
}

/* Of a run that ends at freeze_step every loss and norm has the bits of AdamW without bias correction. */
static void never_compressed(const struct sl_exec_ops *host, const char *more, const char *sl, int steps) {
  struct grid_result plain, other;
  char config[2][1024], params[96];
  snprintf(params, sizeof params, ", \"bias_correction\": true, \"freeze_step\": %d", steps);
  config_of(config[0], sizeof config[0], "AdamW", ", \"bias_correction\": false", more, 7, sl);
  config_of(config[1], sizeof config[1], "OneBitAdam", params, more, 7, sl);
  train(&plain, host, config[0], steps);
  train(&other, host, config[1], steps);
  for (int s = 0; s < steps; s++) {
    const struct sl_step_result *a = &plain.run.results[s], *b = &other.run.results[s];
    expect(b->program != SL_PROGRAM_COMPRESSED, "a step that is not compressed", b->program, s, config[1]);
    expect(a->loss == b->loss, "loss before freeze_step", b->loss, a->loss, config[1]);
    expect(a->grad_norm == b->grad_norm, "norm before freeze_step", b->grad_norm, a->grad_norm, config[1]);
  }
  grid_close(&plain), grid_close(&other);
}

/* ---- nothing is lost ---- */

/* A buffer of this rank; count elements. */
static float *floats_of(const struct grid_result *r, int32_t buffer, size_t *count) {
  const struct sl_class *c = &r->fixture.job.classes[sl_job_class_of(&r->fixture.job, rank)];
  const int64_t bytes = c->buffers[buffer].bytes;
  float *x = malloc((size_t)bytes);
  if (x == NULL || r->run.exec->read(r->run.state, 0, buffer, 0, bytes, x) != SL_OK) give_up("a buffer");
  *count = (size_t)bytes / sizeof *x;
  return x;
}

static float *named(const struct grid_result *r, const char *name) {
  const struct sl_class *c = &r->fixture.job.classes[sl_job_class_of(&r->fixture.job, rank)];
  size_t count;
  for (size_t i = 0; i < c->buffer_count; i++)
    if (strcmp(c->buffers[i].name, name) == 0) return floats_of(r, (int32_t)i, &count);
  give_up(name);
  return NULL;
}

/* Per element of the flat space: the momentum, what errors of all data-parallel ranks keep of it, and the sum of their
 * gradients. */
struct kept {
  size_t n;
  double *momentum, *error, *gradient;
};

static double *summed(const float *x, size_t n, MPI_Comm peers) {
  double *sum = calloc(n, sizeof *sum);
  for (size_t i = 0; i < n; i++) sum[i] = (double)x[i];
  MPI_Allreduce(MPI_IN_PLACE, sum, (int)n, MPI_DOUBLE, MPI_SUM, peers);
  return sum;
}

static struct kept look(const struct grid_result *r, MPI_Comm peers) {
  const struct sl_job *job = &r->fixture.job;
  const struct sl_class *c = &job->classes[sl_job_class_of(job, rank)];
  const struct sl_pp_rank *pp = &job->plan->pp_ranks[c->pp_rank];
  const int members = job->plan->dp;
  size_t worker_at = 0, server_at = 0, n;
  int own;
  MPI_Comm_rank(peers, &own);
  float *m = floats_of(r, c->role[SL_ROLE_MOMENT1].buffer, &n), *worker = named(r, "worker_error");
  float *server = named(r, "server_error"), *gradient = floats_of(r, c->role[SL_ROLE_GRAD].buffer, &n);
  float *error = calloc(n, sizeof *error);
  for (int i = 0; i < pp->tensor_count; i++) {
    const struct sl_placed *t = &pp->tensors[i];
    const size_t chunk = (size_t)sl_sign_chunk(t->numel, members);
    for (size_t k = 0; k < (size_t)t->numel; k++) {
      error[(size_t)t->flat + k] = worker[worker_at + k] / (float)members;
      if ((int)(k / chunk) == own) error[(size_t)t->flat + k] += server[server_at + k % chunk];
    }
    worker_at += chunk * (size_t)members, server_at += chunk;
  }
  struct kept out = {.n = n, .error = summed(error, n, peers), .gradient = summed(gradient, n, peers)};
  out.momentum = calloc(n, sizeof *out.momentum);
  for (size_t i = 0; i < n; i++) out.momentum[i] = (double)m[i];
  free(m), free(worker), free(server), free(gradient), free(error);
  return out;
}

/* New momentum + new errors = beta1 momentum + (1 - beta1) mean gradient + errors: of the first compressed step and the
 * next. */
static void nothing_is_lost(const struct sl_exec_ops *host, const char *sl) {
  char config[1024], freeze[64];
  struct kept kept[3];
  MPI_Comm peers;
  snprintf(freeze, sizeof freeze, ", \"freeze_step\": %d", FREEZE);
  config_of(config, sizeof config, "OneBitAdam", freeze, "", 7, sl);
  char *clip = strstr(config, "\"gradient_clipping\": 1.0");
  memcpy(clip, "\"gradient_clipping\": 0.0", strlen("\"gradient_clipping\": 0.0"));
  for (int k = 0; k < 3; k++) {
    struct grid_result r;
    train(&r, host, config, FREEZE + k);
    const struct sl_members m = sl_plan_group(&r.fixture.plan, SL_GROUP_DP, rank);
    MPI_Comm_split(MPI_COMM_WORLD, m.id, rank, &peers);
    kept[k] = look(&r, peers);
    MPI_Comm_free(&peers);
    grid_close(&r);
  }
  for (int k = 1; k < 3; k++) {
    const struct kept *a = &kept[k - 1], *b = &kept[k];
    double wrong = 0, size = 0, compressed = 0;
    for (size_t i = 0; i < b->n; i++) {
      const double wanted = 0.9 * a->momentum[i] + 0.1 * b->gradient[i] + a->error[i];
      const double masked = b->momentum[i] == 0; /* never had a gradient: its bit is not used */
      wrong += masked ? 0 : pow(b->momentum[i] + b->error[i] - wanted, 2);
      size += wanted * wanted, compressed += pow(b->error[i], 2);
    }
    expect(sqrt(wrong / size) < 1e-5, "momentum and errors", sqrt(wrong / size), 1e-5, config);
    expect(sqrt(compressed / size) > 0.1, "errors", sqrt(compressed / size), 0.1, config);
  }
  for (int k = 0; k < 3; k++) free(kept[k].momentum), free(kept[k].error), free(kept[k].gradient);
}

static double learned_by(const struct sl_exec_ops *host, const char *type, const char *params, const char *more,
                         int seed) {
  struct grid_result r;
  char config[1024];
  config_of(config, sizeof config, type, params, more, seed, "");
  train(&r, host, config, LONG_STEPS);
  const double loss = learned(&r);
  grid_close(&r);
  return loss;
}

static void learns_as_adam(const struct sl_exec_ops *host) {
  char freeze[64];
  snprintf(freeze, sizeof freeze, ", \"freeze_step\": %d", LONG_FREEZE);
  for (int seed = 1; seed <= SEEDS; seed++) {
    for (int bf16 = 0; bf16 < 2; bf16++) {
      const char *more = bf16 ? ", \"bf16\": {\"enabled\": true}" : "";
      const double plain = learned_by(host, "AdamW", "", more, seed);
      const double loss = learned_by(host, "OneBitAdam", freeze, more, seed);
      expect(fabs(loss / plain - 1) <= 0.01, "loss after 200 steps", loss, plain, more);
      if (rank == 0)
        printf("seed %d%s: loss %.4f, AdamW %.4f, %+.2f %%\n", seed, more, loss, plain, 100 * (loss / plain - 1));
    }
  }
}

int main(int argc, char **argv) {
  const struct sl_exec_ops *host = checked_open(&argc, &argv);
  if (argc > 1) {
    learns_as_adam(host);
    never_compressed(host, "", "", LONG_STEPS);
  } else {
    for (size_t i = 0; i < (world == 4 ? sizeof cases / sizeof *cases : 1); i++) {
      compare(host, (int)i);
      never_compressed(host, cases[i].more, cases[i].sl, STEPS);
    }
  }
  if (argc == 1 && world > 1) nothing_is_lost(host, "");
  if (argc == 1 && world == 4) nothing_is_lost(host, ", \"pp\": 2"), nothing_is_lost(host, ", \"tp\": 2");
  return checked_close();
}
