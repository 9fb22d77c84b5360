/* The schedule: what each pipeline rank does, as a list of actions in the text form of PyTorch's pipelining IR
 * (torch/distributed/pipelining/schedules.py): "<stage><OP><microbatch>", for example 0F3, 1SEND_F3, 0UNSHARD.
 *
 * Builders emit compute actions only. Small passes, each of which rewrites a schedule, add the communication that ZeRO
 * and the pipeline need:
 *   sl_schedule_generate(&s, "zbv", 4, 2, 8)   F, I and W (or B) only
 *   sl_schedule_validate(&s)                   everything once, in order
 *   sl_schedule_lower_unshard(&s, 3)           UNSHARD, RESHARD      (parameters sharded: ZeRO-3)
 *   sl_schedule_lower_reduce(&s)               REDUCE_GRAD
 *   sl_schedule_lower_sends(&s)                SEND_F, RECV_F, SEND_B, RECV_B
 *   sl_schedule_dry_run(&s, &costs, &run)      in ticks, without a clock: deadlock, bubble, micro-batches in flight
 * With p ranks and v stages a rank there are p * v stages. Stage c * p + r is on rank r ("interleaved", "looped-bfs",
 * "interleaved-zb"); in the V of "zbv" (v = 2) rank r has stages r and 2p - 1 - r. */
#pragma once

#include "core/base/status.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* I and W are the two halves of B: the gradient of the input, for which the preceding stage waits, and that of the
 * weights, which only the optimizer needs. IDLE is a tick without work, an empty cell of a CSV; the passes drop it.
 *   name   text */
#define SL_ACTION_MAP(X)                                                                                               \
  X(FORWARD, "F")                                                                                                      \
  X(BACKWARD, "B")                                                                                                     \
  X(BACKWARD_INPUT, "I")                                                                                               \
  X(BACKWARD_WEIGHT, "W")                                                                                              \
  X(UNSHARD, "UNSHARD")                                                                                                \
  X(RESHARD, "RESHARD")                                                                                                \
  X(REDUCE_GRAD, "REDUCE_GRAD")                                                                                        \
  X(SEND_F, "SEND_F")                                                                                                  \
  X(RECV_F, "RECV_F")                                                                                                  \
  X(SEND_B, "SEND_B")                                                                                                  \
  X(RECV_B, "RECV_B")                                                                                                  \
  X(STEP, "STEP")                                                                                                      \
  X(INIT, "INIT")                                                                                                      \
  X(SAVE, "SAVE")                                                                                                      \
  X(IDLE, "")

enum sl_action_kind {
#define X(name, text) SL_ACTION_##name,
  SL_ACTION_MAP(X)
#undef X
      SL_ACTION_COUNT
};

struct sl_action {
  enum sl_action_kind kind;
  int stage;
  int micro_batch; /* -1: none */
};

struct sl_schedule {
  int ranks;                  /* pipeline ranks */
  int stages;                 /* of the whole pipeline */
  int micro_batches;          /* of one step */
  int *stage_rank;            /* (stages): the pipeline rank of each stage */
  struct sl_action **actions; /* per pipeline rank */
  size_t *counts, *capacities;
};

/* Opens a schedule for `ranks` pipeline ranks of `stages` stages each (0: the default of `name`): by name
 * (sl_schedule_generate), or from a file if `name` ends in ".csv". Errors: SL_ERR_INPUT, also for a file of another
 * size. */
enum sl_status sl_schedule_open_named(struct sl_schedule *schedule, const char *name, int ranks, int stages,
                                      int micro_batches);
/* Is `name` that of a file? */
bool sl_schedule_is_file(const char *name);

