/* An op about to run, decoded: where its operands are, by name, and what of the plan its kernel asks for. Both backends
 * decode an op here, so that a kernel gets the same numbers from either. */
#pragma once

#include "core/op/operands.h"
#include "core/run/executor.h"
#include "kernels/numbers/types.h"

/* What a backend knows of its rank. All is borrowed. */
struct sl_call_rank {
  const struct sl_plan *plan;
  struct sl_coord coord;
  const struct sl_members *members; /* of each class of groups */
  char *const *arena;               /* of each space */
  void *scratch;                    /* for a kernel whose op brings none, or too little */
  size_t scratch_bytes;
  int64_t step;
};

/* Operands that the op does not have are NULL, of 0 bytes. Of packed q, k and v (or their gradients) the three parts of the
 * first row are there by their names too. */
struct sl_call {
  void *backend, *stream; /* the backend's own, which it puts here: its state, and where it launches */
  const struct sl_issued *it;
  const struct sl_op *op;
  struct sl_call_rank rank;
  enum sl_number type; /* the op's; a tf32 product's is fp32 */
  size_t dim[SL_OP_DIMS];
  size_t place; /* the rank's index in the op's place_group: which piece of something cut over that group is here */
  void *x[SL_AT_COUNT];
  size_t bytes[SL_AT_COUNT];
  enum sl_dtype dtype[SL_AT_COUNT]; /* of its buffer */
  bool adds[SL_AT_COUNT];           /* it is read and written */
};

void sl_call_decode(struct sl_call *call, const struct sl_call_rank *rank, const struct sl_issued *it);
/* Address of operand `i`. */
void *sl_call_operand(const struct sl_call_rank *rank, const struct sl_issued *it, int i);
/* Bytes that the op's kernel needs of the backend's own scratch, `threads` at a time: none where the op brings some. Errors:
 * SL_ERR_INTERNAL, where that is too little even for one thread. */
enum sl_status sl_call_supports(const struct sl_op *op, const struct sl_slice *slices, int threads,
                                size_t *scratch_bytes);

enum sl_number sl_call_type(const struct sl_call *call, enum sl_at name);
/* Dropout over rows of `columns`, the first of them `skipped` rows into the micro-batch. No mask: that is the backend's. */
struct sl_dropout sl_call_dropout(const struct sl_call *call, size_t skipped, size_t columns);
struct sl_attention_shape sl_call_attention(const struct sl_call *call, struct sl_dropout *dropout);
struct sl_embedding_shape sl_call_embedding(const struct sl_call *call);
/* The heads that a rope turns, and how, by the model's form. */
struct sl_rope_shape sl_call_rope_shape(const struct sl_call *call);
struct sl_rope sl_call_rope(const struct sl_call *call);
/* What an activation computes; of SL_ACT_CAP the cap is op->scale. */
enum sl_act sl_call_act(const struct sl_call *call);
/* Do norms multiply by 1 + weight? */
int sl_call_from_one(const struct sl_call *call);
/* The elements [*first, *first + count) of its operand whose squares a norm adds; maybe none. */
size_t sl_call_norm_range(const struct sl_call *call, size_t *first);
/* What the configuration says of an update, after `steps` good ones; the rest is the control block's. */
struct sl_adam sl_call_adam(const struct sl_call *call, int64_t steps);
struct sl_sgd sl_call_sgd(const struct sl_call *call);
