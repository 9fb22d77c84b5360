/* The loop that issues ops in program order and collects completions from any backend; see executor.h. */
#include "core/run/executor.h"

#include "core/base/machine.h"
#include "core/run/openmp.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/program/step_state.h"

/* ---- modules ---- */

/* Modules are next to the core library, wherever it is installed or moved to. */
static enum sl_status module_path(const char *name, char *path, size_t size) {
  Dl_info info;
  if (dladdr((void *)(uintptr_t)sl_exec_load, &info) == 0 || info.dli_fname == NULL) {
    return sl_fail(SL_ERR_INTERNAL, "cannot tell where the core library stands");
  }
  const char *slash = strrchr(info.dli_fname, '/');
  const int length = slash == NULL ? 0 : (int)(slash - info.dli_fname + 1);
  snprintf(path, size, "%.*slibshardlab_%s.so", length, info.dli_fname, name);
  return SL_OK;
}

/* Number of threads that OpenBLAS starts with. */
static int blas_threads(void) {
  const char *text = getenv("OPENBLAS_NUM_THREADS");
  if (text == NULL) text = getenv("OMP_NUM_THREADS");
  const int cores = sl_machine_cores(), asked = text != NULL ? atoi(text) : cores;
  return asked < 1 || asked > cores ? cores : asked;
}

/* If there is no address space for its buffers, OpenBLAS retries forever in its constructor (driver/others/memory.c,
 * blas_memory_alloc): 128 MiB per thread and one for its caller (BUFFER_SIZE of common_x86_64.h). The rest is needed by
 * the libraries themselves, MPI included, as measured on one rank. */
enum sl_status sl_exec_check_room(const char *name) {
  static const size_t mib = 1 << 20, buffer = 128, libraries = 160;
  const size_t need = (size_t)(blas_threads() + 1) * buffer + libraries;
  if (strcmp(name, "host") != 0 || sl_machine_has_room(need * mib)) return SL_OK;
  return sl_fail(
      SL_ERR_MEMORY,
      "backend host: too little address space (ulimit -v, -d): OpenBLAS on %d threads and MPI take %zu MiB more",
      blas_threads(), need);
}

enum sl_status sl_exec_load(const char *name, const struct sl_exec_ops **out) {
  char path[4096];
  SL_TRY(module_path(name, path, sizeof path));
  if (access(path, R_OK) != 0) {
    return sl_fail(SL_ERR_ABSENT, "backend %s: its module was not built on this machine (no libshardlab_%s.so)", name,
                   name);
  }
  void *loaded = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  if (loaded == NULL) SL_TRY(sl_openmp_load());
  if (loaded == NULL) SL_TRY(sl_exec_check_room(name));
  /* global, so that MPI's plug-ins find the MPI library */
  void *module = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  if (module == NULL) return sl_fail(SL_ERR_ABSENT, "backend %s: %s", name, dlerror());
  void *symbol = dlsym(module, "sl_exec_module");
  if (symbol == NULL) return sl_fail(SL_ERR_ABSENT, "backend %s: the module exports no sl_exec_module", name);
  sl_exec_module_fn entry;
  memcpy(&entry, &symbol, sizeof entry);
  *out = entry();
  return SL_OK;
}

/* ---- the loop ---- */

enum { BATCH = 256 };

/* The position of one local rank in its program. */
struct cursor {
  const struct sl_class *rank_class;
  const struct sl_program *program;
  struct sl_issue_ref at; /* the next issue, number `next` */
  uint32_t next, done;
};

/* Issues ops of one rank until its queue is full. */
static enum sl_status feed(const struct sl_run *run, int local, struct cursor *c) {
  const struct sl_program *p = c->program;
  while (c->next < p->issue_count) {
    const struct sl_issue *e = c->at.stored;
    const struct sl_issued op = {.rank_class = c->rank_class,
                                 .program = p,
                                 .op = &p->ops[e->op],
                                 .instance = &p->instances[sl_issue_instance(p, c->at)],
                                 .waits = e->wait_count > 0 ? &p->waits[e->wait] : NULL,
                                 .wait_count = e->wait_count,
                                 .lane_index = sl_issue_lane_index(p, c->at),
                                 .index = c->next};
    const enum sl_status status = run->exec->issue(run->state, local, &op);
    if (status == SL_AGAIN) return SL_OK;
    if (status != SL_OK) return status;
    sl_issue_next(p, &c->at);
    c->next++;
  }
  return SL_OK;
}

