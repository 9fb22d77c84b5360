/* What the builders of GPT-2 and Llama share: drafts of the parts that differ by an operand or a size at most - embedding,
 * norms, linear layers, attention, residual stream, head and loss. models/block.c puts blocks together from them.
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
  bool keeps;                           /* what backward needs of this block is kept; else it is made again */
  int64_t b, t, r, s, c, i, v, h, g, d; /* the letters above */
  int tp;
  bool rms;                   /* norms are RMSNorm (weight), else LayerNorm (weight, bias) */
  bool out_in;                /* weights are (out, in), else (in, out) */
  bool biases;                /* a linear layer's bias stands behind its weight */
  int wte, wpe, norm_f, head; /* model's tensors; wpe -1: positions are rotary; head = wte when tied */
  struct sl_operand x;        /* the residual stream as it is now */
  struct sl_operand dx;       /* its gradient, worked on in place */
  struct sl_operand head_x;   /* what the final norm read */
  int32_t tokens, targets, ln_f, stats_f, logits;
  int32_t embedding_mask; /* see sl_transformer_mask */
};

/* The sizes of the model at hand; the tensors are the caller's to name. */
struct sl_transformer sl_transformer_of(struct sl_lowering *lowering);
/* Go over to the backward. */
void sl_transformer_turn(struct sl_transformer *g);

/* What of a block of this layer is recomputed. */
enum sl_recompute sl_transformer_recompute(const struct sl_transformer *g, int layer);

/* Selective recomputation: does the backward of this layer make its norms, or its attention's probabilities, again? Flash
 * attention keeps none to begin with. By op, norms are made again and probabilities are kept. */
bool sl_transformer_remakes_norms(const struct sl_transformer *g, int layer);
bool sl_transformer_remakes_attention(const struct sl_transformer *g, int layer);

/* An op on the compute lane, named after tensor `tensor` of the model (-1: none). */
struct sl_op sl_transformer_op(const struct sl_transformer *g, enum sl_op_kind kind, int layer, int tensor);
/* The same for an op over (rows, columns). */
struct sl_op sl_transformer_rows_op(const struct sl_transformer *g, enum sl_op_kind kind, int layer, int tensor,
                                    int64_t rows, int64_t columns);
/* Append a draft that belongs to the given half of a split backward, whatever its operands are. */
enum sl_status sl_transformer_add(struct sl_transformer *g, enum sl_half half, struct sl_op op, int operand_count,
                                  const struct sl_operand *operands);

/* A buffer that the backward needs: one slot for each micro-batch in flight, unless the block is recomputed. */
enum sl_status sl_transformer_kept(struct sl_transformer *g, int32_t *out, int64_t count, int layer, const char *name);
/* A buffer that one action makes and uses up (that W needs too, in a split backward). */
enum sl_status sl_transformer_temporary(struct sl_transformer *g, int32_t *out, int64_t count, int layer,
                                        const char *name);

/* out = norm(x) over S rows, with the weight at tensor `w`, a LayerNorm's bias behind it; makes `out` and `stats`. */
enum sl_status sl_transformer_norm(struct sl_transformer *g, int layer, struct sl_operand x, int w, const char *name,
                                   int32_t *out, int32_t *stats);
/* g->dx is written when `fresh`, added to otherwise: the residual stream carries a gradient already. */
enum sl_status sl_transformer_norm_bwd(struct sl_transformer *g, int layer, struct sl_operand dout, struct sl_operand x,
                                       int w, int32_t stats, bool fresh);

/* ---- the residual stream ---- */

/* Room for the mask of a dropout of `count` elements with probability `p`, where masks are stored (store_dropout_masks).
 * *out = -1 where there is nothing to store: nothing is dropped, or backward draws it again, as it does in what the forward
 * of a recomputed block computes. */
enum sl_status sl_transformer_mask(struct sl_transformer *g, int32_t *out, double p, int64_t count, int layer,
                                   const char *name);

/* The branches that add to the residual stream, each a dropout site. */
enum sl_branch { SL_BRANCH_ATTENTION, SL_BRANCH_MLP };
/* out = from + dropout(x + bias): the bias of row-parallel weight `w`, where the product left it out. Makes *mask. */
enum sl_status sl_transformer_residual(struct sl_transformer *g, int layer, enum sl_branch branch,
                                       struct sl_operand from, struct sl_operand x, int w, struct sl_operand out,
                                       int32_t *mask);
/* The branch's gradient: the stream's own when nothing was dropped, else a masked copy. */
enum sl_status sl_transformer_residual_bwd(struct sl_transformer *g, int layer, enum sl_branch branch, int32_t mask,
                                           struct sl_operand *out);
/* Where the block's output goes: to the next stage, or to a buffer that the next block's backward needs. */
enum sl_status sl_transformer_output(struct sl_transformer *g, int layer, struct sl_operand *out);

/* ---- attention ---- */

/* Attention's inputs (or their gradients): rows (q | k | v) in one buffer, or, with k and v >= 0, a buffer each. */
struct sl_qkv {
  int32_t q, k, v;
};
/* What attention leaves for its backward. softmax: probabilities, or flash attention's log-sum-exp. dropped: the probabilities
 * behind dropout, where materialised attention stores its mask (Megatron-LM keeps all three, arXiv:2205.05198, section 4.1). */
struct sl_attended {
  int32_t out, softmax, dropped, mask;
};
enum sl_status sl_transformer_attention(struct sl_transformer *g, int layer, struct sl_qkv in, struct sl_attended *out);
enum sl_status sl_transformer_attention_bwd(struct sl_transformer *g, int layer, int32_t dout, struct sl_qkv in,
                                            struct sl_attended kept, struct sl_qkv din);
