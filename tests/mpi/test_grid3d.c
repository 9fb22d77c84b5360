/* The equivalence grid: every (ZeRO stage or preset, dp, tp, pp, schedule, recomputation ...) trains as one rank does.
 *
 * Run on one rank it first writes the reference: losses, gradient norms and gradients of every problem (grid3d_draw.h) that
 * any world's configurations ask for. Then, and on several ranks only, it trains the configurations of its world and holds
 * each against
 *   one rank        losses <= 1e-6 (every fourth: a validation loss too), gradient norm <= 1e-5, every gradient tensor <= 1e-5 in
 *                   norm, relative, on all of its replicas; padding is zero
 *   the dry run     sl_check passes
 *   the prediction  the arena's bytes; what the categories of states must hold; calls and bytes, row by row and in order
 *   a witness       where tests/witness is preloaded: bytes given to MPI, by group and step
 * Half of them run with poisoned memory. A configuration that fails prints itself as a command line.
 * usage: test_grid3d REFERENCE [--long] [--only INDEX] [--part I/N] [--read] [--problem P] [--stop]
 *   --only       this configuration of the world's endless list, whatever the length of the run
 *   --read       one rank, too, only reads the reference
 *   --stop       after the first configuration that fails
 *   --problem    one rank only writes the reference of this problem */
#include "tests/mpi/grid3d.h"

#include <signal.h>
#include <unistd.h>

#include "core/job/job.h"
#include "sim/sim.h"

static const double LOSS_BOUND = 1e-6, NORM_BOUND = 1e-5, GRADIENT_BOUND = 1e-5;

/* Configurations of each world. */
static const struct {
  int world, count, count_long;
} worlds[] = {{1, 20, 130}, {2, 120, 480}, {3, 72, 260}, {4, 140, 540},
              {5, 20, 90},  {6, 48, 240},  {7, 12, 40},  {8, 56, 220}};
enum { WORLDS = sizeof worlds / sizeof *worlds };
enum { LEAST = 3 }; /* configurations that have a thing, of each thing that can be drawn */

struct grid3d grid3d;
static bool told;        /* the configuration at hand has been printed */
static bool has_witness; /* of MPI calls: tests/witness is preloaded */

/* --- telling --- */

/* Lines for a shell: this test again, first making the reference of this configuration alone; and the program itself,
 * which compares nothing. */
static void tell_command(FILE *out) {
  const struct draw *d = &grid3d.now;
  const struct draw_model *m = &draw_models[d->model];
  const char *preload = getenv("LD_PRELOAD");
  char self[4096] = "", run[256];
  if (readlink("/proc/self/exe", self, sizeof self - 1) < 0) snprintf(self, sizeof self, "test_grid3d");
  snprintf(run, sizeof run,
           "OMP_NUM_THREADS=1 mpirun --bind-to none --oversubscribe --mca pml ob1 --mca btl self,vader");
  fprintf(out, "  configuration %d of world %d: %s, tp %d pp %d dp %d cp %d, %s, %s, %d micro-batches; alone:\n",
          d->index, d->world, m->name, d->tp, d->pp, d->dp / d->cp, d->cp, d->strategy, d->schedule, d->accumulate);
  fprintf(out, "%s -np 1 %s one.reference --problem %d &&\n%s -np %d%s%s %s one.reference --only %d\n", run, self,
          d->problem, run, d->world, preload != NULL ? " -x LD_PRELOAD=" : "", preload != NULL ? preload : "", self,
          d->index);
  fprintf(out, "  or, comparing nothing%s:\n", d->csv ? " (the schedule's file is left in the working directory)" : "");
  fprintf(out,
          "cat >grid3d.json <<'END'\n%s\nEND\n"
          "shardlab measure --world %d --model %s --data %s --steps %d --threads 1%s --config grid3d.json\n",
          d->config, d->world, m->file, m->data, STEPS, d->poison ? " --poison" : "");
}

static void tell(const char *what, double value, double bound) {
  fprintf(stderr, "FAIL rank %d of %d: %s is %.10g, expected %.10g\n", grid3d.rank, grid3d.world, what, value, bound);
  if (!told) tell_command(stderr);
  told = true;
}

void grid3d_expect(bool good, const char *what, double value, double bound) {
  grid3d.checks++;
  if (good) return;
  if (grid3d.failures++ < 20) tell(what, value, bound);
}