/* *fed: everything has been issued, which saves a look at every rank for each batch of completions. */
static enum sl_status feed_all(const struct sl_run *run, struct cursor *cursors, bool *fed) {
  if (*fed) return SL_OK;
  *fed = true;
  for (int i = 0; i < run->local_count; i++) {
    SL_TRY(feed(run, i, &cursors[i]));
    *fed &= cursors[i].next == cursors[i].program->issue_count;
  }
  return SL_OK;
}

static enum sl_status collect(const struct sl_run *run, struct cursor *cursors, int64_t step, uint64_t *left) {
  struct sl_completion batch[BATCH];
  int count = 0;
  SL_TRY(run->exec->advance(run->state, batch, BATCH, &count));
  for (int i = 0; i < count; i++) {
    struct cursor *c = &cursors[batch[i].local];
    c->done++;
    (*left)--;
    if (run->observe != NULL) run->observe(run->observe_context, batch[i].local, step, c->program, &batch[i]);
  }
  return SL_OK;
}

static enum sl_status run_program(struct sl_run *run, struct cursor *cursors, enum sl_program_kind kind, int64_t step) {
  if (run->forget != NULL && run->exec->play != NULL) {
    for (int i = 0; i < run->local_count; i++) SL_TRY(run->exec->begin(run->state, i, kind, step));
    const enum sl_status status = run->exec->play(run->state, kind, step, run);
    if (status != SL_AGAIN) return status;
    if (run->observe != NULL) run->forget(run->observe_context);
  }
  uint64_t left = 0;
  for (int i = 0; i < run->local_count; i++) {
    const struct sl_class *c = &run->job->classes[sl_job_class_of(run->job, run->local_ranks[i])];
    cursors[i] =
        (struct cursor){.rank_class = c, .program = &c->programs[kind], .at = sl_issue_find(&c->programs[kind], 0)};
    left += cursors[i].program->issue_count;
    SL_TRY(run->exec->begin(run->state, i, kind, step));
  }
  for (bool fed = false; left > 0;) {
    SL_TRY(feed_all(run, cursors, &fed));
    SL_TRY(collect(run, cursors, step, &left));
  }
  return SL_OK;
}

/* The earliest anomaly of all ranks. Ranks of a node share its clock. */
static enum sl_status first_anomaly(const struct sl_run *run, struct sl_anomaly *first, int *rank) {
  enum sl_status status;
  struct sl_anomaly mine = {0}, *all;
  const int world = run->exec->exchange != NULL && !run->options.alone ? run->job->plan->world : 1;
  *rank = run->local_ranks[0];
  SL_TRY(sl_calloc(&all, (size_t)world, sizeof *all));
  SL_GO(run->exec->anomaly(run->state, &mine));
  all[0] = mine;
  if (world > 1) SL_GO(run->exec->exchange(run->state, &mine, sizeof mine, all));
  *first = (struct sl_anomaly){0};
  for (int i = 0; i < world; i++) {
    if (!all[i].found || (first->found && all[i].at_s >= first->at_s)) continue;
    *first = all[i];
    if (world > 1) *rank = i;
  }
done:
  free(all);
  return status;
}

/* Collective. A step that fp16 training skips because gradients overflowed is no anomaly if its loss is finite. */
static enum sl_status check_anomaly(const struct sl_run *run, enum sl_program_kind kind, int64_t step, bool skipped) {
  struct sl_anomaly first;
  int rank;
  if (!run->options.detect_anomaly || run->exec->anomaly == NULL) return SL_OK;
  SL_TRY(first_anomaly(run, &first, &rank));
  if (!first.found || skipped) return SL_OK;
  if (run->local_ranks[0] > 0 && !run->options.alone) { /* one rank reports it */
    sl_error_clear();
    return SL_ERR_CHECK;
  }
  if (kind == SL_PROGRAM_INIT) return sl_fail(SL_ERR_CHECK, "before the first step, on rank %d: %s", rank, first.what);
  return sl_fail(SL_ERR_CHECK, "step %lld, on rank %d: %s", (long long)step + 1, rank, first.what);
}

