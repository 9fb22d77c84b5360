/* What all layers are drafted with: sizes, ops, buffers.
 *
 * Letters: B sequences, T tokens, R = B*T rows, C channels, I inner width, V vocabulary, H heads, G key/value heads, D head
 * size. Under tensor parallelism (Megatron-LM, arXiv:1909.08053) I, V, H and G are what one member of the tp group has.
 * S rows of the residual stream: R, or R / tp under sequence parallelism (arXiv:2205.05198), where a member has a
 * contiguous run of the micro-batch's rows.
 *
 * Functions append to `drafts`, which are the stage's forward or its backward: recomputation replays forward parts in the
 * backward. */
#pragma once

#include "core/lower/build.h"

struct sl_transformer {
  struct sl_lowering *l;
  const struct sl_stage *stage;
  struct sl_drafts *drafts;
  enum sl_phase phase;
  int64_t b, t, r, s, c, i, v, h, g, d; /* the letters above */
  int tp;
  const char *prefix;   /* of buffers' names, before the number of a layer */
  bool rms;             /* norms are RMSNorm (weight), else LayerNorm (weight, bias) */
  bool out_in;          /* weights are (out, in), else (in, out) */
  bool recomputes;      /* blocks may be recomputed */
  struct sl_operand dx; /* the gradient of the residual stream, worked on in place */
};

/* The sizes of the transformer at hand, and how its weights lie. */
struct sl_transformer sl_transformer_of(struct sl_lowering *lowering);
/* Go over to the backward. */
void sl_transformer_turn(struct sl_transformer *g);
/* Is it a block's, not one of an end? */
bool sl_transformer_in_block(const struct sl_transformer *g, int layer);

/* An op on the compute lane, named after tensor `tensor` of the model (-1: none). */
struct sl_op sl_transformer_op(const struct sl_transformer *g, enum sl_op_kind kind, int layer, int tensor);
/* The same for an op over (rows, columns). */
struct sl_op sl_transformer_rows_op(const struct sl_transformer *g, enum sl_op_kind kind, int layer, int tensor,
                                    int64_t rows, int64_t columns);
/* The same over the rows of the residual stream: under sequence parallelism a member has its own run of them. */
struct sl_op sl_transformer_stream_op(const struct sl_transformer *g, enum sl_op_kind kind, int layer);
/* Append a draft that belongs to the given half of a split backward, whatever its operands are. */
enum sl_status sl_transformer_add(struct sl_transformer *g, enum sl_half half, struct sl_op op, int operand_count,
                                  const struct sl_operand *operands);
/* Append a copy of `count` elements. */
enum sl_status sl_transformer_copy(struct sl_transformer *g, int layer, struct sl_operand from, struct sl_operand to,
                                   int64_t count);

/* A buffer. `kept`, in a forward: a slot for each micro-batch in flight, for the backward. Else one action makes it and uses
 * it up (W needs it, too, in a split backward). */
enum sl_status sl_transformer_buffer(struct sl_transformer *g, int32_t *out, enum sl_dtype dtype, int64_t count,
                                     int layer, const char *name, bool kept);
/* The same of no layer, by its name alone. */
enum sl_status sl_transformer_buffer_of_step(struct sl_transformer *g, int32_t *out, enum sl_dtype dtype, int64_t count,
                                             const char *name, bool kept);
/* One of activations that is not kept. */
enum sl_status sl_transformer_temporary(struct sl_transformer *g, int32_t *out, int64_t count, int layer,
                                        const char *name);
/* Scratch that a kernel of `op` asks for. */
enum sl_status sl_transformer_workspace(struct sl_transformer *g, int32_t *out, const struct sl_op *op,
                                        const char *name);

/* Dropout sites have streams of their own: 0 the embedding, then three a block. */
enum sl_site { SL_SITE_EMBEDDING, SL_SITE_ATTENTION, SL_SITE_ATTENTION_BRANCH, SL_SITE_MLP_BRANCH };
void sl_transformer_drop(struct sl_op *op, int layer, enum sl_site site, double probability);
