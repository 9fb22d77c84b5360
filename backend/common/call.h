/* Decodes an op that is about to run into the addresses of its operands, by name, and the kernel parameters that follow
 * from the plan. Both backends decode ops here, so that a kernel gets the same parameters from either. */
#pragma once

#include "core/op/operands.h"
#include "core/run/executor.h"
#include "kernels/numbers/types.h"

/* What a backend tells about its rank. All pointers are borrowed. */
struct sl_call_rank {
  const struct sl_plan *plan;
  struct sl_coord coord;
  const struct sl_members *members; /* of each class of groups */
  char *const *arena;               /* of each space */
  void *scratch;                    /* for a kernel whose op has no workspace operand, or too small a one */
  size_t scratch_bytes;
  int64_t step;
};

/* A decoded op. Operands that it does not have are NULL and have 0 bytes. Where q, k and v (or their gradients) are
 * packed in one tensor, their own entries point to the three parts of its first row. */
struct sl_call {
  void *backend, *stream; /* set by the backend for its own use: its state, and the stream it launches on */
  const struct sl_issued *it;
  const struct sl_op *op;
  struct sl_call_rank rank;
  enum sl_number type; /* the op's; a tf32 product's is fp32 */
  size_t dim[SL_OP_DIMS];
  size_t place; /* the rank's index in the op's place_group: which shard of a tensor split over it is here */
  void *x[SL_AT_COUNT];
  size_t bytes[SL_AT_COUNT];
  enum sl_dtype dtype[SL_AT_COUNT]; /* of its buffer */
  bool adds[SL_AT_COUNT];           /* it is read and written */
};

void sl_call_decode(struct sl_call *call, const struct sl_call_rank *rank, const struct sl_issued *it);
/* Address of operand `i`. */
void *sl_call_operand(const struct sl_call_rank *rank, const struct sl_issued *it, int i);
/* Bytes of the backend's own scratch that the op's kernel needs with `threads` threads; 0 where the op has a workspace
 * operand. Errors: SL_ERR_INTERNAL where that workspace is too small even for one thread. */
enum sl_status sl_call_supports(const struct sl_op *op, const struct sl_slice *slices, int threads,
                                size_t *scratch_bytes);

enum sl_number sl_call_type(const struct sl_call *call, enum sl_at name);
/* Dropout parameters for rows of `columns` elements, the first of which is row `skipped` of the micro-batch. The mask
 * is left NULL for the backend to set. */
struct sl_dropout sl_call_dropout(const struct sl_call *call, size_t skipped, size_t columns);
struct sl_attention_shape sl_call_attention(const struct sl_call *call, struct sl_dropout *dropout);
/* split_qkv: in how many runs each of q, k and v is in a packed row, and the bytes before the first of SL_AT_Q, K or
 * V. */
size_t sl_call_groups(const struct sl_call *call, size_t key_heads);
size_t sl_call_part_offset(const struct sl_call *call, enum sl_at part);
struct sl_embedding_shape sl_call_embedding(const struct sl_call *call);
/* The layout of the heads that RoPE rotates, and its parameters, from the model's form. */
struct sl_rope_shape sl_call_rope_shape(const struct sl_call *call);
struct sl_rope sl_call_rope(const struct sl_call *call);
/* What an activation computes; of SL_ACT_CAP the cap is op->scale. */
enum sl_act sl_call_act(const struct sl_call *call);
/* The format of an operand of 8 bits. */
enum sl_fp8 sl_call_fp8(const struct sl_call *call, enum sl_at name);
/* How an fp8_scale op makes scales. */
struct sl_fp8_rule sl_call_fp8_rule(const struct sl_call *call);
/* Whether norms multiply by 1 + weight. */
int sl_call_from_one(const struct sl_call *call);
/* Returns the count, possibly 0, of the elements [*first, *first + count) of its operand whose squares a norm sums. */
size_t sl_call_norm_range(const struct sl_call *call, size_t *first);
/* What a copy or a sum takes: `count` elements, possibly none. */
struct sl_taken {
  void *to;
  const void *from;
  size_t count;
};
struct sl_taken sl_call_taken(const struct sl_call *call);
/* The Adam settings of the configuration for the update after `steps` applied ones; the control block provides the
 * rest. */
struct sl_adam sl_call_adam(const struct sl_call *call, int64_t steps);
struct sl_sgd sl_call_sgd(const struct sl_call *call);
