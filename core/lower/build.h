/* Lowering, inside core: from the actions of a schedule to ops on buffers.
 *
 * A model's builder (models/gpt2.c, models/llama.c, models/mlp.c) writes what one action computes as drafts: ops whose parameter and
 * gradient operands are still logical tensors. models/epilogue.c joins those that one kernel can do. lower/zero.c binds those to buffers by the ZeRO stage and adds the
 * communication that the binding needs; it is the only file that knows what a stage means. lower/build.c drives both over the
 * schedule and builds the init, step and save programs; place/waits.c then derives the waits and arena.c places the buffers.
 */
#ifndef SL_CORE_LOWER_BUILD_H
#define SL_CORE_LOWER_BUILD_H

#include "core/program/program.h"

enum { SL_MAX_OPERANDS = 12 };

/* Over which part of a program a buffer's contents stay the same object: the arena planner's unit of reuse. */
enum sl_scope {
  SL_SCOPE_PERSISTENT, /* across steps */
  SL_SCOPE_PROGRAM,    /* one life per program: from its first to its last use */
  SL_SCOPE_MICRO,      /* one life per micro-batch */
  SL_SCOPE_WRITTEN     /* one life per overwriting, whatever the micro-batch (gathered parameters) */
};

/* An operand of a draft: a slice of a buffer, or, with buffer < 0, the parameter or gradient of a placed tensor. */
struct sl_operand {
  int32_t buffer;
  int32_t placed;
  bool gradient;
  struct sl_slice slice; /* offset and bytes relative to the tensor when buffer < 0 */
};

/* Which half of a split backward an op is in: I makes the gradient of the stage's input, W those of its weights, for which
 * nobody waits. */
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

/* A chunk of the rank as it is lowered: what one micro-batch computes, and how many micro-batches it holds at once. */
struct sl_lowered_chunk {
  const struct sl_chunk *chunk;
  int index;                          /* stage of the pipeline */
  struct sl_drafts forward, backward; /* lowered once */
  int32_t first_buffer, end_buffer;   /* made for it */
  bool split;                         /* its backward comes in halves, I and W */
  int passes;                         /* backwards (or W) of a step that have been lowered */
  bool gathered;                      /* an UNSHARD has been lowered */
};

/* State of lowering one class. */
struct sl_lowering {
  const struct sl_plan *plan;
  const struct sl_stage *stage;
  struct sl_class *rank_class;
  const struct sl_build_options *options;
  enum sl_scope *scopes; /* one per buffer of the class */
  size_t scope_capacity;
  int member;                      /* in the shard group, where each member has a program of its own; -1 = any */
  enum sl_dtype dtype;             /* of parameters, activations and the gradients that kernels write */
  enum sl_dtype accumulate, wire;  /* of gradients between micro-batches, and in their reduction */
  struct sl_lowered_chunk *chunks; /* the rank's, stage->chunk_count of them */
  struct sl_lowered_chunk *chunk;  /* the one at hand */
  int32_t stream, dx;              /* see sl_lower_stream; -1 where nothing passes between stages */
  struct sl_slots *slots;          /* lower/slots.c's own */
  struct sl_zero *zero;            /* lower/zero.c's own */
};

/* What passes between the stages of a pipeline, one micro-batch's worth of it: activations forward (slots IN and OUT of one
 * buffer), gradients backward (slot DX). The builders read their input from and write their output to these. `count`
 * elements of them are used by a stage whose width is smaller than the rank's widest. */
struct sl_operand sl_stream(const struct sl_lowering *lowering, enum sl_slot slot, enum sl_access access,
                            int64_t count);
/* Elements that cross the boundary in front of layer `layer`: a residual stream, or the width of an mlp there. */
int64_t sl_stream_count(const struct sl_plan *plan, int layer);

/* Buffers. `count` elements of `dtype`; the name is copied. Returns the index through *out. */
enum sl_status sl_lower_buffer(struct sl_lowering *lowering, int32_t *out, enum sl_scope scope,
                               enum sl_category category, enum sl_dtype dtype, int64_t count, const char *format, ...)
    __attribute__((format(printf, 7, 8)));
/* A slot of the buffer for each micro-batch in flight, as long as `slot` says. */
void sl_lower_slots(struct sl_lowering *lowering, int32_t buffer, enum sl_slot slot);

/* Put a buffer just made into another memory space. */
void sl_lower_move(struct sl_lowering *lowering, int32_t buffer, enum sl_space space);

/* Operands. */
struct sl_operand sl_read(const struct sl_lowering *lowering, int32_t buffer);
struct sl_operand sl_write(const struct sl_lowering *lowering, int32_t buffer);
struct sl_operand sl_update(const struct sl_lowering *lowering, int32_t buffer);
/* The same bytes, used otherwise. */
static inline struct sl_operand sl_as(struct sl_operand operand, enum sl_access access) {
  operand.slice.access = access;
  return operand;
}
/* The parameter or gradient of tensor `tensor` of the model. */
struct sl_operand sl_param(const struct sl_lowering *lowering, int tensor);
struct sl_operand sl_grad(const struct sl_lowering *lowering, int tensor);
/* A run of elements of a buffer. */
struct sl_operand sl_part(const struct sl_lowering *lowering, int32_t buffer, enum sl_access access, int64_t first,
                          int64_t count);

/* Append a draft; `op` is a template whose lane, group, peer, tensor fields get their defaults here. */
enum sl_status sl_draft_add(struct sl_drafts *drafts, struct sl_op op, int operand_count,
                            const struct sl_operand *operands);
