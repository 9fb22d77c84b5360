/* The simulator's executor table; sim.h says what it models, lanes.c runs the clock. */
#include "sim/sim.h"

#include "core/base/limits.h"
#include "core/base/parallel.h"
#include "core/plan/communicators.h"
#include "core/plan/workspaces.h"
#include "core/program/memory_report.h"
#include "cost/error.h"
#include "sim/flow.h"
#include "sim/jitter.h"
#include "sim/state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void sim_close(void *state) {
  struct sl_sim *sim = state;
  if (sim == NULL) return;
  sl_sim_tables_free(sim);
  free(sim);
}

static enum sl_status sim_open(void **state, const struct sl_job *job, const struct sl_exec_options *options,
                               const int **local_ranks, int *local_count) {
  struct sl_sim *sim;
  SL_TRY(sl_calloc(&sim, 1, sizeof *sim));
  sim->job = job;
  sim->fold = options->fold && !(options->assume.jitter > 0); /* with noise, no two ranks are the same */
  sim->assume = options->assume;
  sim->runs = options->runs;
  enum sl_status status = sl_jitter_check(&sim->assume, job->plan->world);
  if (status == SL_OK && !sim->fold && job->plan->world > SL_MAX_RANKS_APART)
    status = sl_fail(SL_ERR_INPUT,
                     "--world: is %d; expected at most %lld where each rank is simulated (--no-fold, --jitter)",
                     job->plan->world, (long long)SL_MAX_RANKS_APART);
  if (status == SL_OK) status = sl_sim_tables(sim);
  if (status != SL_OK) {
    sim_close(sim);
    return status;
  }
  *local_ranks = sim->local_ranks;
  *local_count = sim->count;
  *state = sim;
  return SL_OK;
}

static enum sl_status sim_begin(void *state, int local, enum sl_program_kind kind, int64_t step) {
  struct sl_sim *sim = state;
  struct sl_sim_rank *rank = &sim->ranks[local];
  rank->step = step;
  if (rank->pending > 0) {
    return sl_fail(SL_ERR_INTERNAL, "rank %d begins a program with %u ops of the last one not complete", rank->rank,
                   (unsigned)rank->pending);
  }
  rank->now = &sim->programs[rank->class_index][kind];
  rank->now_calls = rank->calls[kind];
  rank->stretch.ops = &rank->stretch.one;
  memset(rank->lanes, 0, sizeof rank->lanes);
  memset(rank->blocked, 0, sizeof rank->blocked);
  rank->counting = sl_program_counts(kind);
  rank->host = rank->thread = sim->time;
  if (rank->stepping) rank->took = sim->time - rank->began;
  rank->stepping = sl_program_is_step(kind);
  if (rank->stepping) {
    rank->began = sim->time;
    rank->launching = 0;
    rank->call_hash = SL_HASH_CALLS;
  }
  if (rank->counting) {
    sl_traffic_reset(&rank->traffic, kind);
    for (size_t row = 0; row < rank->traffic.count; row++)
      if (rank->traffic.items[row].program == kind)
        memset(&rank->call_s[row * SL_LANE_COUNT], 0, SL_LANE_COUNT * sizeof *rank->call_s);
  }
  return SL_OK;
}

static enum sl_status sim_issue(void *state, int local, const struct sl_issued *issued) {
  struct sl_sim *sim = state;
  struct sl_sim_rank *rank = &sim->ranks[local];
  int index = issued->op->lane;
  struct sl_sim_lane *lane = &rank->lanes[index];
  if (issued->program != rank->now->program || issued->lane_index != lane->issued) {
    return sl_fail(SL_ERR_INTERNAL, "rank %d was handed op %u of lane %s, expected op %u of its program", rank->rank,
                   (unsigned)issued->lane_index, sl_lane_name(index), (unsigned)lane->issued);
  }
  const int32_t call = rank->now->costs[issued->op - issued->program->ops].call;
  if (rank->counting && call >= 0) sl_sim_hash_call(rank, call);
  if (lane->order == NULL) SL_TRY(sl_sim_take_order(sim, rank));
  lane->issued++;
  rank->pending++;
  sim->pending++;
  if (lane->state == SL_SIM_IDLE) sl_sim_try(sim, local, index);
  return sim->status;
}

/* Completions that did not fit last time come first. */
static void drain_spill(struct sl_sim *sim) {
  while (sim->spill_first < sim->spill_count && sim->out_count < sim->out_max) {
    sim->out[sim->out_count++] = sim->spill[sim->spill_first++];
  }
  if (sim->spill_first == sim->spill_count) sim->spill_first = sim->spill_count = 0;
}

static enum sl_status sim_advance(void *state, struct sl_completion *out, int max, int *count) {
  struct sl_sim *sim = state;
  sim->out = out;
  sim->out_max = max;
  sim->out_count = 0;
  sim->dry = false;
  drain_spill(sim);
  bool drained = sim->out_count > 0; /* a rank that ended among them must begin again before time advances */
  while (!drained && sim->out_count < max && sim->queue.count > 0 && !sim->dry && sim->status == SL_OK) {
    struct sl_event event = sl_queue_pop(&sim->queue);
    sim->time = event.time;
    sl_sim_event(sim, event.source);
  }
  *count = sim->out_count;
  if (sim->status != SL_OK || sim->out_count > 0) return sim->status;
  return sim->pending > 0 ? sl_sim_deadlock(sim) : SL_DONE;
}

/* Without events only if an op's end is known when it starts, and its start from what it waits for: transfers must not
 * slow down ops or each other, and no host may launch ops, because it takes them in order of time. Where ranks
 * disagree, the events explain it. */
