/* The executor table of the host backend. Ops wait in one queue per lane. advance() starts communication whose turn it
 * is, drives it, and runs the next compute op that is ready, all on the calling thread.
 *
 * Transfers, which are communication and copies between memories, are driven as far as possible before each compute op:
 * this thread has to run them at some time, and the sooner a block is sent, the sooner another rank can go on. */
#include "backend/common/module.h"
#include "backend/common/rank.h"
#include "backend/host/host.h"
#include "core/base/machine.h"
#include "core/op/wire.h"

#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void *state) {
  return sl_machine_clock() - ((struct sl_host *)state)->epoch_s;
}

static enum sl_status open_host(void **state, const struct sl_job *job, const struct sl_exec_options *options,
                                const int **local_ranks, int *local_count) {
  struct sl_host *host;
  SL_TRY(sl_host_open(&host, job, options));
  *state = host;
  *local_ranks = &host->rank;
  *local_count = 1;
  return SL_OK;
}

static void sample_memory(struct sl_host *host) {
  int64_t bytes = sl_host_process_bytes();
  if (bytes > host->peak_bytes) host->peak_bytes = bytes;
}

static enum sl_status begin(void *state, int local, enum sl_program_kind kind, int64_t step) {
  struct sl_host *host = state;
  (void)local;
  sample_memory(host);
  host->kind = kind;
  host->step = step;
  if (sl_program_is_step(kind)) host->trained = step;
  host->begun_s = now(host);
  for (int lane = 0; lane < SL_LANE_COUNT; lane++) {
    host->lanes[lane].complete = 0;
    host->lanes[lane].link_until_s = host->begun_s;
  }
  sl_host_board_begin(host);
  if (sl_program_counts(kind)) {
    sl_traffic_reset(&host->traffic, kind);
    if (sl_program_is_step(kind)) {
      host->call_hash = SL_HASH_CALLS;
      if (host->options.fail_rank == host->rank && host->options.fail_step == step) raise(SIGKILL);
    }
    const enum sl_status settled = host->nvme != NULL ? sl_nvme_checksum(host->nvme) : SL_OK;
    if (settled != SL_OK) return sl_host_die(host, settled);
  }
  if (host->options.poison && kind != SL_PROGRAM_SAVE) sl_host_arena_poison(host);
  enum sl_status poisoned = sl_host_poison_begin(host);
  if (poisoned != SL_OK) return sl_host_die(host, poisoned);
  if (kind == SL_PROGRAM_SAVE) {
    enum sl_status status = sl_tensors_save_open(&host->tensors);
    if (status != SL_OK) return sl_host_die(host, status);
  }
  host->last_move_s = now(host);
  host->anomaly = (struct sl_anomaly){0};
  return SL_OK;
}

static enum sl_status issue(void *state, int local, const struct sl_issued *op) {
  struct sl_host *host = state;
  (void)local;
  struct sl_host_lane *lane = &host->lanes[op->op->lane];
  if (lane->tail - lane->head == SL_HOST_QUEUE) return SL_AGAIN;
  lane->queue[lane->tail++ % SL_HOST_QUEUE] = *op;
  if (sl_program_is_step(host->kind) && sl_op_is_comm(op->op->kind))
    host->call_hash = sl_hash_call(host->call_hash, op->op->group, op->op->kind, sl_op_comm_bytes(op->op));
  return SL_OK;
}

static const struct sl_issued *head_of(const struct sl_host_lane *lane) {
  return lane->head == lane->tail ? NULL : &lane->queue[lane->head % SL_HOST_QUEUE];
}

static bool ready(const struct sl_host *host, const struct sl_issued *it) {
  for (uint32_t i = 0; i < it->wait_count; i++)
    if (host->lanes[it->waits[i].lane].complete < it->waits[i].count) return false;
  return true;
}

/* The completions of one advance(). */
struct harvest {
  struct sl_completion *out;
  int count, max;
};

static void complete(struct sl_host *host, struct sl_host_lane *lane, struct harvest *done, double end_s) {
  const struct sl_issued *it = head_of(lane);
  done->out[done->count++] =
      (struct sl_completion){.local = 0, .index = it->index, .start_s = lane->start_s, .end_s = end_s};
  lane->head++;
  lane->ends[lane->complete++ % SL_HOST_QUEUE] = end_s;
  lane->running = false;
  sl_host_board_finish(host, lane, it->index);
  host->last_move_s = end_s;
  sl_host_poison_complete(host, it->index);
}

