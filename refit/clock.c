/* Predicts runs over and over in several processes; see clock.h. A process inherits what the fast clock has lowered,
 * takes every nth run, and writes its results to shared memory. */
#include "refit/clock.h"

#include "refit/timer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const double step = 0.01; /* in the logarithm of a number */
enum { TRY_IDLE_EVERY = 4 };

/* The results of the processes. */
struct board {
  bool failed;
  char error[512];
  double results[]; /* (runs, 1 + numbers): seconds, derivatives */
};

const struct sl_refit_reach *sl_refit_reach_of(const struct sl_refit_clocks *clocks, size_t run) {
  return &clocks->timers[run].reach;
}

static struct sl_refit_subject subject_of(const struct sl_refit_clocks *c, size_t run) {
  return sl_refit_timer_subject(&c->timers[run], &c->runs->items[run]);
}

enum sl_status sl_refit_clocks_open(struct sl_refit_clocks *clocks, struct sl_refit_runs *runs, int jobs) {
  enum sl_status status;
  *clocks = (struct sl_refit_clocks){.runs = runs, .jobs = jobs};
  SL_TRY(sl_calloc(&clocks->timers, runs->count, sizeof *clocks->timers));
  for (size_t i = 0; i < runs->count; i++) {
    SL_GO_FAIL(sl_refit_timer_open(&clocks->timers[i], &runs->items[i]));
    const struct sl_refit_subject subject = subject_of(clocks, i);
    SL_GO_FAIL(sl_refit_numbers_add(&clocks->numbers, &subject, &clocks->timers[i].reach));
  }
  SL_GO_FAIL(sl_calloc(&clocks->idle, runs->count * clocks->numbers.count, sizeof *clocks->idle));
  return SL_OK;
fail:
  sl_refit_clocks_close(clocks);
  return status;
}

void sl_refit_clocks_close(struct sl_refit_clocks *clocks) {
  for (size_t i = 0; i < clocks->runs->count; i++) sl_refit_timer_close(&clocks->timers[i]);
  free(clocks->timers);
  free(clocks->idle);
  sl_refit_numbers_free(&clocks->numbers);
}

bool sl_refit_depends(const struct sl_refit_clocks *c, const double *weight, size_t number) {
  for (size_t i = 0; i < c->runs->count; i++) {
    const struct sl_refit_reach *reach = &c->timers[i].reach;
    for (int k = 0; k < reach->count && weight[i] > 0; k++)
      if (reach->number[k] == number) return true;
  }
  return false;
}

void sl_refit_given(const struct sl_refit_clocks *c, double *values) {
  for (size_t i = 0; i < c->runs->count; i++) {
    const struct sl_refit_subject subject = subject_of(c, i);
    const struct sl_refit_reach *reach = &c->timers[i].reach;
    for (int k = 0; k < reach->count; k++) {
      const struct sl_refit_number *number = &c->numbers.items[reach->number[k]];
      const double given = sl_refit_get(number, &subject);
      values[reach->number[k]] = given > 0 ? given : number->prior.prior;
    }
  }
}

void sl_refit_keep_unfitted(struct sl_refit_clocks *c, const double *weight, const double *values) {
  for (size_t j = 0; j < c->numbers.count; j++) {
    struct sl_refit_prior *p = &c->numbers.items[j].prior;
    if (!sl_refit_depends(c, weight, j) && values[j] > p->low && values[j] < p->high) p->prior = values[j];
  }
}

/* ---- one run ---- */

static enum sl_status seconds_with(struct sl_refit_clocks *c, size_t run, const double *values, double *out) {
  const struct sl_refit_subject subject = subject_of(c, run);
  const struct sl_refit_reach *reach = &c->timers[run].reach;
  for (int k = 0; k < reach->count; k++)
    sl_refit_put(&c->numbers.items[reach->number[k]], &subject, values[reach->number[k]]);
  return sl_refit_timer_seconds(&c->timers[run], &c->runs->items[run], out);
}