static enum sl_status sim_play(void *state, enum sl_program_kind kind, int64_t step, const struct sl_run *run) {
  struct sl_sim *sim = state;
  bool ran = false;
  if (sim->slow > 0 || sim->one_thread || sl_cost_has_host(&sim->cost_rank) || sim->contention != NULL)
    return sl_sim_play(sim, step, run);
  SL_TRY(sl_flow_run(sim, kind, step, run, &ran));
  return ran ? SL_OK : SL_AGAIN;
}

static double sim_now(void *state) {
  const struct sl_sim *sim = state;
  return sim->time;
}

static double took(const struct sl_sim *sim, const struct sl_sim_rank *rank) {
  return rank->stepping ? sim->time - rank->began : rank->took;
}

/* Does the group span several nodes? Messages between stages (SL_GROUP_NONE) count as doing so if the world does. */
static bool leaves_nodes(const struct sl_plan *plan, enum sl_group group, int rank) {
  const int64_t node = plan->cluster->devices_per_node;
  if (node == 0 || plan->world <= node) return false;
  if (group == SL_GROUP_NONE) return true;
  const struct sl_members m = sl_plan_group(plan, group, rank);
  return m.size > 1 && sl_members_rank(&m, 0) / node != sl_members_rank(&m, m.size - 1) / node;
}

/* The variance of the step that `rank` ran last, from the errors of fitted numbers. */
static double variance_of_numbers(const struct sl_sim *sim, const struct sl_sim_rank *rank,
                                  const struct sl_sim_program *table) {
  struct sl_cost_fitted fitted = table->fitted;
  for (size_t row = 0; row < rank->traffic.count; row++) {
    const bool between = leaves_nodes(sim->job->plan, rank->traffic.items[row].group, rank->rank);
    for (int lane = 0; lane < SL_LANE_COUNT; lane++)
      sl_cost_fitted_add_transfers(&fitted, between, rank->call_s[row * SL_LANE_COUNT + (size_t)lane]);
  }
  return sl_cost_fitted_variance(&fitted, took(sim, rank));
}

/* The relative error of the step that `rank` runs, or would run. */
static enum sl_status step_error(const struct sl_sim *sim, const struct sl_sim_rank *rank, double *relative) {
  const bool steps = rank->now != NULL && sl_program_is_step(rank->now->program->kind);
  const struct sl_sim_program *table = steps ? rank->now : &sim->programs[rank->class_index][SL_PROGRAM_STEP];
  const struct sl_program *program = table->program;
  struct sl_cost_error error;
  SL_TRY(sl_cost_error_open(&error, &sim->cost_rank));
  struct sl_issue_ref at = sl_issue_find(program, 0);
  for (size_t i = 0; error.entries != NULL && i < program->issue_count; i++, sl_issue_next(program, &at))
    sl_cost_error_add(&error, &table->works[at.stored->op]);
  *relative = sl_cost_error_relative(&error, sim->runs);
  if (error.entries == NULL && *relative > 0) *relative = hypot(*relative, sqrt(variance_of_numbers(sim, rank, table)));
  sl_cost_error_close(&error);
  return SL_OK;
}

static int sim_local_of(const void *state, int rank) {
  const struct sl_sim *sim = state;
  return sim->local_of[rank];
}

/* Device memory besides the arena: the context, workspaces of libraries and, if a framework's allocator stands in for the
 * arena, what that reserves beyond it for a host that takes this part of the step, between the parts that it was found
 * for. */
static int64_t beside_arena(const struct sl_class *c, const struct sl_sim_rank *rank, int64_t fixed, double step_s) {
  const struct sl_memory_report *m = c->memory; /* the device's, which is the first; NULL: nothing was placed */
  if (m == NULL) return fixed;
  const double pace = step_s > 0 ? (SL_PACES - 1) * fmin(rank->launching / step_s, 1) : 0;
  const int below = pace < SL_PACES - 1 ? (int)pace : SL_PACES - 2;
  const int64_t low = m->needed_at[below], high = m->needed_at[below + 1];
  const int64_t needed = high + (int64_t)((double)(low - high) * (1 - (pace - below)));
  return fixed + (needed > m->peak_bytes ? needed - m->peak_bytes : 0);
}

static enum sl_status sim_report(void *state, int local, struct sl_exec_report *out) {
  struct sl_sim *sim = state;
  struct sl_sim_rank *rank = &sim->ranks[local];
  const struct sl_class *c = &sim->job->classes[rank->class_index];
  const int64_t driver = sl_plan_driver_bytes(sim->job->plan, rank->rank);
  const int64_t workspaces = sl_plan_workspace_bytes(sim->job->plan);
  SL_TRY(sl_parallel_join(sim->job->reserving));
  *out = (struct sl_exec_report){
      .call_hash = rank->call_hash,
      .context_bytes = beside_arena(c, rank, driver + workspaces, took(sim, rank)),
      .driver_bytes = driver,
  };
  SL_TRY(step_error(sim, rank, &out->step_error));
  memcpy(out->arena_bytes, c->arena_bytes, sizeof out->arena_bytes);
  for (size_t row = 0; row < rank->traffic.count; row++) {
    struct sl_traffic *t = &rank->traffic.items[row];
    t->time_s = 0;
    for (int lane = 0; lane < SL_LANE_COUNT; lane++) t->time_s += rank->call_s[row * SL_LANE_COUNT + (size_t)lane];
  }
  return sl_traffic_copy(&rank->traffic, &out->traffic, &out->traffic_count);
}

const struct sl_exec_ops sl_exec_sim = {
    .name = "sim",
    .measures = false,
    .open = sim_open,
    .begin = sim_begin,
    .play = sim_play,
    .issue = sim_issue,
    .advance = sim_advance,
    .now = sim_now,
    .local_of = sim_local_of,
    .report = sim_report,
    .close = sim_close,
};