/* Starts the communication op, or the copy between memories, at the head of `lane` if its waits are over. */
static enum sl_status start_transfer(struct sl_host *host, struct sl_host_lane *lane) {
  const struct sl_issued *it = head_of(lane);
  if (!it || lane->running || !sl_traffic_counts(it->op) || !ready(host, it)) return SL_OK;
  lane->start_s = now(host);
  lane->running = true;
  if (sl_op_is_comm(it->op->kind)) {
    sl_host_board_enter(host, lane);
    return sl_host_comm_start(host, lane, it);
  }
  SL_TRY(sl_host_link_start(host, lane, it));
  lane->copied_s = now(host);
  return SL_OK;
}

/* Drives the transfer that runs on `lane`; *over: whether it is complete. */
static enum sl_status drive_transfer(struct sl_host *host, struct sl_host_lane *lane, bool *over, bool *moved) {
  const struct sl_issued *it = head_of(lane);
  if (!sl_op_is_comm(it->op->kind)) return sl_host_link_drive(host, lane, now(host), over, moved);
  if (!lane->request.done) SL_TRY(sl_comm_progress(lane->comm, moved));
  *over = lane->request.done;
  return SL_OK;
}

static enum sl_status count_transfer(struct sl_host *host, const struct sl_host_lane *lane, double end_s) {
  const struct sl_issued *it = head_of(lane);
  return sl_op_is_comm(it->op->kind) ? sl_host_comm_count(host, lane, it, end_s)
                                     : sl_host_link_count(host, lane, it, end_s);
}

/* One round over all lanes; *moved says whether there was progress. */
static enum sl_status drive_transfers(struct sl_host *host, struct harvest *done, bool *moved) {
  for (int i = 0; i < SL_LANE_COUNT; i++) {
    struct sl_host_lane *lane = &host->lanes[i];
    bool over;
    SL_TRY(start_transfer(host, lane));
    if (!lane->running) continue;
    SL_TRY(drive_transfer(host, lane, &over, moved));
    if (!over || done->count == done->max) continue;
    double end_s = now(host);
    SL_TRY(count_transfer(host, lane, end_s));
    SL_TRY(sl_host_look(host, head_of(lane), end_s));
    complete(host, lane, done, end_s);
    *moved = true;
  }
  return SL_OK;
}

/* The first lane whose head is a ready compute op. */
static struct sl_host_lane *ready_compute(struct sl_host *host) {
  for (int i = 0; i < SL_LANE_COUNT; i++) {
    struct sl_host_lane *lane = &host->lanes[i];
    const struct sl_issued *it = head_of(lane);
    if (it && !sl_traffic_counts(it->op) && ready(host, it)) return lane;
  }
  return NULL;
}

static bool idle(const struct sl_host *host) {
  for (int i = 0; i < SL_LANE_COUNT; i++)
    if (head_of(&host->lanes[i])) return false;
  return true;
}

/* Whether a copy waits only for its link. That counts as progress, however slow the link. */
static bool link_busy(const struct sl_host *host) {
  for (int i = 0; i < SL_LANE_COUNT; i++)
    if ((i == SL_LANE_H2D || i == SL_LANE_D2H) && host->lanes[i].running) return true;
  return false;
}

/* Reports what hangs: a running communication op if there is one, otherwise the first op whose waits are not over. */
static enum sl_status stuck(const struct sl_host *host) {
  const struct sl_issued *it = NULL;
  bool running = false;
  for (int i = 0; i < SL_LANE_COUNT && !running; i++) {
    const struct sl_host_lane *lane = &host->lanes[i];
    if (!head_of(lane) || (it && !lane->running)) continue;
    it = head_of(lane);
    running = lane->running;
  }
  char action[64], group[64] = "", others[1024];
  sl_action_print(action, sizeof action, &it->instance->action);
  if (it->op->group != SL_GROUP_NONE)
    snprintf(group, sizeof group, " of group %s (member %d of %d)", sl_group_name(it->op->group),
             host->members[it->op->group].index, host->members[it->op->group].size);
  else if (sl_op_class_of(it->op->kind) == SL_CLASS_P2P)
    snprintf(group, sizeof group, " with stage %d", (int)it->op->peer);
  sl_host_board_tell(host, it, running, others, sizeof others);
  return sl_fail(SL_ERR_PEER,
                 "no progress for %g s: #%u %s%s on lane %s in action %s %s%s (SHARDLAB_TIMEOUT_S sets the limit)",
                 host->timeout_s, it->index, sl_op_name(it->op->kind), group, sl_lane_name(it->op->lane), action,
                 running ? "waits for its peers" : "waits for earlier ops", others);
}