/* The host backend ends a job that cannot go on; first it shall say which. */
int MPI_Abort(MPI_Comm comm, int code) {
  if (grid3d.now.config[0] != '\0' && !told) tell_command(stderr);
  return PMPI_Abort(comm, code);
}

static void on_signal(int number) {
  signal(number, SIG_DFL);
  if (!told && (grid3d.rank == 0 || number != SIGTERM)) tell_command(stderr);
  raise(number);
}

static void give_up(const char *why) {
  fprintf(stderr, "rank %d: %s\n", grid3d.rank, why);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* --- what is asked for --- */

struct request {
  const char *path;
  bool all, reads, stops;
  int only, part, parts, problem;
};

static struct request read_arguments(int argc, char **argv) {
  struct request q = {.only = -1, .parts = 1, .problem = -1};
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--long") == 0)
      q.all = true;
    else if (strcmp(argv[i], "--read") == 0)
      q.reads = true;
    else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc)
      q.only = atoi(argv[++i]);
    else if (strcmp(argv[i], "--stop") == 0)
      q.stops = true;
    else if (strcmp(argv[i], "--problem") == 0 && i + 1 < argc)
      q.problem = atoi(argv[++i]);
    else if (strcmp(argv[i], "--part") == 0 && i + 1 < argc && sscanf(argv[i + 1], "%d/%d", &q.part, &q.parts) == 2)
      i++;
    else
      q.path = argv[i];
  }
  if (q.path == NULL)
    give_up("usage: test_grid3d REFERENCE [--long] [--only INDEX] [--part I/N] [--read] [--problem P] [--stop]");
  return q;
}

/* --- the reference --- */

enum { FIRST, LAST, GRADIENTS }; /* the steps whose gradients are kept */

struct reference {
  double losses[STEPS], norms[STEPS], evaluated;
  int64_t numel;              /* of all tensors, one behind the other */
  float *gradient[GRADIENTS]; /* (numel) each */
};

struct index {
  int64_t at[DRAW_PROBLEMS]; /* in the file; 0: nobody asks for it */
};

static FILE *reference_file;
static struct index reference_index;

static void transfer(void *x, size_t bytes, bool writes) {
  const size_t done = writes ? fwrite(x, 1, bytes, reference_file) : fread(x, 1, bytes, reference_file);
  if (done != bytes) give_up(writes ? "cannot write the reference" : "cannot read the reference; run one rank first");
}

static void read_reference(struct reference *ref, int problem) {
  *ref = (struct reference){0};
  if (reference_index.at[problem] == 0) give_up("the reference lacks a problem: was it written by a shorter run?");
  fseek(reference_file, (long)reference_index.at[problem], SEEK_SET);
  transfer(ref, offsetof(struct reference, gradient), false);
  for (int k = 0; k < GRADIENTS; k++) {
    ref->gradient[k] = calloc((size_t)ref->numel, sizeof(float));
    transfer(ref->gradient[k], (size_t)ref->numel * sizeof(float), false);
  }
}

static void free_reference(struct reference *ref) {
  for (int k = 0; k < GRADIENTS; k++) free(ref->gradient[k]);
}

/* --- a run --- */

/* What is looked at between steps: gradients, which the next step overwrites, and the witness's counts. */
struct watch {
  struct grid_result *result;
  const struct reference *want; /* NULL: this run is the reference */
  struct reference *make;
  int64_t (*sent)[SL_GROUP_COUNT];
};

/* One tensor held against the reference. */
struct comparison {
  const float *want;
  double error;      /* sum of squares of differences */
  uint64_t elements; /* the sum of a mix of their numbers: no hole and no overlap goes unseen */
  bool dirty;        /* padding that is not zero */
};

static uint64_t mix(uint64_t i) {
  i = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
  return (i ^ i >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
}

static void compare_run(void *context, int64_t logical, int64_t count, const float *values) {
  struct comparison *c = context;
  for (int64_t i = 0; i < count; i++) {
    if (logical < 0) {
      c->dirty |= !(values[i] == 0);
      continue;
    }
    const double d = (double)values[i] - (double)c->want[logical + i];
    c->error += d * d;
    c->elements += mix((uint64_t)(logical + i));
  }
}

static double norm_of(const float *x, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++) sum += (double)x[i] * (double)x[i];
  return sqrt(sum);
}

