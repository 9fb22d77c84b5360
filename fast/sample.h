/* The cost of a block, from our own lowering: a plan of a few layers with the same shapes is lowered, its ops are
 * priced by cost/, and its actions are played on the lanes of one rank. Two such plans, one with a block more per stage
 * than the other, give the cost of a block and that of the rest of the stage. Every cost is linear in the number of
 * blocks of a stage. */
#pragma once

#include "core/plan/plan.h"
#include "cost/share.h"
#include "fast/play.h"
#include "fast/works.h"

/* A quantity of a stage of n blocks: ends + n block. */
struct sl_fast_linear {
  double ends, block;
};

static inline double sl_fast_at(struct sl_fast_linear x, double blocks) {
  return x.ends + blocks * x.block;
}

/* An action of a stage. It begins when the device is free and its input has arrived. But part of it may not need the
 * input (recomputation), and its output may not need part of it (the last weight gradients). Seconds are therefore
 * given from either moment to its end and to its output; the later one counts. `bare`: to its end, if the collectives
 * of tensor parallelism took no time. The host is a third thing that it may wait for. `hosted`: seconds from when the
 * host reaches it; `host`: the host's seconds for it; -INFINITY and 0 if the host takes no time. `host_arrived`: the
 * host's seconds from the input on. `launched`: the host's time alone, a lower bound of `hosted` at depths where the
 * host falls behind as it does not in the sample. */
struct sl_fast_action {
  struct sl_fast_linear end, end_arrived, end_hosted, out, out_arrived, out_hosted, bare, host, host_arrived, launched;
};

/* Which stage of the model it is: the whole model (no pipeline), the first, a middle or the last stage. */
enum sl_fast_place { SL_FAST_WHOLE, SL_FAST_FIRST, SL_FAST_MIDDLE, SL_FAST_LAST, SL_FAST_PLACES };

/* A tensor of a stage, in model order. */
struct sl_fast_tensor {
  int64_t numel;                  /* on this rank */
  int where;                      /* -1 embedding, 0 block, 1 after the blocks */
  bool partial, tied, replicated; /* as in struct sl_placed */
  /* Seconds from the start of a backward to the start and to the end of the op that completes the tensor's gradient,
   * for a block's tensor in the topmost block: [0] in the backward of the first micro-batch, [1] in that of another. */
  struct sl_fast_linear begins[2], ready[2];
  struct sl_fast_linear hosted[2]; /* `ready`, counted from when the host reaches the backward; -INFINITY if the host
                                    * takes no time */
  /* Bytes: the memory after that op, and the most of it up to the end of the block: [0] in the last of several
   * backwards, [1] in that of a step's only micro-batch. */
  struct sl_fast_linear now[2], left[2];
};

enum { SL_FAST_TENSORS = 24 };

/* The launches and bytes of ops that only move bytes. */
struct sl_fast_moved {
  struct sl_fast_linear launches, bytes;
};

/* An op of the step behind the norm. It moves bytes, as those of `update` or `beside`, or takes seconds; `host`: the
 * host's seconds from the start of the norm to its launch. Ops that find no place of their own join the last. */
struct sl_fast_stepped {
  struct sl_fast_moved moved;
  bool beside;
  double seconds;
  struct sl_fast_linear host;
};
enum { SL_FAST_STEPPED = 12 };

/* When memory peaks: up to the end of the first backward, or later; in forwards, in the topmost block of a backward and
 * before, in the lowest, or after that. Which of these is highest changes with the number of blocks; each is linear in
 * it. From block to block activations go and gradients come, so no block between is higher than both. */
enum sl_fast_time { SL_FAST_EARLY, SL_FAST_LATE, SL_FAST_TIMES };
enum sl_fast_part {
  SL_FAST_FORWARD,
  SL_FAST_TOP,
  SL_FAST_UPPER,
  SL_FAST_LOWER,
  SL_FAST_BOTTOM,
  SL_FAST_END,
  SL_FAST_PARTS
};

struct sl_fast_stage {
  enum sl_fast_place place;
  struct sl_fast_action forward, first, next; /* the backward of the first micro-batch of a step, and of the others */
  struct sl_fast_tensor tensor[SL_FAST_TENSORS];
  int tensor_count;
  struct sl_fast_moved norm, update;              /* the step's norm and update, done by one of `members` */
  struct sl_fast_moved norm_last;                 /* the last op of the norm */
  struct sl_fast_moved beside;                    /* passes of the kernel set and copies in addition to the update */
  double control;                                 /* seconds of the rest of the step, on the device */
  struct sl_fast_linear host;                     /* the host's seconds for the step's launches */
  struct sl_fast_linear host_norm;                /* the part of it up to the norm */
  struct sl_fast_stepped behind[SL_FAST_STEPPED]; /* the ops behind the norm but for all-gathers, in order */
  int behind_count;
  /* Memory, in bytes. What lives across steps is known from sizes. In addition: */
  int states;                 /* tensors of the optimizer's state, of 4 bytes per element; they live across steps */
  int gradient;               /* bytes per element of gradients that live across steps; 0 if they do not */
  int in_flight;              /* micro-batches in flight at the sample's peak */
  struct sl_fast_linear kept; /* held by each of them */
  double input;               /* of the next micro-batch, which is received before its forward */
  struct sl_fast_linear peak[SL_FAST_TIMES][SL_FAST_PARTS];
  /* In the second block of a backward, and before its first gradient; [k] as in sl_fast_tensor.now. */
  struct sl_fast_linear under_top[2], under_top_opens[2];
  struct sl_fast_linear peak_last; /* in the last block of the last backward */
  struct sl_fast_linear peak_step; /* in the optimizer step */
};

/* What is kept of a rank of a small plan: its stage without seconds, and the tracks and works that give them. */
struct sl_fast_recording {
  struct sl_fast_stage stage;
  struct sl_fast_track forward, first, next;
  int32_t *control; /* works of the rest of the step, on the device */
  size_t control_count, control_capacity;
  int32_t *step[2]; /* works of the step: those of its norm, and the others */
  size_t step_count[2], step_capacity[2];
};

enum { SL_FAST_DEPTHS = 2 };

struct sl_fast_sample {
  struct sl_fast_stage stage[SL_FAST_PLACES]; /* those of the requested kind of plan, once priced */
  bool stalls;                                /* sl_cost_pipeline_stalls; the owner sets it before pricing */
  int members;                                /* data-parallel ranks of the sample, 1 or 2 */
  struct sl_fast_recording recording[SL_FAST_DEPTHS][SL_FAST_PLACES];
  struct sl_fast_works works;
};

/* Takes a sample of `config` for `model` on `cluster`: with `pipeline` its first, middle and last stage, otherwise the
 * whole model. `members`: 1 or 2 data-parallel ranks. `config` has tp, the micro-batch size and so on; its pp and
 * gradient accumulation are not read. The sample has no seconds until it is priced. Errors: those of a plan. */
enum sl_status sl_fast_sample_take(struct sl_fast_sample *out, const struct sl_model *model,
                                   const struct sl_config *config, const struct sl_cluster *cluster, bool pipeline,
                                   int members);
/* Fills in the stages from the current numbers of `cluster` and `rank`. */
enum sl_status sl_fast_sample_price(struct sl_fast_sample *sample, const struct sl_cluster *cluster,
                                    const struct sl_cost_rank *rank);
void sl_fast_sample_free(struct sl_fast_sample *sample);
