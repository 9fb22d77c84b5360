/* The schedule: what each pipeline rank does, as a list of readable actions in the text form of PyTorch's pipelining IR
 * (torch/distributed/pipelining/schedules.py): "<stage><OP><microbatch>", for example 0F3, 1SEND_F3, 0UNSHARD.
 *
 * Builders emit compute only; what communication a stage's ZeRO level, tensor or pipeline parallelism needs is added by
 * the lowering passes. */
#ifndef SL_CORE_SCHEDULE_H
#define SL_CORE_SCHEDULE_H

#include "core/plan.h"
#include "core/status.h"

#include <stdint.h>
#include <stdio.h>

/*        name          text */
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
  X(SAVE, "SAVE")

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
  struct sl_action **actions; /* per pipeline rank */
  size_t *counts, *capacities;
};

/* Compute actions of every pipeline rank by the name in config->sl.schedule. Errors: SL_ERR_INPUT for an unknown name.
 */
enum sl_status sl_schedule_build(struct sl_schedule *schedule, const struct sl_plan *plan);
enum sl_status sl_schedule_append(struct sl_schedule *schedule, int rank, struct sl_action action);
void sl_schedule_free(struct sl_schedule *schedule);

/* Text form of one action, and back. sl_action_parse fails with SL_ERR_INPUT and the text. */
void sl_action_print(char *out, size_t size, const struct sl_action *action);
enum sl_status sl_action_parse(struct sl_action *action, const char *text);
/* One line per rank, actions separated by commas: PyTorch's CSV. */
void sl_schedule_print(const struct sl_schedule *schedule, FILE *out);

#endif
