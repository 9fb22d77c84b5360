/* The equivalence grid: every (ZeRO stage or preset, dp, tp, pp, schedule, recomputation ...) trains as one rank does.
 *
 * Run on one rank it first writes the reference: losses, gradient norms and gradients of every problem (grid3d_draw.h) that
 * any world's configurations ask for. Then, and on several ranks only, it trains the configurations of its world and holds
 * each against
 *   one rank        losses <= 1e-6, gradient norm <= 1e-5, every gradient tensor <= 1e-5 in norm, relative, on all of its
 *                   replicas; padding is zero
 *   the dry run     sl_check passes
 *   the prediction  the arena's bytes; what the categories of states must hold; calls and bytes, row by row and in order
 *   a witness       where backend/pmpi is preloaded: bytes given to MPI, by group and step
 * Half of them run with poisoned memory. A configuration that fails prints itself as a command line.
 * usage: test_grid3d REFERENCE [--long] [--only INDEX] [--part I/N] [--read]   (--read: one rank, too, only reads it) */
#include "tests/mpi/grid.h"

#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>

#include "sim/sim.h"
#include "tests/mpi/grid3d_draw.h"

enum { STEPS = 5 };
static const double LOSS_BOUND = 1e-6, NORM_BOUND = 1e-5, GRADIENT_BOUND = 1e-5;

/* Configurations of each world. */
static const struct {
  int world, count, count_long;
} worlds[] = {{1, 16, 160}, {2, 72, 500}, {3, 40, 280}, {4, 80, 560}, {6, 40, 260}, {8, 40, 240}};
enum { WORLDS = sizeof worlds / sizeof *worlds };

static int rank, world, failures, checks;
static struct draw now; /* the configuration at hand */
static bool told;       /* it has been printed */

/* --- telling --- */

static void tell_command(FILE *out) {
  const struct draw_model *m = &draw_models[now.model];
  fprintf(out,
          "  configuration %d of world %d: %s, tp %d pp %d dp %d, %s, %d micro-batches%s; alone: --only %d, or\n"
          "  shardlab measure --world %d --model %s --data %s --steps %d --threads 1%s --config grid3d.json\n"
          "  where grid3d.json is\n%s\n",
          now.index, now.world, m->name, now.tp, now.pp, now.dp, now.strategy, now.accumulate,
          now.csv ? " (schedule from a CSV file, which this run leaves)" : "", now.index, now.world, m->file, m->data,
          STEPS, now.poison ? " --poison" : "", now.config);
}

static void tell(const char *what, double value, double bound) {
  fprintf(stderr, "FAIL rank %d of %d: %s is %.10g, expected %.10g\n", rank, world, what, value, bound);
  if (!told) tell_command(stderr);
  told = true;
}

/* Written so that NaN fails. */
static void expect(bool good, const char *what, double value, double bound) {
  checks++;
  if (good) return;
  if (failures++ < 20) tell(what, value, bound);
}

/* The host backend ends a job that cannot go on; first it shall say which. */
int MPI_Abort(MPI_Comm comm, int code) {
  if (now.config[0] != '\0' && !told) tell_command(stderr);
  return PMPI_Abort(comm, code);
}

static void on_signal(int number) {
  signal(number, SIG_DFL);
  if (!told && (rank == 0 || number != SIGTERM)) tell_command(stderr);
  raise(number);
}