/* Generates the compute actions of `ranks` pipeline ranks with `stages` stages each, without STEP:
 *   gpipe           all forwards, then all backwards                                            stages 1
 *   1f1b            p - r - 1 forwards to warm up, then one forward, one backward in turn       stages 1
 *   interleaved     the same over stages: Megatron-LM's, PyTorch's Interleaved1F1B              any stages
 *   looped-bfs      stage by stage, all micro-batches of a stage first (arXiv 2211.05953)       any stages
 *   zb-h1           1f1b with I and W separate, W delayed by r micro-batches (arXiv 2401.10241) stages 1
 *   interleaved-zb  the same over stages: PyTorch's InterleavedZeroBubble                       any stages
 *   zbv             ZB-V of the same paper; PyTorch's ZBVZeroBubble                             stages 2
 * interleaved and interleaved-zb need micro_batches to be a multiple of max(1, micro_batches / ranks), the rounds in
 * which PyTorch deals out the micro-batches; any multiple of `ranks`, and anything below 2 * ranks, is one. Errors:
 * SL_ERR_INPUT for an unknown name (with the nearest one) and for numbers that the schedule does not support. */
enum sl_status sl_schedule_generate(struct sl_schedule *schedule, const char *name, int ranks, int stages,
                                    int micro_batches);
/* The name of the i-th builder, NULL after the last, and a one-line summary. */
const char *sl_schedule_name(int i, const char **summary);
/* The default number of stages of `name`: 2 for schedules that need more than one, else 1. */
int sl_schedule_default_stages(const char *name);
/* Does the schedule `name` deal so many stages to a rank? If not, *wanted says how many it does: "2", "1 or more". A .csv
 * and an unknown name are judged elsewhere. */
struct sl_schedule_stages {
  char text[32];
};
bool sl_schedule_deals(const char *name, int stages, struct sl_schedule_stages *wanted);

/* Allocates `ranks` empty lists and `stages` stages; the caller sets stage_rank. */
enum sl_status sl_schedule_open(struct sl_schedule *schedule, int ranks, int stages, int micro_batches);
/* Appends `more` ranks that have no stage and do nothing. */
enum sl_status sl_schedule_add_idle(struct sl_schedule *schedule, int more);
static inline enum sl_status sl_schedule_append(struct sl_schedule *schedule, int rank, struct sl_action action) {
  SL_TRY(sl_room(&schedule->actions[rank], &schedule->capacities[rank], schedule->counts[rank] + 1, sizeof action));
  schedule->actions[rank][schedule->counts[rank]++] = action;
  return SL_OK;
}
void sl_schedule_free(struct sl_schedule *schedule);
/* Of a table with an entry for each stage and micro-batch: the index. */
static inline size_t sl_schedule_cell(const struct sl_schedule *schedule, int stage, int micro_batch) {
  return (size_t)stage * (size_t)schedule->micro_batches + (size_t)micro_batch;
}
/* Does it make the gradient that the stage before waits for? */
static inline bool sl_action_is_backward(enum sl_action_kind kind) {
  return kind == SL_ACTION_BACKWARD || kind == SL_ACTION_BACKWARD_INPUT;
}

/* The text form of one action, and back; IDLE is "". sl_action_parse fails with SL_ERR_INPUT and the text. */
void sl_action_print(char *out, size_t size, const struct sl_action *action);
enum sl_status sl_action_parse(struct sl_action *action, const char *text);
/* Prints one line per rank, actions separated by commas: PyTorch's CSV. */
void sl_schedule_print(const struct sl_schedule *schedule, FILE *out);
/* Reads a schedule from that CSV, compute-only or lowered; printing it gives the same cells. Stages, micro-batches and
 * the rank of each stage follow from the cells. Blanks around a cell and CRLF are accepted. WAIT_* cells, which PyTorch
 * writes since 2.9, are skipped, since the program determines what waits for what. OVERLAP_F_B is refused. `name`
 * stands for the file in messages. Errors: SL_ERR_INPUT with file:line:column, the cell and what was expected. The
 * result may still be an invalid schedule, see sl_schedule_validate. */
enum sl_status sl_schedule_load(struct sl_schedule *schedule, const char *path);
enum sl_status sl_schedule_parse(struct sl_schedule *schedule, const char *name, const char *bytes, size_t size);

