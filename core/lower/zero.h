/* The sharding strategy as the lowering sees it: ZeRO's stages, DDP, FSDP and hybrid sharding. */
#pragma once

#include "core/lower/build.h"

/* The position of an action in its step; of a backward, unless stated otherwise. */
struct sl_pass {
  /* first or last of its stage: gradients of the stage alone start fresh, and are complete */
  bool first, last;
  bool tied_first, tied_last; /* the same over both stages that share a tied embedding on one rank */
  bool end;                   /* the rank's last: compute waits for the reductions */
  bool again;                 /* an UNSHARD: the step has gathered the stage before */
  bool gathers;               /* a forward: the stage's first, if it gathers what the step before has updated */
};

/* Buffers of the states, with the drafts. */
enum sl_status sl_zero_open(struct sl_lowering *lowering);
/* Buffers that the strategy needs for the current stage, whose drafts must exist. */
enum sl_status sl_zero_open_stage(struct sl_lowering *lowering);
void sl_zero_close(struct sl_lowering *lowering);
/* Before and after programs are lowered from the drafts. */
enum sl_status sl_zero_start(struct sl_lowering *lowering);
void sl_zero_stop(struct sl_lowering *lowering);
/* One micro-batch's forward or backward on the current stage, with its gathers and reductions. */
enum sl_status sl_zero_forward(struct sl_lowering *lowering, struct sl_program *program, struct sl_pass pass);
enum sl_status sl_zero_backward(struct sl_lowering *lowering, struct sl_program *program, struct sl_pass pass);
/* The half of a split backward that computes no gradient of a weight. */
enum sl_status sl_zero_backward_input(struct sl_lowering *lowering, struct sl_program *program);
enum sl_status sl_zero_backward_weight(struct sl_lowering *lowering, struct sl_program *program, struct sl_pass pass);
/* Gathers all of the stage's parameters (UNSHARD), for the first time in a step or again. */
enum sl_status sl_zero_unshard(struct sl_lowering *lowering, struct sl_program *program, bool again);