static void give_up(const char *why) {
  fprintf(stderr, "rank %d: %s\n", rank, why);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* --- the reference --- */

enum { FIRST, LAST, GRADIENTS }; /* the steps whose gradients are kept */

struct reference {
  double losses[STEPS], norms[STEPS];
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
  int64_t (*sent)[SL_GROUP_COUNT + 1]; /* (STEPS) at the end of each step; the last column is the pipeline's */
};

static long long (*witness)(const char *name);

static void take_counts(struct watch *w, int64_t step) {
  for (int g = 0; witness != NULL && g <= SL_GROUP_COUNT; g++)
    w->sent[step][g] = witness(g < SL_GROUP_COUNT ? sl_group_name((enum sl_group)g) : "pipeline");
}

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
    const bool writes = grid_runs(w->result, rank, SL_ROLE_GRAD, t, compare_run, &c);
    const double own = sqrt(c.error) / norm_of(want + at, model->tensors[t].numel);
    expect(own <= GRADIENT_BOUND || c.error == 0, model->tensors[t].name, own, GRADIENT_BOUND);
    expect(!c.dirty, "padding of a gradient", NAN, 0);
    if (writes) errors[t] = c.error, elements[t] = c.elements;
  }
  MPI_Allreduce(MPI_IN_PLACE, errors, model->tensor_count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, elements, model->tensor_count, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  at = 0;
  for (int t = 0; rank == 0 && t < model->tensor_count; at += model->tensors[t++].numel) {
    uint64_t all = 0;
    for (int64_t i = 0; i < model->tensors[t].numel; i++) all += mix((uint64_t)i);
    expect(elements[t] == all, "elements held, each once, of a tensor", t, t);
    const double norm = norm_of(want + at, model->tensors[t].numel), d = sqrt(errors[t]) / (norm > 0 ? norm : 1);
    note(&worst[now.optimizer][which], d);
    expect(d <= GRADIENT_BOUND, model->tensors[t].name, d, GRADIENT_BOUND);
  }
  free(errors);
  free(elements);
}

static void keep_gradients(struct watch *w, int which) {
  const struct sl_model *model = &w->result->fixture.model;
  int64_t at = 0;
  for (int t = 0; t < model->tensor_count; at += model->tensors[t++].numel)
    grid_tensor(w->result, rank, SL_ROLE_GRAD, t, w->make->gradient[which] + at);
}

static void after_step(void *context, int64_t step, const struct sl_step_result *result) {
  struct watch *w = context;
  (void)result;
  take_counts(w, step);
  if (step != 0 && step != STEPS - 1) return;
  const int which = step == 0 ? FIRST : LAST;
  if (w->want == NULL)
    keep_gradients(w, which);
  else
    compare_gradients(w, which);
}

static enum sl_status open_job(struct grid_result *r) {
  const struct sl_build_options keep = {.save_grads = true};
  memset(r, 0, sizeof *r);
  return fixture_open(&r->fixture, draw_models[now.model].file, now.config, "localhost", world, &keep);
}

