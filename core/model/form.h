/* What a transformer's block computes, as data that a family's reader fills in. The ops (core/op/op.h) and their
 * kernels have the formulas. */
#pragma once

#include "core/base/limits.h"

#include <stdbool.h>
#include <stdint.h>

/* The parts that a transformer can have, in model order, which is the order of use in forward and of the flat parameter
 * buffer. Each is a weight, possibly followed by a bias. WHERE: ahead of the blocks, in each block, or behind them. */
#define SL_PART_MAP(X)                                                                                                 \
  X(EMBEDDING, AHEAD)                                                                                                  \
  X(POSITIONS, AHEAD) /* table of positions */                                                                         \
  X(EMBEDDING_NORM, AHEAD)                                                                                             \
  X(NORM_1, BLOCK) /* attention's input */                                                                             \
  X(QKV, BLOCK)    /* q, k and v in one weight ... */                                                                  \
  X(Q, BLOCK)      /* ... or separate */                                                                               \
  X(K, BLOCK)                                                                                                          \
  X(V, BLOCK)                                                                                                          \
  X(Q_NORM, BLOCK)                                                                                                     \
  X(K_NORM, BLOCK)                                                                                                     \
  X(ATTENTION_OUT, BLOCK)                                                                                              \
  X(POST_NORM_1, BLOCK) /* of attention's output, before it is added */                                                \
  X(NORM_2, BLOCK)      /* the MLP's input */                                                                          \
  X(GATE, BLOCK)                                                                                                       \
  X(UP, BLOCK)          /* the MLP's first product; contains gate and up if gate_packed */                             \
  X(DOWN, BLOCK)        /* its last product */                                                                         \
  X(POST_NORM_2, BLOCK) /* of the MLP's output */                                                                      \
  X(FINAL_NORM, BEHIND)                                                                                                \
  X(HEAD, BEHIND) /* if it is not the embedding */

enum sl_tensor_part {
#define X(name, where) SL_PART_##name,
  SL_PART_MAP(X)
#undef X
      SL_PART_COUNT
};

enum sl_positions { SL_POSITIONS_TABLE, SL_POSITIONS_ROTARY, SL_POSITIONS_ALIBI, SL_POSITIONS_NONE };

/* gelu: with the error function; gelu_tanh: its approximation; relu2: ReLU squared. */
enum sl_activation {
  SL_ACTIVATION_GELU_TANH,
  SL_ACTIVATION_GELU,
  SL_ACTIVATION_SILU,
  SL_ACTIVATION_RELU,
  SL_ACTIVATION_RELU2
};

/* Where a block has norms: on the input of a branch, on its output, or on both. */
enum sl_norms { SL_NORMS_BEFORE, SL_NORMS_AFTER, SL_NORMS_AROUND };

/* The layout of a row of the packed product: all of q, k, then v; or group by group: the q heads that share a key head,
 * then that key head and its value head; or separate products. */
enum sl_qkv_rows { SL_QKV_PACKED, SL_QKV_BY_GROUP, SL_QKV_APART };

/* RMSNorm of q and k: of each head by itself, or of all heads together. */
enum sl_qk_norm { SL_QK_NORM_NONE, SL_QK_NORM_HEAD, SL_QK_NORM_ALL };

/* The residual stream: attention's output is added before the MLP reads the stream; or both branches read the block's
 * input, through one norm each or through a common one. */
enum sl_residual { SL_RESIDUAL_SEQUENTIAL, SL_RESIDUAL_PARALLEL, SL_RESIDUAL_PARALLEL_ONE_NORM };

/* Frequency of pair i of `dim` rotated elements: base^(-2i/dim), scaled (transformers' modeling_rope_utils.py):
 *   linear   / factor
 *   dynamic  unscaled, since no sequence is longer than the model's positions (arXiv:2306.15595's NTK form begins
 *            beyond)
 *   llama3   / factor for wavelengths above original / low, unscaled for those below original / high, interpolated
 *            between
 *   yarn     / factor for pairs of few turns within `original` positions (< slow), unscaled for many (> fast), a ramp
 *            over the pairs in between (arXiv:2309.00071); cosine and sine are multiplied by `attention` */
enum sl_rotary_scaling { SL_ROTARY_PLAIN, SL_ROTARY_LINEAR, SL_ROTARY_DYNAMIC, SL_ROTARY_LLAMA3, SL_ROTARY_YARN };
struct sl_rotary {
  int64_t dim;      /* elements of a head that are rotated, even; the first ones */
  bool interleaved; /* pairs are adjacent elements, otherwise elements dim / 2 apart */
  double base;
  enum sl_rotary_scaling scaling;
  double factor;
  double low, high; /* llama3: low_freq_factor, high_freq_factor; yarn: beta_slow, beta_fast */
  double original;  /* original_max_position_embeddings */
  double attention; /* yarn */
  bool joined;      /* transformers concatenates what is rotated and the rest of a head, even if there is none */
  bool whole;       /* yarn: the ends of the ramp are rounded to whole pairs */
};

struct sl_form {
  enum sl_positions positions;
  int64_t position_offset; /* rows of the table before that of position 0 (opt: 2) */
  double embedding_scale;  /* factor of the embedding; 0: none */
  bool rms;                /* norms are RMSNorm, else LayerNorm */
  bool norms_unbiased;     /* LayerNorms have no bias */
  bool norms_from_one;     /* a norm multiplies by 1 + weight */
  enum sl_norms norms;
  enum sl_residual residual;
  bool embedding_norm; /* a LayerNorm after the embedding */
  bool out_in;         /* weights are (out, in), else (in, out) */
  enum sl_qkv_rows qkv;
  bool qkv_bias, out_bias, mlp_bias, head_bias;
  enum sl_qk_norm qk_norm;
  enum sl_activation activation;
  bool gelu_of_torch;       /* gelu_tanh is gelu_pytorch_tanh, one kernel of torch, not transformers' own formula */
  bool gated;               /* activation(gate) * up, else activation(up) */
  bool gate_packed;         /* gate and up are one weight, gate's rows first */
  bool small_residual_init; /* projections that add to the residual stream are initialised smaller by sqrt(2 n_layer) */
  /* attention: softmax over keys of cap(scale q.k + slope (key - query)), with
   * cap(x) = attention_cap tanh(x / attention_cap) */
  int64_t attention_scalar; /* scale = 1 / sqrt(attention_scalar); 0: head_dim */
  double attention_cap;     /* 0: none */
  bool masks_always;        /* transformers gives attention a mask, and copies of q, k and v from packed rows */
  bool softmax_of_scores;   /* transformers computes it in the type of the scores, which are not cast to fp32 */
  double logit_cap;         /* the same for the LM head's logits */
  int64_t
      alibi_max;  /* ALiBi (arXiv:2108.12409): head h of n, a power of two, has the slope 2^(-alibi_max (h + 1) / n) */
  int64_t window; /* of the layers that windowed[] names, see sl_model_window */
  uint64_t windowed[SL_MAX_LAYERS / 64];
  struct sl_rotary rotary, rotary_windowed; /* of layers without and with a window */
};