/* Losses and norms are read from the step state of the first local rank. */
static enum sl_status read_result(const struct sl_run *run, struct sl_step_result *r) {
  struct sl_step_state control;
  if (run->exec->read == NULL) return SL_OK;
  const struct sl_class *c = &run->job->classes[sl_job_class_of(run->job, run->local_ranks[0])];
  SL_TRY(run->exec->read(run->state, 0, c->control, 0, sizeof control, &control));
  r->has_loss = true;
  r->loss = control.loss;
  r->grad_norm = control.grad_norm;
  r->lr = control.lr;
  r->loss_scale = control.loss_scale;
  r->skipped = control.grad_factor < 0;
  if (!control.exhausted) return SL_OK;
  return sl_fail(
      SL_ERR_INPUT,
      "fp16: gradients overflow in step %lld with the loss scale at its minimum, %g: it cannot shrink further; "
      "expected a lower fp16.min_loss_scale, a lower learning rate, or bf16",
      (long long)control.step, control.loss_scale);
}

/* Skipped steps do not count; without data, as in a prediction, no step is skipped. */
static enum sl_status choose_program(const struct sl_run *run, int64_t step, enum sl_program_kind *kind) {
  const struct sl_config *config = run->job->plan->config;
  struct sl_step_state control = {.good_steps = step};
  const struct sl_class *c = &run->job->classes[sl_job_class_of(run->job, run->local_ranks[0])];
  if (sl_program_compresses(config) && run->exec->read != NULL)
    SL_TRY(run->exec->read(run->state, 0, c->control, 0, sizeof control, &control));
  *kind = sl_program_of_step(config, control.good_steps);
  return SL_OK;
}

/* ---- evaluation ---- */

/* The step states of the local ranks are saved before an evaluation, which sums its loss there, and restored
 * afterwards. */
static enum sl_status move_states(const struct sl_run *run, struct sl_step_state *states, bool back) {
  for (int i = 0; i < run->local_count && run->exec->read != NULL; i++) {
    const int32_t control = run->job->classes[sl_job_class_of(run->job, run->local_ranks[i])].control;
    SL_TRY(back ? run->exec->write(run->state, i, control, 0, sizeof *states, &states[i])
                : run->exec->read(run->state, i, control, 0, sizeof *states, &states[i]));
  }
  return SL_OK;
}

/* Evaluates one global batch of validation data and adds its loss to *sum. */
static enum sl_status eval_batch(struct sl_run *run, struct cursor *cursors, int64_t batch, int64_t step, double *sum) {
  enum sl_status status;
  struct sl_step_state *kept, seen;
  struct sl_run unseen = *run; /* observers only see steps */
  unseen.observe = NULL, unseen.observe_many = NULL;
  SL_TRY(sl_calloc(&kept, (size_t)run->local_count, sizeof *kept));
  SL_GO(move_states(run, kept, false));
  SL_GO(run_program(&unseen, cursors, SL_PROGRAM_EVAL, batch));
  SL_GO(check_anomaly(run, SL_PROGRAM_EVAL, step, false));
  if (run->exec->read != NULL) {
    const struct sl_class *c = &run->job->classes[sl_job_class_of(run->job, run->local_ranks[0])];
    SL_GO(run->exec->read(run->state, 0, c->control, 0, sizeof seen, &seen));
    *sum += seen.loss_sum;
  }
  SL_GO(move_states(run, kept, true));
done:
  free(kept);
  return status;
}

/* Evaluates after `taken` steps. A prediction runs one batch: the others take as long. */
static enum sl_status evaluate(struct sl_run *run, struct cursor *cursors, int64_t taken) {
  const bool measures = run->exec->measures;
  const int64_t iters = run->eval_iters > 0 ? run->eval_iters : run->job->plan->config->sl.eval_iters;
  struct sl_eval_result *e = &run->evals[run->eval_count++];
  const double start = run->exec->now(run->state);
  double sum = 0;
  for (int64_t i = 0; i < (measures ? iters : 1); i++) SL_TRY(eval_batch(run, cursors, i, taken - 1, &sum));
  *e = (struct sl_eval_result){.step = taken,
                               .has_loss = run->exec->read != NULL,
                               .loss = sum / (double)iters,
                               .time_s = (run->exec->now(run->state) - start) * (measures ? 1 : (double)iters)};
  if (run->evaluated != NULL) run->evaluated(run->progress_context, e);
  return SL_OK;
}

