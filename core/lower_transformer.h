/* What the builders of GPT-2 and Llama share: drafts of the parts that differ by an operand or a size at most - embedding,
 * norms, attention, residual stream, head and loss. lower_gpt2.c and lower_llama.c put blocks together from them.
 *
 * Letters: B sequences, T tokens, R = B*T rows, C channels, I inner width, V vocabulary, H heads, G key/value heads, D head
 * size. Functions append to the lowering's forward or backward drafts; buffers are indices into the class's. */
#ifndef SL_CORE_LOWER_TRANSFORMER_H
#define SL_CORE_LOWER_TRANSFORMER_H

#include "core/lower.h"

struct sl_transformer {
  struct sl_lowering *l;
  int64_t b, t, r, c, i, v, h, g, d; /* the letters above */
  bool rms;                          /* norms are RMSNorm (weight), else LayerNorm (weight, bias) */
  int wte, wpe, norm_f, head;        /* model's tensors; wpe -1: positions are rotary; head = wte when tied */
  int32_t tokens, targets, x, ln_f, stats_f, logits;
};

/* The sizes of the model at hand; the tensors are the caller's to name. */
struct sl_transformer sl_transformer_of(struct sl_lowering *lowering);

struct sl_op sl_transformer_op(const struct sl_transformer *g, enum sl_op_kind kind, enum sl_phase phase, int layer);
/* The same for an op over (rows, columns). */
struct sl_op sl_transformer_rows_op(const struct sl_transformer *g, enum sl_op_kind kind, enum sl_phase phase,
                                    int layer, int64_t rows, int64_t columns);

/* A buffer that the backward needs: one slot for each micro-batch in flight. */
enum sl_status sl_transformer_activation(struct sl_transformer *g, int32_t *out, int64_t count, int layer,
                                         const char *name);
/* A buffer that one action makes and uses up. */
enum sl_status sl_transformer_temporary(struct sl_transformer *g, int32_t *out, int64_t count, int layer,
                                        const char *name);

/* out = norm(x) with the weight at tensor `w`, a LayerNorm's bias behind it; makes `out` and `stats`. */
enum sl_status sl_transformer_norm(struct sl_transformer *g, int layer, int32_t x, int w, const char *name,
                                   int32_t *out, int32_t *stats);
/* `dx` is written when `fresh`, added to otherwise: the residual stream carries a gradient already. */
enum sl_status sl_transformer_norm_bwd(struct sl_transformer *g, int layer, int32_t dout, int32_t x, int w,
                                       int32_t stats, int32_t dx, bool fresh);

/* The branches that add to the residual stream, each a dropout site. */
enum sl_branch { SL_BRANCH_ATTENTION, SL_BRANCH_MLP };
/* out = from + dropout(x) */
enum sl_status sl_transformer_residual(struct sl_transformer *g, int layer, enum sl_branch branch, int32_t from,
                                       int32_t x, int32_t out);
/* The branch's gradient: the stream's own when nothing was dropped, else a masked copy. */
enum sl_status sl_transformer_residual_bwd(struct sl_transformer *g, int layer, enum sl_branch branch, int32_t dx,
                                           int32_t *out);

/* Attention's inputs (or their gradients): rows (q | k | v) in one buffer, or, with k and v >= 0, a buffer each. */
struct sl_qkv {
  int32_t q, k, v;
};
/* What attention leaves for its backward. softmax: probabilities, or flash attention's log-sum-exp. */
struct sl_attended {
  int32_t out, softmax;
};
enum sl_status sl_transformer_attention(struct sl_transformer *g, int layer, struct sl_qkv in, struct sl_attended *out);
enum sl_status sl_transformer_attention_bwd(struct sl_transformer *g, int layer, int32_t dout, struct sl_qkv in,
                                            struct sl_attended kept, struct sl_qkv din);

/* Reads a micro-batch and leaves g->x, the first residual stream. */
enum sl_status sl_transformer_embedding(struct sl_transformer *g);
enum sl_status sl_transformer_embedding_bwd(struct sl_transformer *g, int32_t dx);
/* Final norm, head, and the fused loss: the logits become their own gradient, so the forward already ends with it. */
enum sl_status sl_transformer_head(struct sl_transformer *g, int layers);
/* Makes `dx`, the gradient of the last block's output. */
enum sl_status sl_transformer_head_bwd(struct sl_transformer *g, int layers, int32_t *dx);

#endif