static enum sl_status run_ready(struct sl_host *host, struct sl_host_lane *lane, struct harvest *done) {
  lane->start_s = now(host);
  SL_TRY(sl_host_run(host, head_of(lane)));
  SL_TRY(sl_host_look(host, head_of(lane), now(host)));
  complete(host, lane, done, now(host));
  return SL_OK;
}

/* Drives communication as far as it goes without waiting. */
static enum sl_status drive_all(struct sl_host *host, struct harvest *done) {
  for (bool moved = true; moved;) {
    moved = false;
    SL_TRY(drive_transfers(host, done, &moved));
    if (moved) host->last_move_s = now(host);
    if (done->count == done->max) break;
  }
  return SL_OK;
}

static enum sl_status advance_inner(struct sl_host *host, struct harvest *done) {
  for (int waits = 0;; waits++) {
    SL_TRY(drive_all(host, done));
    struct sl_host_lane *lane = done->count < done->max ? ready_compute(host) : NULL;
    if (lane) SL_TRY(run_ready(host, lane, done));
    if (done->count > 0) return SL_OK;
    if (idle(host)) return SL_DONE;
    const double now_s = now(host);
    sl_host_board_beat(host, host->epoch_s + now_s);
    if (link_busy(host)) host->last_move_s = now_s;
    if (now_s - host->last_move_s > sl_host_patience(host)) return stuck(host);
    sl_host_wait_a_little(host, waits, now_s - host->last_move_s);
  }
}

static enum sl_status advance(void *state, struct sl_completion *out, int max, int *count) {
  struct harvest done = {.out = out, .max = max};
  enum sl_status status = advance_inner(state, &done);
  *count = done.count;
  return status == SL_OK || status == SL_DONE ? status : sl_host_die(state, status);
}

static enum sl_status read_back(void *state, int local, int32_t buffer, int64_t offset, int64_t bytes, void *dst) {
  const struct sl_host *host = state;
  char *at;
  (void)local;
  SL_TRY(sl_rank_bytes(host->rank_class, host->arena, buffer, offset, bytes, &at));
  memcpy(dst, at, (size_t)bytes);
  return SL_OK;
}

static enum sl_status write_over(void *state, int local, int32_t buffer, int64_t offset, int64_t bytes,
                                 const void *src) {
  const struct sl_host *host = state;
  char *at;
  (void)local;
  SL_TRY(sl_rank_bytes(host->rank_class, host->arena, buffer, offset, bytes, &at));
  memcpy(at, src, (size_t)bytes);
  return SL_OK;
}

static enum sl_status report(void *state, int local, struct sl_exec_report *out) {
  struct sl_host *host = state;
  (void)local;
  sample_memory(host);
  *out = (struct sl_exec_report){
      .call_hash = host->call_hash, .context_bytes = host->context_bytes, .functional = host->shares_cores};
  if (host->context_bytes > 0 && host->peak_bytes > host->context_bytes)
    out->process_bytes = host->peak_bytes - host->context_bytes;
  memcpy(out->arena_bytes, host->arena_bytes, sizeof out->arena_bytes);
  return sl_traffic_copy(&host->traffic, &out->traffic, &out->traffic_count);
}

static enum sl_status anomaly(const void *state, struct sl_anomaly *out) {
  *out = ((const struct sl_host *)state)->anomaly;
  return SL_OK;
}

static enum sl_status exchange(void *state, const void *mine, size_t bytes, void *all) {
  struct sl_host *host = state;
  MPI_Request request;
  if (MPI_Iallgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, host->everyone, &request) != MPI_SUCCESS)
    return sl_fail(SL_ERR_PEER, "MPI_Iallgather failed");
  const enum sl_status met = sl_host_meet(host, &request, "an exchange of all ranks");
  return met == SL_OK ? SL_OK : sl_host_die(host, met);
}

static enum sl_status agree(void *state, enum sl_status mine) {
  return sl_host_agree(state, mine);
}

static void close_host(void *state) {
  sl_host_close(state);
}

SL_BACKEND_MODULE(host, .probe = NULL)