/* Checks that a schedule is complete and in order on each rank. Every micro-batch has F and either B or I and W exactly
 * once on every stage, on the rank of the stage, F before B or I before W. If there are sends, each edge between two
 * ranks has one SEND after its producer and one RECV before its consumer, and an edge within a rank has none. If there
 * are UNSHARDs, a stage computes between UNSHARD and RESHARD. REDUCE_GRAD occurs at most once per stage, after its last
 * B or W. The order across ranks is left to the dry run. Errors: SL_ERR_CHECK with rank, step, the action and the grid
 * with its place marked. */
enum sl_status sl_schedule_validate(const struct sl_schedule *schedule);

/* Inserts UNSHARD before a stage's first use, and RESHARD once it is no longer among the next `max_active` stages to
 * compute, as PyTorch's _add_unshard_reshard does: at most max_active stages are gathered at a time, that far in
 * advance. */
enum sl_status sl_schedule_lower_unshard(struct sl_schedule *schedule, int max_active);
/* Inserts REDUCE_GRAD after a stage's last B or W, as PyTorch's _add_reduce_grad: one reduction a step. */
enum sl_status sl_schedule_lower_reduce(struct sl_schedule *schedule);
/* Inserts sends and receives between stages of different ranks, as PyTorch's _add_send_recv. The ranks are played in
 * turn, one action each. An F, B or I is followed by its SEND, and at the same time the RECV is appended to what the
 * peer has played so far. Every list is thus part of one common sequence in which a SEND and its RECV are adjacent:
 * even if every action blocks and every send is a rendezvous, the first unfinished entry of that sequence can proceed.
 * Errors: SL_ERR_CHECK with the grid if the schedule deadlocks by itself, SL_ERR_INPUT if it has sends already. */
enum sl_status sl_schedule_lower_sends(struct sl_schedule *schedule);
/* The same for ranks that do one thing at a time, messages included. Messages are exchanged after every rank has played
 * its action of a turn, activations first, in the order of DeepSpeed's TrainSchedule (runtime/pipe/schedule.py, steps):
 * a stage receives its next activation after the backward during which the preceding stage was idle, not before it. */
enum sl_status sl_schedule_lower_sends_in_turn(struct sl_schedule *schedule);

/* Duration of each compute action in ticks. */
struct sl_schedule_costs {
  int forward, backward, input, weight;
};
#define SL_SCHEDULE_UNIT_COSTS ((struct sl_schedule_costs){.forward = 1, .backward = 2, .input = 1, .weight = 1})

struct sl_schedule_run {
  int ranks;
  int64_t makespan; /* ticks from the first action to the end of the last */
  double bubble;    /* idle share of ranks * makespan */
  int *peak; /* (ranks): most activations held at once, one per micro-batch and stage, from F to the end of B or W */
  int64_t **start; /* per rank and action: start tick; -1 for actions that take no time */
};

/* Plays the schedule: every rank executes its list in order, each action as soon as its inputs are available. Transfers
 * take no time and do not block. A lowered schedule is also played with sends that are a rendezvous and actions that
 * block, without time. Errors: SL_ERR_CHECK if it deadlocks: which rank waits for what, and the grid. */
enum sl_status sl_schedule_dry_run(const struct sl_schedule *schedule, const struct sl_schedule_costs *costs,
                                   struct sl_schedule_run *run);
void sl_schedule_run_free(struct sl_schedule_run *run);

/* Shared by the files of core/schedule. */
static inline bool sl_action_computes(enum sl_action_kind kind) {
  return kind == SL_ACTION_FORWARD || kind == SL_ACTION_BACKWARD || kind == SL_ACTION_BACKWARD_INPUT ||
         kind == SL_ACTION_BACKWARD_WEIGHT;
}
/* The stage at the other end of a SEND or RECV: stage + 1 or - 1. */
static inline int sl_action_peer_stage(const struct sl_action *a) {
  const bool down = a->kind == SL_ACTION_SEND_F || a->kind == SL_ACTION_RECV_B;
  return down ? a->stage + 1 : a->stage - 1;
}
/* Fails with SL_ERR_CHECK: "rank R, step S: 0F3: <message>" and the grid. */
enum sl_status sl_schedule_fail(const struct sl_schedule *schedule, int rank, int64_t step, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