#define SL_DRAFT(drafts, op, ...)                                                                                      \
  sl_draft_add(drafts, op, (int)(sizeof((struct sl_operand[]){__VA_ARGS__}) / sizeof(struct sl_operand)),              \
               (struct sl_operand[]){__VA_ARGS__})

/* Append a GEMM: c(m, n) = a b [+ bias], dim = {m, n, k}; op.flags say how a and b are stored. On a CPU 16-bit operands go
 * through an fp32 workspace, because BLAS has no 16-bit product. */
enum sl_status sl_lower_gemm(struct sl_lowering *lowering, struct sl_drafts *drafts, struct sl_op op,
                             const int64_t dim[3], struct sl_operand a, struct sl_operand b, struct sl_operand c,
                             const struct sl_operand *bias);

/* Append an op whose operands are bound (no logical tensors left) to a program. */
enum sl_status sl_lower_emit(struct sl_program *program, struct sl_op op, int operand_count,
                             const struct sl_operand *operands);
#define SL_EMIT(program, op, ...)                                                                                      \
  sl_lower_emit(program, op, (int)(sizeof((struct sl_operand[]){__VA_ARGS__}) / sizeof(struct sl_operand)),            \
                (struct sl_operand[]){__VA_ARGS__})

/* What one micro-batch computes on the chunk at hand, forward and backward. */
enum sl_status sl_lower_gpt2(struct sl_lowering *lowering);
enum sl_status sl_lower_llama(struct sl_lowering *lowering);
enum sl_status sl_lower_mlp(struct sl_lowering *lowering);

/* Where the plan fuses epilogues: products of the chunk at hand take in the ops that they can do (models/epilogue.c). */
void sl_lower_epilogues(struct sl_lowering *lowering);

/* Where a backward stands in its step. */
struct sl_pass {
  bool first, last;           /* of its chunk's; what a chunk alone contributes to starts fresh, and is complete */
  bool tied_first, tied_last; /* the same over both chunks that share a tied embedding on one rank */
  bool end;                   /* the rank's last: compute waits for the reductions */
  bool again;                 /* of an UNSHARD: the step has gathered the chunk before */
};

/* The strategy: state buffers; one micro-batch's forward or backward on the chunk at hand, with its gathers and reductions;
 * the optimizer step; initialisation. */
enum sl_status sl_zero_open(struct sl_lowering *lowering);
/* Buffers that the strategy needs for the chunk at hand, whose drafts are there. */
enum sl_status sl_zero_open_chunk(struct sl_lowering *lowering);
void sl_zero_close(struct sl_lowering *lowering);
enum sl_status sl_zero_forward(struct sl_lowering *lowering, struct sl_program *program);
enum sl_status sl_zero_backward(struct sl_lowering *lowering, struct sl_program *program, struct sl_pass pass);
/* The half of a split backward that makes no gradient of a weight. */
enum sl_status sl_zero_backward_input(struct sl_lowering *lowering, struct sl_program *program);
enum sl_status sl_zero_backward_weight(struct sl_lowering *lowering, struct sl_program *program, struct sl_pass pass);
/* Gather all of the chunk's parameters (UNSHARD), for the first time in a step or again. */
enum sl_status sl_zero_unshard(struct sl_lowering *lowering, struct sl_program *program, bool again);
enum sl_status sl_zero_step(struct sl_lowering *lowering, struct sl_program *program);
enum sl_status sl_zero_init(struct sl_lowering *lowering, struct sl_program *program);

/* Slots (lower/slots.c). Once the chunks' buffers are made: which of them share their slots. */
enum sl_status sl_slots_open(struct sl_lowering *lowering);
void sl_slots_close(struct sl_lowering *lowering);
/* Slot numbers of an instance. */
int sl_slots_count(const struct sl_lowering *lowering);
/* What an action of a micro-batch takes before it runs, and the numbers of all slots that it may use. */
void sl_slots_take(struct sl_lowering *lowering, const struct sl_action *action, int32_t *numbers);
/* What it leaves free, or to the stage beside it. */
void sl_slots_give(struct sl_lowering *lowering, const struct sl_action *action);
/* At the end of the step: how many slots every buffer has, and which. */
void sl_slots_number(struct sl_lowering *lowering);

/* The step program (lower/step.c): every distinct action lowered once, and an instance for each action. */
enum sl_status sl_lower_step(struct sl_lowering *lowering);
/* Append the op that ends a program: a join of all lanes. */
enum sl_status sl_lower_join(struct sl_program *program, enum sl_phase phase);
/* Instances: the ops from `first` to the newest are one action's. */
enum sl_status sl_lower_instance(struct sl_program *program, struct sl_action action, int32_t first, int32_t op_count);

/* Lives of buffer slots, found by place/waits.c and used by arena.c: life `i` of a slot spans issues first..last of `program`;
 * `done[lane]` is how many ops of each lane must be complete for the life to be over, `known[lane]` how many are
 * complete for certain when it starts. */
struct sl_life {
  uint32_t slot; /* index in class->slot_offsets */
  int32_t buffer;
  enum sl_program_kind program;
  int32_t micro_batch;
  uint32_t first, last;
  uint32_t done[SL_LANE_COUNT], known[SL_LANE_COUNT];
};
struct sl_lives {
  struct sl_life *items;
  size_t count, capacity;
};

/* Expand the instances of `program` into its issue list, derive the waits from what ops read and write, and append the
 * lives of the non-persistent slots. */
enum sl_status sl_link(const struct sl_lowering *lowering, struct sl_program *program, struct sl_lives *lives);
/* Give every slot its place in the arena; fill arena_bytes and the memory report. */
enum sl_status sl_arena_place(const struct sl_lowering *lowering, const struct sl_lives *lives);

#endif