/* The difference step, downward if an upward one would leave the bounds. */
static double step_of(const struct sl_refit_number *number, double value) {
  return value * exp(step) > number->prior.high ? -step : step;
}

static enum sl_status time_run(struct sl_refit_clocks *c, size_t run, double *values, double *result, bool slopes) {
  const struct sl_refit_reach *reach = &c->timers[run].reach;
  SL_TRY(seconds_with(c, run, values, &result[0]));
  for (int k = 0; slopes && k < reach->count; k++) {
    const size_t j = reach->number[k];
    if (c->asked % TRY_IDLE_EVERY != 0 && c->idle[run * c->numbers.count + j]) continue;
    const double was = values[j], by = step_of(&c->numbers.items[j], was);
    double seconds;
    values[j] = was * exp(by);
    const enum sl_status status = seconds_with(c, run, values, &seconds);
    values[j] = was;
    SL_TRY(status);
    result[1 + j] = sl_refit_slope(result[0], seconds, by);
  }
  return SL_OK;
}

/* ---- all runs ---- */

static void work_off(struct sl_refit_clocks *c, struct board *board, int job, const double *values, bool slopes) {
  const size_t width = 1 + c->numbers.count;
  double *own = malloc(c->numbers.count * sizeof *own);
  if (own == NULL) _exit(1);
  memcpy(own, values, c->numbers.count * sizeof *own);
  for (size_t run = (size_t)job; run < c->runs->count && !board->failed; run += (size_t)c->jobs) {
    if (c->only != NULL && !c->only[run]) continue;
    const enum sl_status status = time_run(c, run, own, &board->results[run * width], slopes);
    sl_refit_timer_rest(&c->timers[run]);
    if (status == SL_OK) continue;
    board->failed = true;
    snprintf(board->error, sizeof board->error, "row %s: %s", c->runs->items[run].row->id, sl_error_message());
  }
  _exit(0);
}

static enum sl_status run_jobs(struct sl_refit_clocks *c, struct board *board, const double *values, bool slopes) {
  const pid_t parent = getpid();
  int started = 0;
  bool died = false;
  for (; started < c->jobs; started++) {
    const pid_t child = fork();
    if (child < 0) break;
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() == parent) work_off(c, board, started, values, slopes);
      _exit(1);
    }
  }
  for (int i = 0, state; i < started; i++) died |= wait(&state) < 0 || !WIFEXITED(state) || WEXITSTATUS(state) != 0;
  if (board->failed) return sl_fail(SL_ERR_INPUT, "%s", board->error);
  if (started < c->jobs || died) return sl_fail(SL_ERR_IO, "a process of the fit did not start, or died");
  return SL_OK;
}

/* Notes which numbers do not affect which runs, once derivatives are known. */
static void note_idle(struct sl_refit_clocks *c, const double *slope) {
  const size_t all = c->runs->count * c->numbers.count;
  for (size_t i = 0; i < all && c->asked % TRY_IDLE_EVERY == 0; i++) c->idle[i] = slope[i] == 0;
  c->asked++;
}

enum sl_status sl_refit_clocks_ask(void *context, const double *values, double *seconds, double *slope) {
  struct sl_refit_clocks *c = context;
  const size_t n = c->numbers.count, width = 1 + n,
               size = sizeof(struct board) + c->runs->count * width * sizeof(double);
  struct board *board = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (board == MAP_FAILED) return sl_fail(SL_ERR_MEMORY, "out of memory: results of %zu runs", c->runs->count);
  const enum sl_status status = run_jobs(c, board, values, slope != NULL);
  for (size_t i = 0; i < c->runs->count && status == SL_OK; i++) {
    if (c->only != NULL && !c->only[i]) continue;
    seconds[i] = board->results[i * width];
    if (slope != NULL) memcpy(&slope[i * n], &board->results[i * width + 1], n * sizeof *slope);
  }
  munmap(board, size);
  if (slope != NULL && status == SL_OK) note_idle(c, slope);
  return status;
}