static enum sl_status train(struct grid_result *r, const struct sl_exec_ops *host, struct watch *w) {
  r->run = (struct sl_run){.exec = host,
                           .job = &r->fixture.job,
                           .steps = STEPS,
                           .options = {.data = draw_models[now.model].data,
                                       .poison = now.poison,
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
  int64_t sent[STEPS][SL_GROUP_COUNT + 1];
  struct watch w = {.result = &r, .make = &ref, .sent = sent};
  draw_problem(&now, problem);
  if (open_job(&r) != SL_OK) give_up(sl_error_message());
  ref.numel = sl_model_numel(&r.fixture.model);
  for (int k = 0; k < GRADIENTS; k++) ref.gradient[k] = calloc((size_t)ref.numel, sizeof(float));
  if (train(&r, host, &w) != SL_OK) give_up(sl_error_message());
  for (int s = 0; s < STEPS; s++) ref.losses[s] = r.run.results[s].loss, ref.norms[s] = r.run.results[s].grad_norm;
  reference_index.at[problem] = ftell(reference_file);
  transfer(&ref, offsetof(struct reference, gradient), true);
  for (int k = 0; k < GRADIENTS; k++) transfer(ref.gradient[k], (size_t)ref.numel * sizeof(float), true);
  free_reference(&ref);
  grid_close(&r);
}

/* All that the worlds ask for; and that each thing which can be drawn was drawn. */
static void make_reference(const struct sl_exec_ops *host, bool all) {
  struct draw_count rows[DRAW_ROWS] = {{0}};
  bool wanted[DRAW_PROBLEMS] = {false};
  int n = 0;
  for (int i = 0; i < WORLDS; i++) {
    for (int k = 0; k < (all ? worlds[i].count_long : worlds[i].count); k++) {
      draw_configuration(&now, worlds[i].world, k);
      wanted[now.problem] = true;
      n = draw_tally(&now, rows);
    }
  }
  for (int i = 0; i < n; i++) {
    printf("%s%s %d", i > 0 ? ", " : "", rows[i].name, rows[i].count);
    expect(rows[i].count > 0, rows[i].name, rows[i].count, 1);
  }
  printf("\n");
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
    note(&worst_loss[now.optimizer], loss);
    note(&worst_norm[now.optimizer], norm);
    expect(loss <= LOSS_BOUND, "loss", loss, LOSS_BOUND);
    expect(norm <= NORM_BOUND, "gradient norm", norm, NORM_BOUND);
  }
}

/* --- held against the prediction --- */

/* Elements of the tensors that the layers of this rank's stages use, cut over tp: counted from the model, not the plan. */
static int64_t local_numel(const struct sl_plan *plan) {
  const struct sl_stage *stage = &plan->stages[sl_plan_coord(plan, rank).pp];
  const struct sl_model *m = plan->model;
  int64_t sum = 0;
  for (int t = 0; t < m->tensor_count; t++) {
    const struct sl_tensor *x = &m->tensors[t];
    bool used = false;
    for (int i = 0; i < stage->chunk_count; i++) {
      const struct sl_chunk *c = &plan->chunks[stage->chunks[i]];
      used |= x->layer >= c->first_layer && x->layer < c->first_layer + c->layer_count;
      used |= c->embedding && x->layer < 0;
      used |= c->head && m->type != SL_MODEL_MLP && (x->layer == m->n_layer || (m->tied_head && t == 0));
    }
    if (!used) continue;
    const int64_t wide = x->tp_dim >= 0 ? x->shape[x->tp_dim] : 1, rest = x->numel / wide;
    sum += (x->tp_dim >= 0 ? (wide + plan->tp - 1) / plan->tp : 1) * rest;
  }
  return sum;
}

/* A state of `numel` elements over `members`: whole, or one part of it with up to `slack` elements of padding. */
static void expect_state(const char *what, int64_t bytes, int64_t numel, int members, int64_t slack) {
  const int64_t least = (numel + members - 1) / members;
  expect(bytes >= 4 * least && bytes <= 4 * (least + slack), what, (double)bytes, 4.0 * (double)least);
}

static void compare_memory(const struct grid_result *r) {
  const struct sl_plan *plan = &r->fixture.plan;
  const struct sl_class *c = &r->fixture.job.classes[sl_job_class_of(&r->fixture.job, rank)];
  const struct sl_strategy *s = &plan->strategy;
  const int64_t numel = local_numel(plan);
  const int64_t padding = plan->shard > 1 ? 2 * plan->stages[c->stage].tensor_count : 0; /* of a member */
  int64_t state[SL_CATEGORY_COUNT] = {0};
  for (int space = 0; space < SL_SPACE_COUNT; space++) {
    const struct sl_memory_report *m = &c->memory[space];
    int64_t sum = m->fragmentation;
    for (int i = 0; i < SL_CATEGORY_COUNT; i++) sum += m->at_peak[i], state[i] += m->state_bytes[i];
    expect(r->run.reports[0].arena_bytes[space] == c->arena_bytes[space], "bytes of the arena",
           (double)r->run.reports[0].arena_bytes[space], (double)c->arena_bytes[space]);
    expect(sum == m->peak_bytes && sum == c->arena_bytes[space], "sum of the categories", (double)sum,
           (double)c->arena_bytes[space]);
  }
  if (s->units == SL_UNITS_OWNER) return; /* whole parameters: no closed form of one rank's */
  const bool master = c->role[SL_ROLE_MASTER].form != SL_FORM_ABSENT;
  const int states = (now.optimizer == DRAW_ADAMW ? 2 : 1) + master;
  expect_state("bytes of the optimizer", state[SL_CATEGORY_OPTIMIZER] / states, numel,
               s->shard_optimizer ? plan->shard : 1, padding);
  if (!s->shard_params)
    expect_state("bytes of the parameters", state[SL_CATEGORY_PARAMETER], numel, 1, plan->shard * padding);
  if (s->shard_grads && plan->chunk_count == 1)
    expect_state("bytes of the gradients", state[SL_CATEGORY_GRADIENT], numel, plan->shard, padding);
}

static bool same_row(const struct sl_traffic *a, const struct sl_traffic *b) {
  return a->group == b->group && a->op == b->op && a->dtype == b->dtype && a->payload == b->payload;
}

static void compare_report(int of, const struct sl_exec_report *host, const struct sl_exec_report *sim) {
  expect(host->call_hash == sim->call_hash, "order of calls, by hash, of rank", of, of);
  expect(host->traffic_count == sim->traffic_count, "rows of traffic", host->traffic_count, sim->traffic_count);
  for (int i = 0; i < sim->traffic_count; i++) {
    const struct sl_traffic *want = &sim->traffic[i], none = {0}, *got = &none;
    for (int k = 0; k < host->traffic_count; k++)
      if (same_row(&host->traffic[k], want)) got = &host->traffic[k];
    expect(got->calls == want->calls, "calls", (double)got->calls, (double)want->calls);
    expect(got->bytes == want->bytes, "bytes", (double)got->bytes, (double)want->bytes);
    expect(got->wire_bytes == want->wire_bytes, "wire bytes", (double)got->wire_bytes, (double)want->wire_bytes);
  }
}

/* The first rank simulates all, and gets every rank's own count. */
static void compare_traffic(const struct grid_result *r, const struct sl_run *simulated) {
  struct sl_exec_report mine = r->run.reports[0];
  if (rank != 0) {
    MPI_Send(&mine, (int)sizeof mine, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    MPI_Send(mine.traffic, mine.traffic_count * (int)sizeof *mine.traffic, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
    return;
  }
  compare_report(0, &mine, &simulated->reports[0]);
  for (int i = 1; i < world; i++) {
    struct sl_exec_report theirs;
    MPI_Recv(&theirs, (int)sizeof theirs, MPI_BYTE, i, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    theirs.traffic = calloc((size_t)theirs.traffic_count + 1, sizeof *theirs.traffic);
    MPI_Recv(theirs.traffic, theirs.traffic_count * (int)sizeof *theirs.traffic, MPI_BYTE, i, 1, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    compare_report(i, &theirs, &simulated->reports[i]);
    free(theirs.traffic);
  }
}

static void compare_witness(const struct grid_result *r, int64_t sent[STEPS][SL_GROUP_COUNT + 1]) {
  const struct sl_exec_report *report = &r->run.reports[0];
  for (int g = 0; witness != NULL && g <= SL_GROUP_COUNT; g++) {
    int64_t want = 0;
    for (int i = 0; i < report->traffic_count; i++)
      want += (int)report->traffic[i].group == g ? report->traffic[i].wire_bytes : 0;
    for (int s = 1; s < STEPS; s++) {
      const int64_t got = sent[s][g] - sent[s - 1][g];
      expect(got == want, g < SL_GROUP_COUNT ? sl_group_name((enum sl_group)g) : "pipeline", (double)got, (double)want);
    }
  }
}

/* --- one configuration --- */

/* The schedule on its way through a file. */
static void write_csv(void) {
  struct sl_schedule s;
  if (rank != 0) return;
  if (sl_schedule_generate(&s, now.schedule, now.pp, now.chunks, now.accumulate) != SL_OK) give_up(sl_error_message());
  if (now.csv == 2 && (sl_schedule_lower_unshard(&s, 2) != SL_OK || sl_schedule_lower_reduce(&s) != SL_OK ||
                       sl_schedule_lower_sends(&s) != SL_OK))
    give_up(sl_error_message());
  FILE *out = fopen(now.csv_path, "w");
  if (out == NULL) give_up(now.csv_path);
  sl_schedule_print(&s, out);
  fclose(out);
  sl_schedule_free(&s);
}

/* On the first rank: the dry run and the prediction. */
static enum sl_status predict(const struct grid_result *r, struct sl_run *simulated) {
  *simulated = (struct sl_run){
      .exec = &sl_exec_sim, .job = &r->fixture.job, .steps = 1, .options = {.fail_rank = -1, .fail_step = -1}};
  if (rank != 0) return SL_OK;
  SL_TRY(sl_check(&r->fixture.job));
  return sl_run_execute(simulated);
}

static void run_opened(struct grid_result *r, const struct sl_exec_ops *host, const struct reference *want) {
  int64_t sent[STEPS][SL_GROUP_COUNT + 1] = {{0}};
  struct watch w = {.result = r, .want = want, .sent = sent};
  struct sl_run simulated;
  int status = (int)predict(r, &simulated);
  expect(status == SL_OK, sl_error_message(), status, SL_OK);
  MPI_Bcast(&status, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (status != SL_OK) return; /* a program that the dry run refuses may hang */
  if (train(r, host, &w) != SL_OK) give_up(sl_error_message());
  compare_losses(r, want);
  compare_memory(r);
  compare_traffic(r, &simulated);
  compare_witness(r, sent);
  sl_run_close(&r->run);
  sl_run_close(&simulated);
}

static void run_configuration(const struct sl_exec_ops *host, int index) {
  struct grid_result r;
  struct reference want;
  draw_configuration(&now, world, index);
  told = false;
  if (now.csv) write_csv();
  MPI_Barrier(MPI_COMM_WORLD);
  const enum sl_status status = open_job(&r);
  expect(status == SL_OK, sl_error_message(), status, SL_OK);
  if (status == SL_OK) {
    read_reference(&want, now.problem);
    run_opened(&r, host, &want);
    free_reference(&want);
  }
  fixture_close(&r.fixture);
  int broken = told;
  MPI_Allreduce(MPI_IN_PLACE, &broken, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (rank == 0 && now.csv && !broken) remove(now.csv_path);
}

struct request {
  const char *path;
  bool all, reads;
  int only, part, parts;
};

static struct request read_arguments(int argc, char **argv) {
  struct request q = {.only = -1, .parts = 1};
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--long") == 0)
      q.all = true;
    else if (strcmp(argv[i], "--read") == 0)
      q.reads = true;
    else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc)
      q.only = atoi(argv[++i]);
    else if (strcmp(argv[i], "--part") == 0 && i + 1 < argc && sscanf(argv[i + 1], "%d/%d", &q.part, &q.parts) == 2)
      i++;
    else
      q.path = argv[i];
  }
  if (q.path == NULL) give_up("usage: test_grid3d REFERENCE [--long] [--only INDEX] [--part I/N] [--read]");
  return q;
}

static void run_grid(const struct sl_exec_ops *host, const struct request *q) {
  int count = 0, done = 0;
  for (int i = 0; i < WORLDS; i++)
    if (worlds[i].world == world) count = q->all ? worlds[i].count_long : worlds[i].count;
  const double start = MPI_Wtime();
  for (int i = 0; i < count; i++) {
    if (q->only >= 0 ? i != q->only : i % q->parts != q->part) continue;
    run_configuration(host, i);
    done++;
  }
  MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank != 0) return;
  printf("world %d: %d configurations in %.1f s, %d checks on the first rank%s, %d failures\n", world, done,
         MPI_Wtime() - start, checks, witness != NULL ? " with the witness" : "", failures);
  for (int o = 0; o < 2; o++)
    printf("  %s: loss %.1e, gradient norm %.1e, gradients %.1e at step 1 and %.1e at step %d\n",
           o == DRAW_SGD ? "SGD" : "AdamW", worst_loss[o], worst_norm[o], worst[o][FIRST], worst[o][LAST], STEPS);
}

int main(int argc, char **argv) {
  const struct sl_exec_ops *host;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &world);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world);
  const struct request q = read_arguments(argc, argv);
  void *symbol = dlsym(RTLD_DEFAULT, "sl_pmpi_sent");
  if (symbol != NULL) memcpy(&witness, &symbol, sizeof witness);
  if (sl_exec_load("host", &host) != SL_OK) give_up(sl_error_message());
  for (int i = 0; i < 4; i++) signal((int[]){SIGSEGV, SIGFPE, SIGABRT, SIGTERM}[i], on_signal);
  const bool makes = world == 1 && !q.reads && q.only < 0;
  reference_file = fopen(q.path, makes ? "wb+" : "rb");
  if (reference_file == NULL) give_up("cannot open the reference; run one rank first");
  if (makes)
    make_reference(host, q.all);
  else
    transfer(&reference_index, sizeof reference_index, false);
  run_grid(host, &q);
  fclose(reference_file);
  MPI_Finalize();
  return failures > 0;
}
