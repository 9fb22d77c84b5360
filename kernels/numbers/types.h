/* The small structs that kernels take as parameters, and the enums in them. They are passed by pointer and only read,
 * so that on a GPU they may be in device memory, where a captured graph sees new values (step, learning rate, clip
 * factor) on each replay. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Number types of tensors, for functions that get the type at run time. */
enum sl_number { SL_NUMBER_F32, SL_NUMBER_BF16, SL_NUMBER_F16 };

/* Formats of 8 bits (kernels/fp8.h). */
enum sl_fp8 { SL_FP8_E4M3, SL_FP8_E5M2 };

/* How scales follow from magnitudes (kernels/fp8.h). */
struct sl_fp8_rule {
  enum sl_fp8 gradients; /* the format of gradients; all others are in E4M3 */
  int most_recent;       /* only the step before counts, not the history */
  float reach;           /* of a format's largest number, what the largest magnitude becomes: 2^-margin */
};

/* Names one sequence of random numbers; with a global element index it names one number (see kernels/philox.h). */
struct sl_philox_key {
  uint32_t seed;
  uint32_t stream; /* separates uses: initial values, dropout, synthetic data */
  uint32_t step;   /* training step; 0 for initial values */
  uint32_t tensor; /* logical tensor, the same on every rank and in every plan */
};

/* Dropout with probability p (0 <= p <= 1): kept values are multiplied by 1/(1-p). Element (r, c) of the local matrix
 * is global element first_element + r * row_stride + c, so every partition of a tensor draws the same numbers. A NULL
 * pointer, or p = 0, means no dropout. Forward stores the mask in `mask` (a byte per element of the local matrix, 1:
 * kept) unless that is NULL, and backward reads it there instead of drawing again. */
struct sl_dropout {
  float p;
  struct sl_philox_key key;
  uint64_t first_element;
  uint64_t row_stride; /* columns of the global tensor */
  uint8_t *mask;       /* NULL: not stored */
};

/* Where the T tokens that are here stand in their sequence: the first `chunk` of them at positions first[0] ..., the
 * rest at first[1] ..., which is larger. chunk 0: they are the whole sequence. */
struct sl_token_places {
  size_t chunk, first[2];
};

/* Rows [first_row, first_row + n_rows) of the token table are held here; position p of a sequence has row
 * first_position + p of the position table. */
struct sl_embedding_shape {
  size_t B, T, C; /* batch, sequence, channels */
  size_t first_row, n_rows;
  size_t first_position;
  float scale; /* multiplies the rows of the token table; 0: no scaling */
  struct sl_token_places at;
};

/* Element-wise activations; formulas are in kernels/act.h. */
enum sl_act { SL_ACT_GELU_TANH, SL_ACT_GELU, SL_ACT_SILU, SL_ACT_RELU, SL_ACT_RELU2, SL_ACT_CAP };

/* Rotary position embedding (kernels/rotary.h). A zeroed struct rotates whole heads by unscaled frequencies. */
enum sl_rope_scaling { SL_ROPE_PLAIN, SL_ROPE_LINEAR, SL_ROPE_DYNAMIC, SL_ROPE_LLAMA3, SL_ROPE_YARN };
struct sl_rope {
  double base;
  size_t dim;      /* how many leading elements of a head are rotated; 0: all */
  int interleaved; /* pairs are neighbouring elements, else elements dim / 2 apart */
  enum sl_rope_scaling scaling;
  double factor, low, high, original, attention; /* as in core/model/form.h; attention 0 means 1 */
  int whole;
};

/* Causal attention of B sequences of T tokens, H query heads, KV key/value heads (H is a multiple of KV), head size D.
 * Token (b,t), head h starts at pointer + (b*T + t) * stride + h * D; strides are in elements. */
struct sl_attention_shape {
  size_t B, T, H, KV, D;
  size_t q_stride, k_stride, v_stride, out_stride;
  size_t global_heads; /* H of the whole layer, for dropout's element index; first_element includes batch and head */
  /* optional features of a model; 0: absent */
  size_t q_gap;      /* elements skipped between groups of query heads that share a key head */
  size_t kv_step;    /* from one key head to the next; 0: D */
  size_t window;     /* how many keys a query attends to, including its own */
  float scale;       /* of q . k; 0: 1 / sqrt(D) */
  float cap;         /* scores become cap tanh(score / cap) */
  float alibi_max;   /* ALiBi: see kernels/scores.h */
  size_t first_head; /* index in the layer of the first local head, for ALiBi */
  /* flash attention: keys and values of each sequence, of which the queries are those at `at`; 0: T */
  size_t keys;
  struct sl_token_places at;
};

/* Layout of the heads that RoPE rotates: see kernels/llama.h. */
struct sl_rope_shape {
  size_t B, T, heads, D;
  size_t stride, step; /* elements from token to token, and from head to head */
  size_t group, gap;
  struct sl_token_places at;
};

/* How a piece of n numbers is packed into `stride` bytes, a multiple of 4: see kernels/quantize.h. */
struct sl_quantized {
  size_t n;
  size_t block; /* numbers that share a scale, a multiple of 8; the last block may have fewer */
  size_t stride;
  int bits; /* of a number: 8 or 4 */
};

/* How `pieces` pieces of `chunk` signs each are packed, each piece into `stride` bytes: see kernels/onebit.h. */
struct sl_signs {
  size_t chunk, pieces, stride; /* chunk: a multiple of 8; stride: of 4 */
};

/* Adam (L2 in the gradient) or AdamW (decoupled = 1), as torch.optim. step counts from 1. */
struct sl_adam {
  double lr, beta1, beta2, eps, weight_decay;
  double grad_scale;   /* every gradient is multiplied by this first: unscaling times clipping */
  int decoupled;       /* 1: AdamW */
  int bias_correction; /* 1 in torch; DeepSpeed can switch it off */
  int64_t step;
};

/* torch.optim.SGD. step counts from 1; at step 1 the momentum buffer becomes the gradient. */
struct sl_sgd {
  double lr, momentum, dampening, weight_decay;
  double grad_scale;
  int nesterov;
  int64_t step;
};
