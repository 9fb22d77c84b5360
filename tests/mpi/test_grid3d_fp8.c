/* Configurations of the equivalence grid (grid3d_draw.h), with linear layers in fp8 beside bf16. Codes of 8 bits magnify
 * roundings, so no loss is compared here: tests/mpi/test_fp8.c has bounds for that. Held against
 *   the dry run      sl_check passes
 *   the prediction   the arena's bytes; calls and bytes, row by row and in order
 *   a witness        where tests/witness is preloaded: bytes given to MPI, by group and step
 *   each other       ranks that share a pipeline rank's weights have the same scales and histories, bit for bit
 * and losses are numbers that fall within sight of those of fp32's first step. Every second has other settings of scaling.
 * usage: test_grid3d_fp8 [FIRST [COUNT]]: from configuration FIRST on; without COUNT that one alone */
#include "tests/mpi/grid3d.h"

#include "core/job/job.h"
#include "sim/sim.h"

/* Of each world, every EVERY-th configuration, COUNT in all. */
enum { EVERY = 3, COUNT = 30 };

struct grid3d grid3d;

void grid3d_expect(bool good, const char *what, double value, double bound) {
  grid3d.checks++;
  if (good || grid3d.failures++ >= 20) return;
  fprintf(stderr, "FAIL rank %d of %d: configuration %d: %s is %.10g, expected %.10g\n%s\n", grid3d.rank, grid3d.world,
          grid3d.now.index, what, value, bound, grid3d.now.config);
}

static void give_up(const char *why) {
  fprintf(stderr, "rank %d: configuration %d: %s\n%s\n", grid3d.rank, grid3d.now.index, why, grid3d.now.config);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Puts `keys` into the configuration, behind `at`. */
static void insert(const char *at, const char *keys) {
  char *config = grid3d.now.config, *place = strstr(config, at);
  const size_t size = sizeof grid3d.now.config, length = strlen(keys);
  if (place == NULL || strlen(config) + length >= size) give_up(at);
  place += strlen(at);
  memmove(place + length, place, strlen(place) + 1);
  memcpy(place, keys, length);
}

static void draw_in_fp8(int index) {
  draw_configuration(&grid3d.now, grid3d.world, index);
  insert("{", "\"bf16\": {\"enabled\": true}, ");
  insert("\"shardlab\": {",
         index % 2 ? "\"fp8\": true, \"fp8_format\": \"e4m3\", \"fp8_amax_history_len\": 7, " : "\"fp8\": true, ");
}

/* A schedule that would come from a file is generated: what is in one is the grid's business. */
static bool draws(int index) {
  draw_in_fp8(index);
  return grid3d.now.csv == 0;
}

/* ---- scales ---- */

/* The state of scaling of this rank, all of it, and its bytes. */
static char *read_state(const struct grid_result *r, enum sl_role role, int64_t *bytes) {
  const struct sl_class *c = &r->fixture.job.classes[sl_job_class_of(&r->fixture.job, grid3d.rank)];
  *bytes = c->role[role].form == SL_FORM_ABSENT ? 0 : c->buffers[c->role[role].buffer].bytes;
  char *state = calloc(1, (size_t)*bytes + 1);
  if (*bytes > 0 && r->run.exec->read(r->run.state, 0, c->role[role].buffer, 0, *bytes, state) != SL_OK)
    give_up(sl_error_message());
  return state;
}

static void compare_scales(const struct grid_result *r) {
  MPI_Comm peers;
  MPI_Comm_split(MPI_COMM_WORLD, sl_plan_coord(&r->fixture.plan, grid3d.rank).pp, grid3d.rank, &peers);
  for (enum sl_role role = SL_ROLE_FP8_SCALE; role <= SL_ROLE_FP8_HISTORY; role++) {
    int64_t bytes;
    char *mine = read_state(r, role, &bytes), *first = calloc(1, (size_t)bytes + 1);
    memcpy(first, mine, (size_t)bytes);
    MPI_Bcast(first, (int)bytes, MPI_BYTE, 0, peers);
    grid3d_expect(memcmp(first, mine, (size_t)bytes) == 0, "the state of scaling, as the first rank's", 1, 0);
    free(first);
    free(mine);
  }
  MPI_Comm_free(&peers);
}

/* ---- a run ---- */

static void after_step(void *context, int64_t step, const struct sl_step_result *result) {
  (void)result;
  grid3d_take_counts(context, step);
}

static enum sl_status predict(const struct grid_result *r, struct sl_run *simulated) {
  *simulated = (struct sl_run){
      .exec = &sl_exec_sim, .job = &r->fixture.job, .steps = 1, .options = {.fail_rank = -1, .fail_step = -1}};
  if (grid3d.rank != 0) return SL_OK;
  SL_TRY(sl_check(&r->fixture.job));
  return sl_run_execute(simulated);
}

static void compare_losses(const struct grid_result *r) {
  for (int s = 0; s < STEPS; s++) {
    const double loss = r->run.results[s].loss, first = r->run.results[0].loss;
    grid3d_expect(loss > 0 && loss < 2 * first, "loss, as the first step's or less", loss, first);
  }
}

static void run_configuration(const struct sl_exec_ops *host) {
  struct grid_result r = {0};
  struct sl_run simulated;
  grid3d_sent sent = {{0}};
  if (fixture_open(&r.fixture, draw_models[grid3d.now.model].file, grid3d.now.config, "localhost", grid3d.world,
                   NULL) != SL_OK)
    give_up(sl_error_message());
  if (predict(&r, &simulated) != SL_OK) give_up(sl_error_message());
  r.run = (struct sl_run){.exec = host,
                          .job = &r.fixture.job,
                          .steps = STEPS,
                          .options = {.data = draw_models[grid3d.now.model].data,
                                      .val_split = 0.25,
                                      .poison = grid3d.now.poison,
                                      .threads = 1,
                                      .fail_rank = -1,
                                      .fail_step = -1},
                          .progress = after_step,
                          .progress_context = sent};
  if (sl_run_execute(&r.run) != SL_OK) give_up(sl_error_message());
  compare_losses(&r);
  compare_scales(&r);
  grid3d_compare_memory(&r);
  grid3d_compare_traffic(&r, &simulated);
  grid3d_compare_witness(&r, sent);
  sl_run_close(&r.run);
  sl_run_close(&simulated);
  fixture_close(&r.fixture);
}

int main(int argc, char **argv) {
  const struct sl_exec_ops *host;
  const int first = argc > 1 ? atoi(argv[1]) : 0, count = argc > 2 ? atoi(argv[2]) : argc > 1 ? 1 : COUNT;
  int done = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &grid3d.world);
  MPI_Comm_rank(MPI_COMM_WORLD, &grid3d.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &grid3d.world);
  const bool witness = grid3d_find_witness();
  if (sl_exec_load("host", &host) != SL_OK) give_up(sl_error_message());
  for (int i = first; done < count; i += EVERY) {
    if (!draws(i)) continue;
    run_configuration(host);
    done++;
  }
  MPI_Allreduce(MPI_IN_PLACE, &grid3d.failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (grid3d.rank == 0)
    printf("world %d: %d configurations, %d checks on the first rank%s, %d failures\n", grid3d.world, done,
           grid3d.checks, witness ? " with the witness" : "", grid3d.failures);
  MPI_Finalize();
  return grid3d.failures > 0;
}
