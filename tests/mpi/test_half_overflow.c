/* Overflows in fp16, for every way of sharding: one anywhere skips the step everywhere and changes no state, and the
 * loss scale finds its level by DeepSpeed's rule, the same on all ranks. */
#include "tests/mpi/half.h"

static void overflow_config(char *out, size_t size, int strategy, const char *fp16) {
  snprintf(
      out, size,
      "{\"train_batch_size\": %d, \"gradient_clipping\": 0, \"fp16\": {\"enabled\": true, %s}, \"optimizer\": "
      "{\"type\": \"AdamW\", \"params\": {\"lr\": 0.003}}, \"zero_optimization\": {%s}, \"shardlab\": {\"preset\": "
      "\"%s\", \"seq_len\": 17, \"shuffle\": false}}",
      BATCH, fp16, strategies[strategy].zero, strategies[strategy].preset);
}

/* Is a step's outcome the same on all ranks? */
static bool agreed(double value) {
  double range[2] = {value, -value};
  MPI_Allreduce(MPI_IN_PLACE, range, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return range[0] == -range[1];
}

/* The sum of a role's elements over all ranks and tensors, weighted so that no change goes unseen. */
/* A number of a state; 0 if there is none. */
static double fingerprint(struct grid_result *r, enum sl_role role) {
  double sum = 0;
  if (r->fixture.job.classes[0].role[role].form == SL_FORM_ABSENT) return 0;
  for (int i = 0; i < r->fixture.plan.pp_ranks[0].tensor_count; i++) {
    const int64_t n = r->fixture.plan.pp_ranks[0].tensors[i].numel;
    float *all = calloc((size_t)n, sizeof *all);
    grid_tensor(r, rank, role, r->fixture.plan.pp_ranks[0].tensors[i].tensor, all);
    for (int64_t k = 0; k < n; k++) sum += (double)all[k] * (1 + fmod((double)(k + 7 * i) * 0.618034, 1));
    free(all);
  }
  return sum;
}

/* A scale of 2^26: DeepSpeed's rule with hysteresis 2 skips until it fits, every rank the same; then training goes
 * on. */
static void scale_finds_its_level(const struct sl_exec_ops *host, int strategy, bool consecutive) {
  enum { N = 14 };
  struct grid_result r;
  char config[2048];
  double expected = 0x1p26;
  int hysteresis = 2, skipped = 0;
  overflow_config(config, sizeof config, strategy,
                  consecutive
                      ? "\"initial_scale_power\": 26, \"consecutive_hysteresis\": true, \"loss_scale_window\": 100"
                      : "\"initial_scale_power\": 26, \"loss_scale_window\": 100");
  train(&r, host, config, N, false);
  for (int s = 0; s < N; s++) {
    const struct sl_step_result *step = &r.run.results[s];
    expect(agreed(step->skipped) && agreed(step->loss_scale), "skip and scale agree over ranks in step", s, -1, config);
    if (step->skipped) {
      if (hysteresis == 1) expected /= 2;
      if (hysteresis > 1) hysteresis--;
      skipped++;
    } else if (consecutive) {
      hysteresis = 2;
    }
    expect(step->loss_scale == expected, "loss scale", step->loss_scale, expected, config);
  }
  expect(r.run.results[0].skipped && r.run.results[1].skipped && skipped <= 9, "skipped steps", skipped, 9, config);
  expect(!r.run.results[N - 1].skipped, "the last step is skipped", 1, 0, config);
  expect(r.run.results[N - 1].loss < 0.97 * r.run.results[0].loss, "last loss", r.run.results[N - 1].loss,
         0.97 * r.run.results[0].loss, config);
  grid_close(&r);
}

/* Parameters, masters and moments after a skipped step are what they were before the first. */
static void skipped_step_changes_nothing(const struct sl_exec_ops *host, int strategy) {
  static const enum sl_role roles[] = {SL_ROLE_PARAM, SL_ROLE_MASTER, SL_ROLE_MOMENT1, SL_ROLE_MOMENT2};
  double before[4], after[4];
  struct grid_result r;
  char config[2048];
  for (int steps = 0; steps <= 2; steps += 2) {
    overflow_config(config, sizeof config, strategy, "\"initial_scale_power\": 30");
    train(&r, host, config, steps, false);
    for (int k = 0; k < 4; k++) (steps == 0 ? before : after)[k] = fingerprint(&r, roles[k]);
    if (steps > 0) expect(r.run.results[0].skipped && r.run.results[1].skipped, "not skipped", 1, 0, config);
    grid_close(&r);
  }
  for (int k = 0; k < 4; k++) expect(after[k] == before[k], "a state after skipped steps", after[k], before[k], config);
}

static int64_t overflowed(struct grid_result *r) {
  int64_t count = 0;
  for (int i = 0; i < r->fixture.plan.pp_ranks[0].tensor_count; i++) {
    float *piece = calloc((size_t)r->fixture.plan.pp_ranks[0].tensors[i].numel, sizeof *piece);
    grid_piece(r, rank, SL_ROLE_GRAD, i, piece);
    for (int64_t k = 0; k < r->fixture.plan.pp_ranks[0].tensors[i].numel; k++) count += !isfinite(piece[k]);
    free(piece);
  }
  return count;
}

/* The smallest scale that overflows at all does so in few elements, which only some ranks own: all skip
 * nevertheless. */
static void one_ranks_overflow_is_everyones(const struct sl_exec_ops *host) {
  struct grid_result r;
  char config[2048], fp16[64];
  bool found = false;
  for (double scale = 0x1p15; !found && scale < 0x1p30; scale *= 1.3) {
    snprintf(fp16, sizeof fp16, "\"loss_scale\": %.1f", floor(scale));
    overflow_config(config, sizeof config, 2, fp16);
    train(&r, host, config, 1, false);
    int mine = overflowed(&r) > 0, ranks = 0;
    MPI_Allreduce(&mine, &ranks, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    expect(agreed(r.run.results[0].skipped), "skip agrees over ranks", scale, -1, config);
    expect(r.run.results[0].skipped == (ranks > 0), "skipped without an overflow, or not with one", ranks, 0, config);
    found = ranks > 0;
    if (found && world > 1) expect(ranks < world, "ranks with an overflow of their own", ranks, world - 1, config);
    grid_close(&r);
  }
  expect(found, "a scale that overflows", found, 1, config);
}

int main(int argc, char **argv) {
  const struct sl_exec_ops *host = checked_open(&argc, &argv);
  for (int s = 0; s < STRATEGIES; s++) {
    scale_finds_its_level(host, s, s % 2 == 1);
    skipped_step_changes_nothing(host, s);
  }
  one_ranks_overflow_is_everyones(host);
  return checked_close();
}