static double worst[2][GRADIENTS], worst_loss[2], worst_norm[2]; /* by optimizer, over all configurations */

static void note(double *most, double value) {
  if (!(value <= *most)) *most = value;
}

/* Every tensor: this rank's elements on their own, then the writers' together. */
static void compare_gradients(struct watch *w, int which) {
  const struct sl_model *model = &w->result->fixture.model;
  const float *want = w->want->gradient[which];
  double *errors = calloc((size_t)model->tensor_count, sizeof *errors);
  uint64_t *elements = calloc((size_t)model->tensor_count, sizeof *elements);
  int64_t at = 0;
  for (int t = 0; t < model->tensor_count; at += model->tensors[t++].numel) {
    struct comparison c = {.want = want + at};
    const bool writes = grid_runs(w->result, grid3d.rank, SL_ROLE_GRAD, t, compare_run, &c);
    const double own = sqrt(c.error) / norm_of(want + at, model->tensors[t].numel);
    grid3d_expect(own <= GRADIENT_BOUND || c.error == 0, model->tensors[t].name, own, GRADIENT_BOUND);
    grid3d_expect(!c.dirty, "padding of a gradient", NAN, 0);
    if (writes) errors[t] = c.error, elements[t] = c.elements;
  }
  MPI_Allreduce(MPI_IN_PLACE, errors, model->tensor_count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, elements, model->tensor_count, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  at = 0;
  for (int t = 0; grid3d.rank == 0 && t < model->tensor_count; at += model->tensors[t++].numel) {
    uint64_t all = 0;
    for (int64_t i = 0; i < model->tensors[t].numel; i++) all += mix((uint64_t)i);
    grid3d_expect(elements[t] == all, "elements held, each once, of a tensor", t, t);
    const double norm = norm_of(want + at, model->tensors[t].numel), d = sqrt(errors[t]) / (norm > 0 ? norm : 1);
    note(&worst[grid3d.now.optimizer][which], d);
    grid3d_expect(d <= GRADIENT_BOUND, model->tensors[t].name, d, GRADIENT_BOUND);
  }
  free(errors);
  free(elements);
}

static void keep_gradients(struct watch *w, int which) {
  const struct sl_model *model = &w->result->fixture.model;
  int64_t at = 0;
  for (int t = 0; t < model->tensor_count; at += model->tensors[t++].numel)
    grid_tensor(w->result, grid3d.rank, SL_ROLE_GRAD, t, w->make->gradient[which] + at);
}

static void after_step(void *context, int64_t step, const struct sl_step_result *result) {
  struct watch *w = context;
  (void)result;
  grid3d_take_counts(w->sent, step);
  if (step != 0 && step != STEPS - 1) return;
  const int which = step == 0 ? FIRST : LAST;
  (w->want == NULL ? keep_gradients : compare_gradients)(w, which);
}

static enum sl_status open_job(struct grid_result *r) {
  const struct sl_build_options keep = {.save_grads = true};
  memset(r, 0, sizeof *r);
  return fixture_open(&r->fixture, draw_models[grid3d.now.model].file, grid3d.now.config, "localhost", grid3d.world,
                      &keep);
}

static enum sl_status train(struct grid_result *r, const struct sl_exec_ops *host, struct watch *w) {
  r->run = (struct sl_run){.exec = host,
                           .job = &r->fixture.job,
                           .steps = STEPS,
                           .options = {.data = draw_models[grid3d.now.model].data,
                                       .val_split = 0.25,
                                       .poison = grid3d.now.poison,
                                       .threads = 1,
                                       .fail_rank = -1,
                                       .fail_step = -1},
                           .progress = after_step,
                           .progress_context = w};
  return sl_run_execute(&r->run);
}

/* --- making the reference --- */

static void make_problem(const struct sl_exec_ops *host, int problem) {
  struct grid_result r;
  struct reference ref = {.numel = 0};
  grid3d_sent sent;
  struct watch w = {.result = &r, .make = &ref, .sent = sent};
  draw_problem(&grid3d.now, problem);
  if (open_job(&r) != SL_OK) give_up(sl_error_message());
  ref.numel = sl_model_numel(&r.fixture.model);
  for (int k = 0; k < GRADIENTS; k++) ref.gradient[k] = calloc((size_t)ref.numel, sizeof(float));
  if (train(&r, host, &w) != SL_OK) give_up(sl_error_message());
  for (int s = 0; s < STEPS; s++) ref.losses[s] = r.run.results[s].loss, ref.norms[s] = r.run.results[s].grad_norm;
  ref.evaluated = r.run.evals[0].loss;
  reference_index.at[problem] = ftell(reference_file);
  transfer(&ref, offsetof(struct reference, gradient), true);
  for (int k = 0; k < GRADIENTS; k++) transfer(ref.gradient[k], (size_t)ref.numel * sizeof(float), true);
  free_reference(&ref);
  grid_close(&r);
}

/* All that the worlds ask for; and that each thing which can be drawn was drawn. */
static void want_all(bool wanted[DRAW_PROBLEMS], bool all) {
  struct draw_count rows[DRAW_ROWS] = {{0}};
  int n = 0;
  for (int i = 0; i < WORLDS; i++) {
    for (int k = 0; k < (all ? worlds[i].count_long : worlds[i].count); k++) {
      draw_configuration(&grid3d.now, worlds[i].world, k);
      wanted[grid3d.now.problem] = true;
      n = draw_tally(&grid3d.now, rows);
    }
  }
  for (int i = 0; i < n; i++) {
    printf("%s%s %d", i > 0 ? ", " : "", rows[i].name, rows[i].count);
    grid3d_expect(rows[i].count >= LEAST, rows[i].name, rows[i].count, LEAST);
  }
  printf("\n");
}

static void make_reference(const struct sl_exec_ops *host, const struct request *q) {
  bool wanted[DRAW_PROBLEMS] = {false};
  if (q->problem < 0)
    want_all(wanted, q->all);
  else if (q->problem < DRAW_PROBLEMS)
    wanted[q->problem] = true;
  transfer(&reference_index, sizeof reference_index, true);
  for (int p = 0; p < DRAW_PROBLEMS; p++) {
    if (wanted[p]) make_problem(host, p);
  }
  rewind(reference_file);
  transfer(&reference_index, sizeof reference_index, true);
}

/* --- held against one rank --- */

static void compare_losses(const struct grid_result *r, const struct reference *want) {
  for (int s = 0; s < STEPS; s++) {
    const double loss = fabs(r->run.results[s].loss / want->losses[s] - 1);
    const double norm = fabs(r->run.results[s].grad_norm / want->norms[s] - 1);
    note(&worst_loss[grid3d.now.optimizer], loss);
    note(&worst_norm[grid3d.now.optimizer], norm);
    grid3d_expect(loss <= LOSS_BOUND, "loss", loss, LOSS_BOUND);
    grid3d_expect(norm <= NORM_BOUND, "gradient norm", norm, NORM_BOUND);
  }
  const bool asked = r->fixture.config.sl.eval_interval > 0, came = r->run.eval_count == asked;
  const double off = !came ? NAN : asked ? fabs(r->run.evals[0].loss / want->evaluated - 1) : 0;
  grid3d_expect(off <= LOSS_BOUND, "validation loss", off, LOSS_BOUND);
}

/* --- one configuration --- */

/* The schedule on its way through a file. */
static void write_csv(void) {
  struct sl_schedule s;
  if (grid3d.rank != 0) return;
  if (sl_schedule_generate(&s, grid3d.now.schedule, grid3d.now.pp, grid3d.now.stages, grid3d.now.accumulate) != SL_OK)
    give_up(sl_error_message());
  if (grid3d.now.csv == 2 && (sl_schedule_lower_unshard(&s, 2) != SL_OK || sl_schedule_lower_reduce(&s) != SL_OK ||
                              sl_schedule_lower_sends(&s) != SL_OK))
    give_up(sl_error_message());
  FILE *out = fopen(grid3d.now.csv_path, "w");
  if (out == NULL) give_up(grid3d.now.csv_path);
  sl_schedule_print(&s, out);
  fclose(out);
  sl_schedule_free(&s);
}

/* On the first rank: the dry run and the prediction. */
static enum sl_status predict(const struct grid_result *r, struct sl_run *simulated) {
  *simulated = (struct sl_run){
      .exec = &sl_exec_sim, .job = &r->fixture.job, .steps = 1, .options = {.fail_rank = -1, .fail_step = -1}};
  if (grid3d.rank != 0) return SL_OK;
  SL_TRY(sl_check(&r->fixture.job));
  return sl_run_execute(simulated);
}

static void run_opened(struct grid_result *r, const struct sl_exec_ops *host, const struct reference *want) {
  grid3d_sent sent = {{0}};
  struct watch w = {.result = r, .want = want, .sent = sent};
  struct sl_run simulated;
  int status = (int)predict(r, &simulated);
  grid3d_expect(status == SL_OK, sl_error_message(), status, SL_OK);
  MPI_Bcast(&status, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (status != SL_OK) return; /* a program that the dry run refuses may hang */
  if (train(r, host, &w) != SL_OK) give_up(sl_error_message());
  compare_losses(r, want);
  grid3d_compare_memory(r);
  grid3d_compare_traffic(r, &simulated);
  grid3d_compare_witness(r, sent);
  sl_run_close(&r->run);
  sl_run_close(&simulated);
}

/* Whether it failed on any rank. */
static bool run_configuration(const struct sl_exec_ops *host, int index) {
  struct grid_result r;
  struct reference want;
  const int before = grid3d.failures;
  draw_configuration(&grid3d.now, grid3d.world, index);
  told = false;
  if (grid3d.now.csv) write_csv();
  MPI_Barrier(MPI_COMM_WORLD);
  const enum sl_status status = open_job(&r);
  grid3d_expect(status == SL_OK, sl_error_message(), status, SL_OK);
  if (status == SL_OK) {
    read_reference(&want, grid3d.now.problem);
    run_opened(&r, host, &want);
    free_reference(&want);
  }
  fixture_close(&r.fixture);
  int broken = grid3d.failures > before;
  MPI_Allreduce(MPI_IN_PLACE, &broken, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (grid3d.rank == 0 && grid3d.now.csv && !broken) remove(grid3d.now.csv_path);
  return broken;
}

static void run_grid(const struct sl_exec_ops *host, const struct request *q) {
  int count = 0, done = 0;
  bool broken = false;
  const double start = MPI_Wtime();
  for (int i = 0; i < WORLDS; i++)
    if (worlds[i].world == grid3d.world) count = q->all ? worlds[i].count_long : worlds[i].count;
  if (q->only >= 0) count = q->only + 1;
  for (int i = q->only >= 0 ? q->only : q->part; i < count && !(broken && q->stops); i += q->parts, done++)
    broken = run_configuration(host, i);
  MPI_Allreduce(MPI_IN_PLACE, &grid3d.failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (grid3d.rank != 0) return;
  printf("world %d: %d configurations in %.1f s, %d checks on the first rank%s, %d failures\n", grid3d.world, done,
         MPI_Wtime() - start, grid3d.checks, has_witness ? " with the witness" : "", grid3d.failures);
  for (int o = 0; o < 2; o++)
    printf("  %s: loss %.1e, gradient norm %.1e, gradients %.1e at step 1 and %.1e at step %d\n",
           o == DRAW_SGD ? "SGD" : "AdamW", worst_loss[o], worst_norm[o], worst[o][FIRST], worst[o][LAST], STEPS);
}

int main(int argc, char **argv) {
  const struct sl_exec_ops *host;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &grid3d.world);
  MPI_Comm_rank(MPI_COMM_WORLD, &grid3d.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &grid3d.world);
  const struct request q = read_arguments(argc, argv);
  has_witness = grid3d_find_witness();
  if (sl_exec_load("host", &host) != SL_OK) give_up(sl_error_message());
  for (int i = 0; i < 4; i++) signal((int[]){SIGSEGV, SIGFPE, SIGABRT, SIGTERM}[i], on_signal);
  const bool makes = grid3d.world == 1 && !q.reads && q.only < 0;
  reference_file = fopen(q.path, makes ? "wb+" : "rb");
  if (reference_file == NULL) give_up("cannot open the reference; run one rank first");
  if (makes)
    make_reference(host, &q);
  else
    transfer(&reference_index, sizeof reference_index, false);
  if (q.problem < 0) run_grid(host, &q);
  fclose(reference_file);
  MPI_Finalize();
  return grid3d.failures > 0;
}
