/* What a block costs, from our own lowering: a plan of a few layers with the same shapes is lowered, its ops are priced by
 * cost/, and its actions are played on the lanes of one rank. Two such plans, one a block deeper than the other, give what a
 * block adds and what is left for the ends; all is linear in the number of blocks of a stage. */
#pragma once

#include "core/plan/plan.h"
#include "cost/share.h"
#include "fast/play.h"
#include "fast/works.h"

/* A number of a stage of n blocks: ends + n block. */
struct sl_fast_linear {
  double ends, block;
};

static inline double sl_fast_at(struct sl_fast_linear x, double blocks) {
  return x.ends + blocks * x.block;
}

/* An action of a stage. It begins when the device is free and its input has arrived, but part of it may not wait for the input
 * (what is recomputed), nor be waited for by the output (the last weights' gradients): seconds from either to its end and to its
 * output, which are the later of the two. `bare`: to its end, were tensor parallelism's collectives free.
 * The host is a third thing that it may wait for: `hosted`, from when the host comes to it, and `host`, what the host takes for
 * it: -INFINITY and 0 where the host takes no time; `host_arrived`: what it takes from the input on. `launched`: the host's time
 * alone, the least that `hosted` is at depths where the host falls behind that the sample does not reach. */
struct sl_fast_action {
  struct sl_fast_linear end, end_arrived, end_hosted, out, out_arrived, out_hosted, bare, host, host_arrived, launched;
};

/* Where a stage stands: both ends of the model (no pipeline), its first, a middle or its last stage. */
enum sl_fast_place { SL_FAST_WHOLE, SL_FAST_FIRST, SL_FAST_MIDDLE, SL_FAST_LAST, SL_FAST_PLACES };

/* A tensor of a stage, in model order. */
struct sl_fast_tensor {
  int64_t numel;                  /* on this rank */
  int where;                      /* -1 embedding, 0 block, 1 behind the blocks */
  bool partial, tied, replicated; /* as in struct sl_placed */
  /* Seconds from the start of a backward to the op that completes its gradient, and to that op's end; of a block, of the
   * topmost one. In the backward of the first micro-batch, and in that of another. */
  struct sl_fast_linear begins[2], ready[2];
  struct sl_fast_linear hosted[2]; /* `ready` from when the host comes to the backward; -INFINITY: it takes no time */
  struct sl_fast_linear
      left; /* bytes: the most that lives behind that op, up to the end of the block, in the last backward */
};

enum { SL_FAST_TENSORS = 24 };

/* Launches and bytes of ops that only move bytes. */
struct sl_fast_moved {
  struct sl_fast_linear launches, bytes;
};

/* When the most lives: up to the end of the first backward, or later; in forwards, in backwards up to their last block, or from
 * there on. Which is the most changes with the number of blocks, each alone is linear in it. */
enum sl_fast_time { SL_FAST_EARLY, SL_FAST_LATE, SL_FAST_TIMES };
enum sl_fast_part { SL_FAST_FORWARD, SL_FAST_TOP, SL_FAST_BOTTOM, SL_FAST_PARTS };

struct sl_fast_stage {
  enum sl_fast_place place;
  struct sl_fast_action forward, first, next; /* backward of the first micro-batch of a step, and of others */
  struct sl_fast_tensor tensor[SL_FAST_TENSORS];
  int tensor_count;
  struct sl_fast_moved norm, update; /* of the step, by one of `members` */
  struct sl_fast_moved beside;       /* by the kernel set's passes beside the update */
  double control;                    /* seconds of the rest of the step on the device */
  struct sl_fast_linear host;        /* seconds of the host for the step's launches */
  struct sl_fast_linear host_norm;   /* of that, up to the norm */
  /* Memory, bytes. What lives across steps is known from sizes; beyond it live: */
  int states;                 /* of the optimizer, 4 bytes an element each; across steps */
  int gradient;               /* bytes of an element of gradients that live across steps; 0: they do not */
  int in_flight;              /* micro-batches of the sample at its peak */
  struct sl_fast_linear kept; /* by each of them */
  double input;               /* of the next micro-batch, which is received before its forward is due */
  struct sl_fast_linear peak[SL_FAST_TIMES][SL_FAST_PARTS];
  struct sl_fast_linear peak_last; /* in the last block of the last backward */
  struct sl_fast_linear peak_step; /* in the optimizer's step */
};

/* What is kept of a small plan's rank: its stage without seconds, and what these are made of. */
struct sl_fast_recording {
  struct sl_fast_stage stage;
  struct sl_fast_track forward, first, next;
  int32_t *control; /* works of the rest of the step on the device */
  size_t control_count, control_capacity;
  int32_t *step[2]; /* works of the step: of its norm, and the others */
  size_t step_count[2], step_capacity[2];
};

enum { SL_FAST_DEPTHS = 2 };

struct sl_fast_sample {
  struct sl_fast_stage stage[SL_FAST_PLACES]; /* those of the kind of plan that was asked for, once it is priced */
  bool stalls;                                /* sl_cost_pipeline_stalls, set by the owner before it is priced */
  int members;                                /* data-parallel ranks of the sample, 1 or 2 */
  struct sl_fast_recording recording[SL_FAST_DEPTHS][SL_FAST_PLACES];
  struct sl_fast_works works;
};

/* The sample of `config` for `model` on `cluster`: with a pipeline (`pp` > 1) its first, middle and last stage, else the whole.
 * `members`: 1 or 2 data-parallel ranks. `config` has tp, micro-batch and the like; its degrees of pp and accumulation are not
 * read. It has no seconds yet. Errors: those of a plan. */
enum sl_status sl_fast_sample_take(struct sl_fast_sample *out, const struct sl_model *model,
                                   const struct sl_config *config, const struct sl_cluster *cluster, bool pipeline,
                                   int members);
/* Fill in the stages, from the numbers of `cluster` and `rank` as they are now. */
enum sl_status sl_fast_sample_price(struct sl_fast_sample *sample, const struct sl_cluster *cluster,
                                    const struct sl_cost_rank *rank);
void sl_fast_sample_free(struct sl_fast_sample *sample);
