/* The building blocks of lowering: buffers, operands that may still be logical tensors, drafts of ops, ops and
 * instances.
 *
 * A model's builder (core/models) writes what one action computes as drafts: ops whose parameter and gradient operands
 * are still logical tensors; models/epilogue.c fuses drafts that one kernel can do. lower/zero.c binds those operands
 * to buffers according to the ZeRO stage and adds the communication that this requires; only it and its neighbours know
 * what a ZeRO stage means. lower/step.c drives both over the schedule; core/job builds all programs of a class. */
#pragma once

#include "core/program/program.h"

enum { SL_MAX_OPERANDS = 12 };

/* An operand of a draft: a slice of a buffer, or, with buffer < 0, the parameter or gradient of a placed tensor. */
struct sl_operand {
  int32_t buffer;
  int32_t placed;
  bool gradient;
  enum sl_group place_group; /* for a shard_stride: the group whose index is used */
  struct sl_slice slice;     /* offset and bytes relative to the tensor when buffer < 0 */
};

/* The half of a split backward that an op belongs to: I computes the gradient of the stage's input, W those of its
 * weights, for which no other rank waits. */
enum sl_half { SL_HALF_INPUT, SL_HALF_WEIGHT };

struct sl_draft {
  struct sl_op op;
  struct sl_operand operand[SL_MAX_OPERANDS];
  int operand_count;
  enum sl_half half; /* of a backward draft */
};

struct sl_drafts {
  struct sl_draft *items;
  size_t count, capacity;
};

/* A stage of the rank: what one micro-batch computes there. */
struct sl_lowered_stage {
  const struct sl_stage *stage;
  int index; /* stage of the pipeline */
  struct sl_drafts forward, backward;
  int32_t first_buffer, end_buffer; /* the buffers made for it */
  bool split;                       /* its backward comes in halves, I and W */
};

/* The drafts of one class, and the state of lowering them. Drafting (core/job/draft.c) fills everything except `slots`
 * and `zero`. Lowering (core/job/programs.c) works on a copy with its own class and scopes, and only reads the rest of
 * the drafts. */
struct sl_lowering {
  const struct sl_plan *plan;
  const struct sl_pp_rank *pp_rank;
  struct sl_class *rank_class;
  const struct sl_build_options *options;
  enum sl_scope *scopes; /* one per buffer of the class */
  size_t scope_capacity;
  int member;                      /* in the shard group, if each member has a program of its own; -1 = any */
  enum sl_dtype dtype;             /* of parameters, activations and the gradients that kernels write */
  enum sl_dtype compute;           /* of products and what is between them: dtype, or torch.autocast's type */
  enum sl_dtype accumulate, wire;  /* of gradients between micro-batches, and in their reduction */
  struct sl_lowered_stage *stages; /* the rank's, pp_rank->stage_count of them */
  struct sl_lowered_stage *stage;  /* the current stage */
  int32_t stream, dx;              /* see sl_build_stream; -1 if nothing is passed between stages */
  int32_t fp8_amax;       /* the largest magnitudes cast in this step (core/lower/scaling.h); -1: nothing is cast */
  struct sl_slots *slots; /* private to lower/slots.c */
  struct sl_homes *homes; /* private to lower/zero.c: made with the drafts */
  struct sl_zero *zero;   /* its state while it lowers */
};

/* What is passed between the stages of a pipeline, for one micro-batch: activations forward (slots IN and OUT of one
 * buffer), gradients backward (slot DX). Builders read their input from these and write their output to them. A stage
 * narrower than the rank's widest uses `count` elements of them. */
struct sl_operand sl_build_stream(const struct sl_lowering *lowering, enum sl_slot slot, enum sl_access access,
                                  int64_t count);
/* Elements that cross the boundary before layer `layer`: a residual stream, or the width of an mlp there. */
int64_t sl_build_stream_count(const struct sl_plan *plan, int layer);

/* Buffers. `count` elements of `dtype`; the name is copied. Returns the index through *out. */
enum sl_status sl_build_buffer(struct sl_lowering *lowering, int32_t *out, enum sl_scope scope,
                               enum sl_category category, enum sl_dtype dtype, int64_t count, const char *format, ...)
    __attribute__((format(printf, 7, 8)));
/* Gives the buffer a slot for each micro-batch in flight, for as long as `slot` says. */
void sl_build_slots(struct sl_lowering *lowering, int32_t buffer, enum sl_slot slot);