/* A training evaluates every eval_interval steps; a prediction once, after its last step, since all evaluations are
 * identical. */
static bool evaluates_behind(const struct sl_run *run, int64_t taken, bool last) {
  const int64_t interval = run->job->plan->config->sl.eval_interval;
  return interval > 0 && !run->never_evaluates && (run->exec->measures ? taken % interval == 0 : last);
}

static enum sl_status run_steps(struct sl_run *run, struct cursor *cursors) {
  for (int64_t i = 0; i < run->steps; i++) {
    const int64_t step = run->options.first_step + i;
    struct sl_step_result *r = &run->results[i];
    SL_TRY(choose_program(run, step, &r->program));
    r->start_s = run->exec->now(run->state);
    SL_TRY(run_program(run, cursors, r->program, step));
    r->end_s = run->exec->now(run->state);
    SL_TRY(read_result(run, r));
    SL_TRY(check_anomaly(run, SL_PROGRAM_STEP, step, r->skipped && isfinite(r->loss)));
    if (run->hooks != NULL && run->hooks->stepped != NULL)
      SL_TRY(run->hooks->stepped(run->hooks->context, run, step + 1, i + 1 == run->steps));
    if (run->progress != NULL) run->progress(run->progress_context, step, r);
    if (evaluates_behind(run, step + 1, i + 1 == run->steps)) SL_TRY(evaluate(run, cursors, step + 1));
  }
  return SL_OK;
}

enum sl_status sl_run_execute(struct sl_run *run) {
  enum sl_status status;
  struct cursor *cursors = NULL;
  run->results = NULL;
  run->evals = NULL;
  run->eval_count = 0;
  run->reports = NULL;
  run->state = NULL;
  SL_TRY(run->exec->open(&run->state, run->job, &run->options, &run->local_ranks, &run->local_count));
  SL_GO_FAIL(sl_calloc(&cursors, (size_t)run->local_count, sizeof *cursors));
  SL_GO_FAIL(sl_calloc(&run->results, (size_t)run->steps, sizeof *run->results));
  SL_GO_FAIL(sl_calloc(&run->evals, (size_t)run->steps, sizeof *run->evals));
  SL_GO_FAIL(sl_calloc(&run->reports, (size_t)run->local_count, sizeof *run->reports));
  const struct sl_run_hooks hooks = run->hooks != NULL ? *run->hooks : (struct sl_run_hooks){0};
  const double start = run->exec->now(run->state);
  if (hooks.opened != NULL) SL_GO_FAIL(hooks.opened(hooks.context, run));
  SL_GO_FAIL(run_program(run, cursors, SL_PROGRAM_INIT, 0));
  SL_GO_FAIL(check_anomaly(run, SL_PROGRAM_INIT, 0, false));
  if (hooks.started != NULL) SL_GO_FAIL(hooks.started(hooks.context, run));
  run->init_s = run->exec->now(run->state) - start;
  SL_GO_FAIL(run_steps(run, cursors));
  for (int i = 0; i < run->local_count; i++) SL_GO_FAIL(run->exec->report(run->state, i, &run->reports[i]));
  if (run->options.save != NULL || run->options.save_grads != NULL) {
    SL_GO_FAIL(run_program(run, cursors, SL_PROGRAM_SAVE, run->options.first_step + run->steps));
  }
  free(cursors);
  return SL_OK;
fail:
  free(cursors);
  sl_run_close(run);
  return status;
}

void sl_run_close(struct sl_run *run) {
  for (int i = 0; run->reports != NULL && i < run->local_count; i++) free(run->reports[i].traffic);
  free(run->reports);
  free(run->results);
  free(run->evals);
  if (run->state != NULL) run->exec->close(run->state);
  run->reports = NULL;
  run->results = NULL;
  run->evals = NULL;
  run->state = NULL;
}

enum sl_status sl_run_agree(const struct sl_run *run, enum sl_status mine) {
  return run->exec->agree != NULL ? run->exec->agree(run->state, mine) : mine;
}
