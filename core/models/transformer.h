/* What all layers of a transformer are drafted with: sizes, ops, buffers.
 *
 * Letters: B sequences, T tokens, R = B*T rows, C channels, I inner width, V vocabulary, H heads, G key/value heads, D
 * head size. Under tensor parallelism (Megatron-LM, arXiv:1909.08053) I, V, H and G are the share of one member of the
 * tp group (V is all of the vocabulary where every member has the whole head). S rows of the residual stream: R, or R /
 * tp under sequence parallelism (arXiv:2205.05198), where a member has a contiguous range of the micro-batch's rows.
 * Under context parallelism T is the member's part of a sequence of T cp tokens, see core/op/chunks.h.
 *
 * The functions append to `drafts`, the stage's forward or its backward; recomputation appends parts of the forward to
 * the backward. */
#pragma once

#include "core/lower/build.h"

struct sl_transformer {
  struct sl_lowering *l;
  const struct sl_stage *stage;
  struct sl_drafts *drafts;
  enum sl_phase phase;
  int64_t b, t, r, s, c, i, v, h, g, d; /* the letters above */
  int tp, cp;
  const char *prefix;   /* prefix of buffer names, before the number of a layer */
  bool rms;             /* norms are RMSNorm (weight), else LayerNorm (weight, bias) */
  bool out_in;          /* weights are (out, in), else (in, out) */
  bool recomputes;      /* blocks may be recomputed */
  bool in_call;         /* products are launched within the call of another op: SL_OP_IN_CALL */
  struct sl_operand dx; /* the gradient of the residual stream, updated in place */
};

/* The sizes of the current stage's transformer, and the layout of its weights. */
struct sl_transformer sl_transformer_of(struct sl_lowering *lowering);
/* Switches to the backward. */
void sl_transformer_turn(struct sl_transformer *g);
/* Is it the layer of a block, not of an end? */
bool sl_transformer_in_block(const struct sl_transformer *g, int layer);

/* An op on the compute lane, named after tensor `tensor` of the model (-1: none). */
struct sl_op sl_transformer_op(const struct sl_transformer *g, enum sl_op_kind kind, int layer, int tensor);
/* The same for an op over sequences, whose shape begins with B and T and says how many ranks share them. */
struct sl_op sl_transformer_tokens_op(const struct sl_transformer *g, enum sl_op_kind kind, int layer, int tensor);
/* The same for an op over (rows, columns). */
struct sl_op sl_transformer_rows_op(const struct sl_transformer *g, enum sl_op_kind kind, int layer, int tensor,
                                    int64_t rows, int64_t columns);
/* The same over the rows of the residual stream; under sequence parallelism a member has its own range of them. */
struct sl_op sl_transformer_stream_op(const struct sl_transformer *g, enum sl_op_kind kind, int layer);
/* Appends a draft that belongs to the given half of a split backward, whatever its operands. */
enum sl_status sl_transformer_add(struct sl_transformer *g, enum sl_half half, struct sl_op op, int operand_count,
                                  const struct sl_operand *operands);
/* Appends a copy of `count` elements, to the type of where they go. */
enum sl_status sl_transformer_copy(struct sl_transformer *g, int layer, struct sl_operand from, struct sl_operand to,
                                   int64_t count);

/* Allocates a buffer. `kept`, in a forward: one slot for each micro-batch in flight, for the backward. Otherwise one
 * action writes it and uses it up (in a split backward W needs it too). */
enum sl_status sl_transformer_buffer(struct sl_transformer *g, int32_t *out, enum sl_dtype dtype, int64_t count,
                                     int layer, const char *name, bool kept);
/* The same for a buffer of no layer, named by `name` alone. */
enum sl_status sl_transformer_buffer_of_step(struct sl_transformer *g, int32_t *out, enum sl_dtype dtype, int64_t count,
                                             const char *name, bool kept);
/* The same for activations that are not kept. */
enum sl_status sl_transformer_temporary(struct sl_transformer *g, int32_t *out, int64_t count, int layer,
                                        const char *name);
/* Scratch for a kernel of `op`. */
enum sl_status sl_transformer_workspace(struct sl_transformer *g, int32_t *out, const struct sl_op *op,
                                        const char *name);

/* Each place with dropout has its own random stream: 0 for the embedding, then three per block. */
enum sl_site { SL_SITE_EMBEDDING, SL_SITE_ATTENTION, SL_SITE_ATTENTION_BRANCH, SL_SITE_MLP_BRANCH };
void sl_transformer_drop(struct sl_op *op, int layer, enum sl_site site, double probability);