/* Moves a buffer that was just made to another memory space. */
void sl_build_move(struct sl_lowering *lowering, int32_t buffer, enum sl_space space);

/* Operands. */
struct sl_operand sl_build_read(const struct sl_lowering *lowering, int32_t buffer);
struct sl_operand sl_build_write(const struct sl_lowering *lowering, int32_t buffer);
struct sl_operand sl_build_update(const struct sl_lowering *lowering, int32_t buffer);
/* The same bytes with another access. */
static inline struct sl_operand sl_build_as(struct sl_operand operand, enum sl_access access) {
  operand.slice.access = access;
  return operand;
}
/* The parameter or gradient of tensor `tensor` of the model. */
struct sl_operand sl_build_param(const struct sl_lowering *lowering, int tensor);
struct sl_operand sl_build_grad(const struct sl_lowering *lowering, int tensor);
/* A run of elements of a buffer. */
struct sl_operand sl_build_part(const struct sl_lowering *lowering, int32_t buffer, enum sl_access access,
                                int64_t first, int64_t count);

/* Puts an operand of a draft before its `at`-th. */
static inline void sl_build_insert(struct sl_draft *draft, int at, struct sl_operand operand) {
  for (int i = draft->operand_count++; i > at; i--) draft->operand[i] = draft->operand[i - 1];
  draft->operand[at] = operand;
}

/* Append a draft; `op` is a template whose lane, group, peer, tensor fields get their defaults here. */
enum sl_status sl_build_draft(struct sl_drafts *drafts, struct sl_op op, int operand_count,
                              const struct sl_operand *operands);
#define SL_BUILD_DRAFT(drafts, op, ...)                                                                                \
  sl_build_draft(drafts, op, (int)(sizeof((struct sl_operand[]){__VA_ARGS__}) / sizeof(struct sl_operand)),            \
                 (struct sl_operand[]){__VA_ARGS__})

/* Appends a GEMM: c(m, n) = a b [+ bias], dim = {m, n, k}; op.flags say how a and b are stored. On a CPU 16-bit
 * operands are converted in an fp32 workspace, because BLAS has no 16-bit product. */
enum sl_status sl_build_gemm(struct sl_lowering *lowering, struct sl_drafts *drafts, struct sl_op op,
                             const int64_t dim[3], struct sl_operand a, struct sl_operand b, struct sl_operand c,
                             const struct sl_operand *bias);

/* Do the products of linear layers in blocks run in fp8, so that the program has casts for them? */
bool sl_build_casts(const struct sl_lowering *lowering);
/* Does Transformer Engine cast the weights of blocks, once a step, and keep them? */
bool sl_build_casts_once(const struct sl_lowering *lowering);
/* The factors of all linear weights of the pipeline rank; and the scale and the largest magnitude of one of them, of
 * placed tensor `placed`. */
int64_t sl_build_factors(const struct sl_lowering *lowering);
struct sl_operand sl_build_scale(const struct sl_lowering *lowering, int placed, enum sl_fp8_factor factor);
struct sl_operand sl_build_amax(const struct sl_lowering *lowering, int placed, enum sl_fp8_factor factor);

/* A copy of `count` elements from one buffer to another, of either's type: within a space on the compute lane, between
 * two on the lane of their link, after the preceding compute is complete. Belongs to no layer. */
struct sl_op sl_build_copy(const struct sl_lowering *lowering, int32_t source, int32_t target, int64_t count,
                           enum sl_phase phase);

/* Appends an op whose operands are all bound (no logical tensors) to a program. */
enum sl_status sl_build_emit(struct sl_program *program, struct sl_op op, int operand_count,
                             const struct sl_operand *operands);
#define SL_BUILD_EMIT(program, op, ...)                                                                                \
  sl_build_emit(program, op, (int)(sizeof((struct sl_operand[]){__VA_ARGS__}) / sizeof(struct sl_operand)),            \
                (struct sl_operand[]){__VA_ARGS__})

/* Appends the op that ends a program: a join of all lanes. */
enum sl_status sl_build_join(struct sl_program *program, enum sl_phase phase);
/* Appends an instance: the ops from `first` to the newest belong to one action. */
enum sl_status sl_build_instance(struct sl_program *program, struct sl_action action, int32_t first, int32_t op_count);
