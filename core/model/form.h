/* What a transformer's block computes, as data that a family's reader fills in. What each does in formulas stands at the ops
 * (core/op/op.h) and their kernels. */
#pragma once

#include "core/base/limits.h"

#include <stdbool.h>
#include <stdint.h>

/* The parts that a transformer can have, in model order: the order of forward use and of the flat parameter buffer. Each is a
 * weight, and maybe a bias behind it. WHERE: ahead of the blocks, in each block, or behind them. */
#define SL_PART_MAP(X)                                                                                                 \
  X(EMBEDDING, AHEAD)                                                                                                  \
  X(POSITIONS, AHEAD) /* table of positions */                                                                         \
  X(EMBEDDING_NORM, AHEAD)                                                                                             \
  X(NORM_1, BLOCK) /* what attention reads */                                                                          \
  X(QKV, BLOCK)    /* q, k and v in one ... */                                                                         \
  X(Q, BLOCK)      /* ... or apart */                                                                                  \
  X(K, BLOCK)                                                                                                          \
  X(V, BLOCK)                                                                                                          \
  X(Q_NORM, BLOCK)                                                                                                     \
  X(K_NORM, BLOCK)                                                                                                     \
  X(ATTENTION_OUT, BLOCK)                                                                                              \
  X(POST_NORM_1, BLOCK) /* on attention's branch, before it is added */                                                \
  X(NORM_2, BLOCK)      /* what the MLP reads */                                                                       \
  X(GATE, BLOCK)                                                                                                       \
  X(UP, BLOCK)          /* the MLP's first product; gate and up in one where gate_packed */                            \
  X(DOWN, BLOCK)        /* its last */                                                                                 \
  X(POST_NORM_2, BLOCK) /* on the MLP's branch */                                                                      \
  X(FINAL_NORM, BEHIND)                                                                                                \
  X(HEAD, BEHIND) /* where it is not the embedding */

enum sl_tensor_part {
#define X(name, where) SL_PART_##name,
  SL_PART_MAP(X)
#undef X
      SL_PART_COUNT
};

enum sl_positions { SL_POSITIONS_TABLE, SL_POSITIONS_ROTARY, SL_POSITIONS_ALIBI };

/* gelu: with the error function; gelu_tanh: its approximation. */
enum sl_activation { SL_ACTIVATION_GELU_TANH, SL_ACTIVATION_GELU, SL_ACTIVATION_SILU, SL_ACTIVATION_RELU };

/* Where a block norms: what a branch reads, what a branch gives, or both. */
enum sl_norms { SL_NORMS_BEFORE, SL_NORMS_AFTER, SL_NORMS_AROUND };

/* How a product of q, k and v lays them in a row: all of q, of k, of v; or group by group, the heads of q that share a key head,
 * then that key head and its value head. */
enum sl_qkv_rows { SL_QKV_PACKED, SL_QKV_BY_GROUP, SL_QKV_APART };

/* RMSNorm of q and k: of each head by itself, or of all heads together. */
enum sl_qk_norm { SL_QK_NORM_NONE, SL_QK_NORM_HEAD, SL_QK_NORM_ALL };

/* The residual stream: attention's branch is added before the MLP reads it; or both read the block's input, through a norm each
 * or through one. */
enum sl_residual { SL_RESIDUAL_SEQUENTIAL, SL_RESIDUAL_PARALLEL, SL_RESIDUAL_PARALLEL_ONE_NORM };

/* Frequency of pair i of `dim` turned elements: base^(-2i/dim), scaled (transformers' modeling_rope_utils.py):
 *   linear  / factor
 *   dynamic as it is, since no sequence is longer than the model's positions (arXiv:2306.15595's NTK form begins beyond)
 *   llama3  / factor for wavelengths above original / low, as it is for those below original / high, in between a mean of both
 *   yarn    / factor for pairs of few turns within `original` positions (< slow), as it is for many (> fast), a ramp over the
 *           pairs in between (arXiv:2309.00071); cosine and sine are multiplied by `attention` */
enum sl_rotary_scaling { SL_ROTARY_PLAIN, SL_ROTARY_LINEAR, SL_ROTARY_DYNAMIC, SL_ROTARY_LLAMA3, SL_ROTARY_YARN };
struct sl_rotary {
  int64_t dim;      /* elements of a head that are turned, even; the first ones */
  bool interleaved; /* pairs are neighbours, else an element and the one dim / 2 behind it */
  double base;
  enum sl_rotary_scaling scaling;
  double factor;
  double low, high; /* llama3: low_freq_factor, high_freq_factor; yarn: beta_slow, beta_fast */
  double original;  /* original_max_position_embeddings */
  double attention; /* yarn */
  bool whole;       /* yarn: the ends of the ramp are rounded to whole pairs */
};

struct sl_form {
  enum sl_positions positions;
  int64_t position_offset; /* rows of the table in front of position 0 (opt: 2) */
  double embedding_scale;  /* multiplies what the table says; 0: nothing does */
  bool rms;                /* norms are RMSNorm, else LayerNorm */
  bool norms_unbiased;     /* LayerNorms have no bias */
  bool norms_from_one;     /* a norm multiplies by 1 + weight */
  enum sl_norms norms;
  enum sl_residual residual;
  bool embedding_norm; /* a LayerNorm behind the embedding */
  bool out_in;         /* weights are (out, in), else (in, out) */
  enum sl_qkv_rows qkv;
  bool qkv_bias, out_bias, mlp_bias, head_bias;
  enum sl_qk_norm qk_norm;
  enum sl_activation activation;
  bool gated;               /* activation(gate) * up, else activation(up) */
  bool gate_packed;         /* gate and up are one weight, gate's rows first */
  bool small_residual_init; /* what adds to the residual stream starts smaller by sqrt(2 n_layer) */
  /* attention: softmax over keys of cap(scale q.k + slope (key - query)), cap(x) = attention_cap tanh(x / attention_cap) */
  int64_t attention_scalar; /* scale = 1 / sqrt(attention_scalar); 0: of head_dim */
  double attention_cap;     /* 0: none */
  double logit_cap;         /* the same of the head's logits */
  int64_t
      alibi_max;  /* ALiBi (arXiv:2108.12409): head h of n, a power of two, has the slope 2^(-alibi_max (h + 1) / n) */
  int64_t window; /* see sl_model_window; of the layers that windowed[] names */
  uint64_t windowed[SL_MAX_LAYERS / 64];
  struct sl_rotary rotary, rotary_windowed; /* of layers without and with a window */
};
