/* Training in every order of the axes: which ranks share a node does not change what is computed, so losses and
 * gradient norms are those of the default order, and each rank sends, along every axis, the bytes that its prediction
 * says and that its coordinates send in the default order. */
#include "sim/sim.h"
#include "tests/mpi/grid.h"

enum { STEPS = 3, RANKS = 8 };

static int rank, failures;

static void expect(bool good, const char *what, const char *config) {
  if (good) return;
  failures++;
  fprintf(stderr, "FAIL rank %d: %s\n  config %s\n", rank, what, config);
}

static const char *const orders[] = {"tp-dp-pp", "tp-pp-dp", "dp-tp-pp", "dp-pp-tp", "pp-tp-dp", "pp-dp-tp"};
static const char *const zero[] = {"\"stage\": 1", "\"stage\": 3, \"stage3_param_persistence_threshold\": 30"};
enum { ORDERS = sizeof orders / sizeof *orders, STAGES = sizeof zero / sizeof *zero };

/* Of one run: losses, norms, and by place in the default order the bytes on the wire of each group. */
struct told {
  double loss[STEPS], norm[STEPS];
  int64_t wire[RANKS][SL_GROUP_COUNT];
};

static void sum_wire(const struct sl_exec_report *report, int64_t wire[SL_GROUP_COUNT]) {
  memset(wire, 0, SL_GROUP_COUNT * sizeof *wire);
  for (int i = 0; i < report->traffic_count; i++) wire[report->traffic[i].group] += report->traffic[i].wire_bytes;
}

/* The prediction of every rank, against what this one has measured. */
static void hold_against_prediction(const struct grid_result *r, const int64_t wire[SL_GROUP_COUNT],
                                    const char *config) {
  struct sl_run run = {.exec = &sl_exec_sim, .job = &r->fixture.job, .steps = 1, .options = {.fail_rank = -1}};
  int64_t predicted[SL_GROUP_COUNT];
  expect(sl_run_execute(&run) == SL_OK, "no prediction", config);
  sum_wire(&run.reports[rank], predicted);
  for (int g = 0; g < SL_GROUP_COUNT; g++) expect(predicted[g] == wire[g], sl_group_name((enum sl_group)g), config);
  sl_run_close(&run);
}

static void train(const struct sl_exec_ops *host, const char *order, const char *stage, struct told *out) {
  struct grid_result r;
  char config[768];
  int64_t wire[SL_GROUP_COUNT];
  snprintf(config, sizeof config,
           "{\"train_micro_batch_size_per_gpu\": 2, \"gradient_accumulation_steps\": 4, \"gradient_clipping\": 0.5, "
           "\"optimizer\": {\"type\": \"AdamW\", \"params\": {\"lr\": 0.003}}, \"zero_optimization\": {%s}, "
           "\"shardlab\": {\"seq_len\": 7, \"tp\": 2, \"pp\": 2, \"rank_order\": \"%s\"}}",
           stage, order);
  const struct grid_run g = {SL_SOURCE_DIR "/tests/mpi/gpt2_dropout_even.json",
                             config,
                             SL_SOURCE_DIR "/tests/golden/gpt2_odd/tokens.bin",
                             NULL,
                             STEPS,
                             false,
                             NULL};
  if (grid_execute(&r, host, &g, RANKS) != SL_OK) {
    fprintf(stderr, "rank %d: %s\n  config %s\n", rank, sl_error_message(), config);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  for (int s = 0; s < STEPS; s++) out->loss[s] = r.run.results[s].loss, out->norm[s] = r.run.results[s].grad_norm;
  sum_wire(&r.run.reports[0], wire);
  hold_against_prediction(&r, wire, config);
  const struct sl_coord at = sl_plan_coord(&r.fixture.plan, rank);
  const int place = at.tp + 2 * at.dp + 4 * at.pp;
  memset(out->wire, 0, sizeof out->wire);
  memcpy(out->wire[place], wire, sizeof wire);
  MPI_Allreduce(MPI_IN_PLACE, out->wire, RANKS * SL_GROUP_COUNT, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  grid_close(&r);
}

/* The world's sums are formed in another order: their last bits may differ, and the shares of a ring that does not come
 * out even go by its members' numbers. */
static void compare(const struct told *usual, const struct told *other, const char *order) {
  for (int s = 0; s < STEPS; s++) {
    expect(isfinite(other->loss[s]) && fabs(other->loss[s] - usual->loss[s]) < 1e-7 * usual->loss[s], "a loss differs",
           order);
    expect(fabs(other->norm[s] - usual->norm[s]) < 1e-6 * usual->norm[s], "a gradient norm differs", order);
  }
  for (int g = SL_GROUP_NONE; g < SL_GROUP_COUNT; g++) {
    int64_t sums[2] = {0, 0};
    for (int place = 0; place < RANKS; place++) {
      const bool same = usual->wire[place][g] == other->wire[place][g];
      expect(same || g == SL_GROUP_WORLD, sl_group_name((enum sl_group)g), order);
      sums[0] += usual->wire[place][g], sums[1] += other->wire[place][g];
    }
    expect(sums[0] == sums[1], "bytes of all ranks", order);
  }
}

int main(int argc, char **argv) {
  const struct sl_exec_ops *host;
  int world;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &world);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world);
  if (world != RANKS || sl_exec_load("host", &host) != SL_OK) {
    fprintf(stderr, "%d ranks: %s\n", world, sl_error_message());
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  for (int i = 0; i < STAGES; i++) {
    struct told usual, other;
    train(host, orders[0], zero[i], &usual);
    for (int order = 1; order < ORDERS; order++) {
      train(host, orders[order], zero[i], &other);
      compare(&usual, &other, orders[order]);
    }
  }
  if (rank == 0) printf("%d orders, %d stages, %d failures\n", ORDERS, STAGES, failures);
  MPI_Finalize();
  return failures > 0;
}
