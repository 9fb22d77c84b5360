/* Rows of kernel sets (kernels.h): what frameworks launch beside one of our ops, by the code that says so. Internal to
 * core/plan/kernels.c. */
#pragma once

#include "core/plan/kernels.h"

/* clang-format off */

#define END                                                                                                            \
  { .kind = SL_OP_COUNT }
#define NOTHING SL_OP_COUNT
#define ALWAYS SL_ALWAYS
#define OP SL_ELEMENT_OF_OP
#define Q SL_ELEMENT_OF_Q
#define KV SL_ELEMENT_OF_KV
#define QKV SL_ELEMENT_OF_QKV
#define REPEATED SL_ELEMENT_OF_REPEATED
#define BLOCKS SL_ELEMENT_OF_BLOCKS
#define IN_16 SL_IN_16_BITS
#define IN_32 SL_IN_FP32
#define UNDER SL_UNDER_AUTOCAST
#define NOT_32 (SL_IN_16_BITS | SL_UNDER_AUTOCAST)
#define STREAM_32 (SL_IN_FP32 | SL_UNDER_AUTOCAST)
#define WITHOUT (SL_IN_16_BITS | SL_IN_FP32)
#define ANY (SL_IN_16_BITS | SL_IN_FP32 | SL_UNDER_AUTOCAST)

/*  kind                     element bytes launches scratch kept kept by   when, weight bytes and launches, types */

/* q, k and v are copied apart before the kernel, as are their gradients after it: read and written once. */
#define COPIES_FOR_PRODUCTS                                                                                            \
    {SL_OP_ATTENTION_FWD,    QKV,     4,    3,       0,      0,   NOTHING, ALWAYS, 0, 0, NOT_32},                      \
    {SL_OP_ATTENTION_BWD,    QKV,     4,    3,       0,      0,   NOTHING, ALWAYS, 0, 0, NOT_32},                      \
    {SL_OP_ATTENTION_FWD,    QKV,     8,    3,       0,      0,   NOTHING, ALWAYS, 0, 0, IN_32},                       \
    {SL_OP_ATTENTION_BWD,    QKV,     8,    3,       0,      0,   NOTHING, ALWAYS, 0, 0, IN_32}
#define COPIES_OF_QKV                                                                                                  \
    {SL_OP_FLASH_FWD,        QKV,     4,    3,       0,      0,   NOTHING, ALWAYS, 0, 0, NOT_32},                      \
    {SL_OP_FLASH_BWD,        QKV,     4,    3,       0,      0,   NOTHING, ALWAYS, 0, 0, NOT_32},                      \
    {SL_OP_FLASH_FWD,        QKV,     8,    3,       0,      0,   NOTHING, ALWAYS, 0, 0, IN_32},                       \
    {SL_OP_FLASH_BWD,        QKV,     8,    3,       0,      0,   NOTHING, ALWAYS, 0, 0, IN_32},                       \
    COPIES_FOR_PRODUCTS
/* scaled_dot_product_attention reads q, k and v where they are. Behind its backward the gradients of what was rotated
 * lie as (heads, tokens) and are copied for the products before (dq: 4; dk, half of k and v: 2), and those of packed
 * rows are concatenated (4). In fp32 all of it is twice that. */
#define GRADIENTS_OF_QKV                                                                                               \
    {SL_OP_FLASH_BWD,        Q,       4,    1,       0,      0,   NOTHING, SL_IF_ROTARY, 0, 0, NOT_32},                \
    {SL_OP_FLASH_BWD,        KV,      2,    1,       0,      0,   NOTHING, SL_IF_ROTARY, 0, 0, NOT_32},                \
    {SL_OP_FLASH_BWD,        QKV,     4,    1,       0,      0,   NOTHING, SL_IF_QKV_PACKED, 0, 0, NOT_32},            \
    {SL_OP_FLASH_BWD,        Q,       8,    1,       0,      0,   NOTHING, SL_IF_ROTARY, 0, 0, IN_32},                 \
    {SL_OP_FLASH_BWD,        KV,      4,    1,       0,      0,   NOTHING, SL_IF_ROTARY, 0, 0, IN_32},                 \
    {SL_OP_FLASH_BWD,        QKV,     8,    1,       0,      0,   NOTHING, SL_IF_QKV_PACKED, 0, 0, IN_32}
/* t cos (4 bytes), rotate_half (half of it negated, 2; concatenated, 4), times sin (4), their sum (6), concatenated
 * with what is not rotated (4), less our 4; the backward undoes them one by one. In fp32 all of it is twice that. */
#define ROTARY_IN_PYTHON                                                                                               \
    {SL_OP_ROPE,             OP,      20,   5,       6,      0,   NOTHING, ALWAYS, 0, 0, NOT_32},                      \
    {SL_OP_ROPE,             OP,      40,   5,       12,     0,   NOTHING, ALWAYS, 0, 0, IN_32}
/* transformers' LlamaRotaryEmbedding gives cos and sin the type of hidden_states, which torch.autocast leaves in
 * fp32: times cos (6), rotate_half (2; 4), times sin (6), their sum (12), concatenated (8), to 16 bits for attention
 * (6), less our 4. */
#define ROTARY_OF_TRANSFORMERS                                                                                         \
    {SL_OP_ROPE,             OP,      20,   5,       6,      0,   NOTHING, ALWAYS, 0, 0, IN_16},                       \
    {SL_OP_ROPE,             OP,      40,   5,       12,     0,   NOTHING, ALWAYS, 0, 0, IN_32},                       \
    {SL_OP_ROPE,             OP,      40,   6,       12,     0,   NOTHING, ALWAYS, 0, 0, UNDER}
/* silu(gate) (4) is a tensor of its own, kept for the product (6), less our 6. The backward: gradients of both factors
 * (12) and that of silu (6), less our 10; those of the factors and of their product are live at once (6). Where gate
 * and up are the halves of one tensor, the backward of torch.chunk concatenates their gradients (8). In fp32 all of it
 * is twice that. */
#define SWIGLU_IN_PYTHON                                                                                               \
    {SL_OP_SWIGLU_FWD,       OP,      4,    1,       0,      2,   SL_OP_SWIGLU_BWD, ALWAYS, 0, 0, NOT_32},             \
    {SL_OP_SWIGLU_BWD,       OP,      8,    2,       6,      0,   NOTHING, ALWAYS, 0, 0, NOT_32},                      \
    {SL_OP_SWIGLU_BWD,       OP,      8,    1,       4,      0,   NOTHING, SL_IF_GATE_PACKED, 0, 0, NOT_32},           \
    {SL_OP_SWIGLU_FWD,       OP,      8,    1,       0,      4,   SL_OP_SWIGLU_BWD, ALWAYS, 0, 0, IN_32},              \
    {SL_OP_SWIGLU_BWD,       OP,      16,   2,       12,     0,   NOTHING, ALWAYS, 0, 0, IN_32},                       \
    {SL_OP_SWIGLU_BWD,       OP,      16,   1,       8,      0,   NOTHING, SL_IF_GATE_PACKED, 0, 0, IN_32}
/* vocab_parallel_cross_entropy: logits to fp32 (6), their maximum (4), subtracted in place (8), exp in place (8), sum
 * (4), divided in place (8); backward multiplied by the loss's gradient (8) and to 16 bits (6); less our 4. Besides
 * them, sixteen kernels over rows only. The fp32 copy is live together with the logits, and later with their 16-bit
 * gradient, but not with both: nothing keeps the logits once the loss is there. */
#define LOSS_OF_MEGATRON(when)                                                                                         \
    {SL_OP_CLASSIFIER,       OP,      48,   23,      4,      0,   NOTHING, when, 0, 0, ANY},                           \
    {SL_OP_CLASSIFIER_SHARD, OP,      48,   23,      4,      0,   NOTHING, when, 0, 0, ANY}
/* The same kernels. DeepSpeed's runtime/pipe/engine.py keeps the outputs of the last stage in its two pipe_buffers until
 * new ones take their place, and these are the fp32 logits (float16_to_fp32 ends the stage): of both beside the new. */
#define LOSS_OF_MEGATRON_DEEPSPEED                                                                                     \
    {SL_OP_CLASSIFIER,       OP,      48,   23,      12,     0,   NOTHING, ALWAYS, 0, 0, ANY},                         \
    {SL_OP_CLASSIFIER_SHARD, OP,      48,   23,      12,     0,   NOTHING, ALWAYS, 0, 0, ANY}
/* megatron/core/fusions/fused_cross_entropy.py, compiled (--cross-entropy-loss-fusion): to fp32 with the maximum (6),
 * subtracted and exp (8), divided in place (8); backward to 16 bits (6); less our 4. What is in place in eager code is
 * not when compiled: peaks of Megatron-LM's own tests on H100 (golden_values of gpt3_mcore_te_tp2_pp2_resume_torch_dist
 * and its _cross_entropy_loss_fusion) differ by 409 MB, a second fp32 copy of the logits of 413 MB. */
#define FUSED_LOSS_OF_MEGATRON                                                                                         \
    {SL_OP_CLASSIFIER,       OP,      24,   10,      8,      0,   NOTHING, SL_IF_FUSED_LOSS, 0, 0, ANY},               \
    {SL_OP_CLASSIFIER_SHARD, OP,      24,   10,      8,      0,   NOTHING, SL_IF_FUSED_LOSS, 0, 0, ANY}
/* The same kernels. The caller holds the fp32 logits, and their transposed copy, while the softmax is computed. */
#define LOSS_OF_NANOTRON                                                                                               \
    {SL_OP_CLASSIFIER,       OP,      48,   23,      10,     0,   NOTHING, ALWAYS, 0, 0, ANY},                         \
    {SL_OP_CLASSIFIER_SHARD, OP,      48,   23,      10,     0,   NOTHING, ALWAYS, 0, 0, ANY}
/* logits.float() (6), log_softmax (8), the loss of a row; backward a one-hot gradient (4), that of log_softmax (12), to
 * 16 bits (6); less our 4. Three fp32 tensors are live at a time. Logits in fp32 are not cast (16, less our 8). */
#define LOSS_OF_TORCH                                                                                                  \
    {SL_OP_CLASSIFIER,       OP,      32,   8,       12,     0,   NOTHING, ALWAYS, 0, 0, NOT_32},                      \
    {SL_OP_CLASSIFIER_SHARD, OP,      32,   8,       12,     0,   NOTHING, ALWAYS, 0, 0, NOT_32},                      \
    {SL_OP_CLASSIFIER,       OP,      16,   6,       12,     0,   NOTHING, ALWAYS, 0, 0, IN_32},                       \
    {SL_OP_CLASSIFIER_SHARD, OP,      16,   6,       12,     0,   NOTHING, ALWAYS, 0, 0, IN_32}
/* model/losses/cross_entropy.py on logits of the whole vocabulary: gathered parts concatenated (4), to fp32 (6),
 * log_softmax (8), argmax (4); backward a gradient of zeros (4), that of log_softmax (12), to 16 bits (6), a rank's own
 * part sliced out (4); less our 4. Live together with the logits, in fp32: their softmax, its gradient and the gradient
 * of the logits. */
#define LOSS_OF_SCALING                                                                                                \
    {SL_OP_CLASSIFIER,       OP,      44,   14,      12,     0,   NOTHING, ALWAYS, 0, 0, ANY}
/* One kernel reads scores and writes probabilities; its backward reads both and writes a gradient. */
#define FUSED_SOFTMAX(when)                                                                                            \
    {SL_OP_ATTENTION_FWD,    OP,      4,    1,       0,      0,   NOTHING, when, 0, 0, ANY},                           \
    {SL_OP_ATTENTION_BWD,    OP,      6,    1,       2,      0,   NOTHING, when, 0, 0, ANY}
/* Gemma 2's scores are divided by the cap (4), go through tanh (4) and are multiplied by it (4); the backward: twice
 * scaled (8), that of tanh (6). What tanh gives is kept. In fp32 all of it is twice that. */
#define CAPPED_SCORES                                                                                                  \
    {SL_OP_ATTENTION_FWD,    OP,      12,   3,       4,      2,   SL_OP_ATTENTION_BWD, SL_IF_CAPPED, 0, 0, NOT_32},    \
    {SL_OP_ATTENTION_BWD,    OP,      14,   3,       4,      0,   NOTHING, SL_IF_CAPPED, 0, 0, NOT_32},                \
    {SL_OP_ATTENTION_FWD,    OP,      24,   3,       8,      4,   SL_OP_ATTENTION_BWD, SL_IF_CAPPED, 0, 0, IN_32},     \
    {SL_OP_ATTENTION_BWD,    OP,      28,   3,       8,      0,   NOTHING, SL_IF_CAPPED, 0, 0, IN_32}
/* Dropout of the probabilities reads them (2), writes the result (2) and a mask (1); its backward reads the mask and a
 * gradient and writes a gradient. In fp32 all but the mask is twice that. */
#define DROPOUT_OF_SCORES                                                                                              \
    {SL_OP_ATTENTION_FWD,    OP,      5,    1,       0,      0,   NOTHING, SL_IF_DROPOUT, 0, 0, NOT_32},               \
    {SL_OP_ATTENTION_BWD,    OP,      5,    1,       0,      0,   NOTHING, SL_IF_DROPOUT, 0, 0, NOT_32},               \
    {SL_OP_ATTENTION_FWD,    OP,      9,    1,       0,      0,   NOTHING, SL_IF_DROPOUT, 0, 0, IN_32},                \
    {SL_OP_ATTENTION_BWD,    OP,      9,    1,       0,      0,   NOTHING, SL_IF_DROPOUT, 0, 0, IN_32}
/* forward_torch_softmax in fp32, as query-key layer scaling requires: to fp32 (6), scaled (8), masked in place (8),
 * softmax (8), to 16 bits (6); the backward: to fp32 (6), softmax's (12), masked (8), scaled (8), to 16 bits (6). The
 * fp32 probabilities are kept. */
#define SOFTMAX_OF_MEGATRON(when)                                                                                      \
    {SL_OP_ATTENTION_FWD,    OP,      36,   5,       8,      4,   SL_OP_ATTENTION_BWD, when, 0, 0, ANY},               \
    {SL_OP_ATTENTION_BWD,    OP,      40,   5,       8,      0,   NOTHING, when, 0, 0, ANY}
/* Scaling's softmax is assumed to be the same. Its code of 2024 (core/nn/masked_softmax/masked_softmax.py) scales
 * within the product, and masks in 16 bits (26 bytes in all) or, as an option, in fp32 (60); its runs of 2023 lie
 * between. Divided by the root (4), the mask added (6), softmax into fp32 (6), to 16 bits (6); the backward: to fp32
 * (6), softmax's (10), divided (4). In fp32 nothing is cast, and the probabilities are kept once: divided (8), the mask
 * added (12), softmax (8); the backward: softmax's (12), divided (8). */
#define SOFTMAX_OF_TORCH(when)                                                                                         \
    {SL_OP_ATTENTION_FWD,    OP,      22,   4,       6,      4,   SL_OP_ATTENTION_BWD, when, 0, 0, NOT_32},            \
    {SL_OP_ATTENTION_BWD,    OP,      20,   3,       6,      0,   NOTHING, when, 0, 0, NOT_32},                        \
    {SL_OP_ATTENTION_FWD,    OP,      28,   3,       8,      0,   NOTHING, when, 0, 0, IN_32},                         \
    {SL_OP_ATTENTION_BWD,    OP,      20,   2,       8,      0,   NOTHING, when, 0, 0, IN_32}
/* transformers' GPT-2 computes it in the type of the scores (modeling_gpt2.py of 2021 to 2025, _attn): divided (4),
 * chosen by the causal mask (5), the padding's added (4), softmax (4); the backward: softmax's (6), chosen (5),
 * divided (4). In fp32 it is counted as above. */
#define SOFTMAX_OF_GPT2(when)                                                                                          \
    {SL_OP_ATTENTION_FWD,    OP,      17,   4,       4,      0,   NOTHING, when, 0, 0, IN_16},                         \
    {SL_OP_ATTENTION_BWD,    OP,      15,   3,       4,      0,   NOTHING, when, 0, 0, IN_16}
/* Cast to fp32 (6), squared (8), averaged (4), scaled (8), cast back (6), times the weight (4), less our 4; the
 * backward mirrors these with twice as many operands. x in fp32 (4) and the scaled x in 16 bits (2) are kept, but not
 * x itself (2), which we do. Five fp32 tensors of the backward are live at once, less ours. The weight's are the
 * product of its gradient and the scaled x (6) and the sum of that (2), less the 4 that our own half reads.
 * Of fp32 x nothing is cast: squared (8), averaged (4), scaled (8), times the weight (8), less our 8; of the
 * backward the two casts (12) are gone, what was in 16 bits is twice that (12), and ours is 6 more. Only the scaled
 * x is kept beside x, in fp32. */
#define RMSNORM_IN_PYTHON(when)                                                                                        \
    {SL_OP_RMSNORM_FWD,      OP,      32,   6,       4,      4,   SL_OP_RMSNORM_BWD, when, 0, 0, IN_16},               \
    {SL_OP_RMSNORM_BWD,      OP,      62,   13,      18,     0,   NOTHING, when, 4, 1, IN_16}
#define RMSNORM_OF_FP32(when)                                                                                          \
    {SL_OP_RMSNORM_FWD,      OP,      20,   4,       4,      4,   SL_OP_RMSNORM_BWD, when, 0, 0, STREAM_32},           \
    {SL_OP_RMSNORM_BWD,      OP,      56,   11,      16,     0,   NOTHING, when, 8, 1, STREAM_32}
/* Of x in 16 bits under autocast, which is cast apart: the same, but the scaled x goes back to 16 bits (6), which is
 * kept, before it is multiplied by an fp32 weight (10 for 8); the backward mirrors that. */
#define RMSNORM_OF_16_BITS(when)                                                                                       \
    {SL_OP_RMSNORM_FWD,      OP,      28,   5,       4,      2,   SL_OP_RMSNORM_BWD, when, 0, 0, UNDER},               \
    {SL_OP_RMSNORM_BWD,      OP,      66,   12,      16,     0,   NOTHING, when, 8, 1, UNDER}
/* Scaling's is assumed to keep the 16-bit x as well (core/nn/norm/rms_norm.py): of hagemann's 664 verdicts 97.9 % are
 * right with it, and 96.2 % without. */
#define RMSNORM_OF_SCALING(when)                                                                                       \
    {SL_OP_RMSNORM_FWD,      OP,      32,   6,       4,      6,   SL_OP_RMSNORM_BWD, when, 0, 0, IN_16},               \
    {SL_OP_RMSNORM_BWD,      OP,      62,   13,      16,     0,   NOTHING, when, 4, 1, IN_16}
/* Norms of Gemma and OLMo 2, which are cast back only when they are multiplied by the weight (8, and 6 for 6 and 4):
 * the scaled x is kept in fp32. */
#define RMSNORM_SCALED_IN_FP32(when)                                                                                   \
    {SL_OP_RMSNORM_FWD,      OP,      36,   6,       4,      6,   SL_OP_RMSNORM_BWD, when, 0, 0, IN_16},               \
    {SL_OP_RMSNORM_BWD,      OP,      70,   13,      16,     0,   NOTHING, when, 8, 1, IN_16}
/* torch's layer_norm is one kernel forward, and three backward, of which two sum the weights' gradients: twice the
 * bytes in fp32. */
#define LAYERNORM_OF_TORCH(when)                                                                                       \
    {SL_OP_LAYERNORM_BWD,    OP,      2,    2,       0,      0,   NOTHING, when, 2, 2, IN_16},                         \
    {SL_OP_LAYERNORM_BWD,    OP,      4,    2,       0,      0,   NOTHING, when, 4, 2, STREAM_32}

/* Where the residual stream branches, autograd adds the gradient of the norm to that of the stream: 6. It is a separate
 * tensor, which saves 2 bytes of ours, which is added in place. In fp32 both are twice that. */
#define GRADIENTS_ADDED                                                                                                \
    {SL_OP_RMSNORM_BWD,      OP,      4,    1,       0,      0,   NOTHING, ALWAYS, 0, 0, IN_16},                       \
    {SL_OP_LAYERNORM_BWD,    OP,      4,    1,       0,      0,   NOTHING, ALWAYS, 0, 0, IN_16},                       \
    {SL_OP_RMSNORM_BWD,      OP,      8,    1,       0,      0,   NOTHING, ALWAYS, 0, 0, STREAM_32},                   \
    {SL_OP_LAYERNORM_BWD,    OP,      8,    1,       0,      0,   NOTHING, ALWAYS, 0, 0, STREAM_32}
/* CausalSelfAttention.forward, in training: q, k and v permuted (4), k and v concatenated (4) and permuted (4),
 * sequence lengths counted (eight small kernels). Its backward: gradients of k and v concatenated (4) and permuted (4),
 * those of q, k and v concatenated (4) and transposed (4). The output is transposed into (tokens, sequences): with more
 * than one sequence F.linear copies that for o_proj (4), and the backward copies it again for the weight's gradient (4)
 * and its gradient back into order (4). Rotary positions use flash-attn's kernel, on q and on k as ours; it works in
 * place, so the permuted q, k and v live until the backward. */
#define ATTENTION_OF_NANOTRON                                                                                          \
    {SL_OP_FLASH_FWD,        QKV,     4,    1,       0,      2,   SL_OP_FLASH_BWD, ALWAYS, 0, 0, ANY},                 \
    {SL_OP_FLASH_FWD,        KV,      8,    10,      2,      0,   NOTHING, ALWAYS, 0, 0, ANY},                         \
    {SL_OP_FLASH_FWD,        Q,       4,    1,       0,      0,   NOTHING, SL_IF_SEQUENCES, 0, 0, ANY},                \
    {SL_OP_FLASH_BWD,        QKV,     8,    2,       2,      0,   NOTHING, ALWAYS, 0, 0, ANY},                         \
    {SL_OP_FLASH_BWD,        KV,      8,    2,       0,      0,   NOTHING, ALWAYS, 0, 0, ANY},                         \
    {SL_OP_FLASH_BWD,        Q,       8,    2,       0,      0,   NOTHING, SL_IF_SEQUENCES, 0, 0, ANY}

/* A block of torchtitan (models/llama/model.py) as Inductor compiles it: one kernel per chain of element-wise ops, with
 * products and attention separate. k and v are written for every query head (repeat_kv, 4), which flash attention
 * reads; so are their gradients, which are read again to be summed (8). Inductor generates no kernels for complex
 * numbers, so rotary positions stay torch's: to fp32 (6), multiplied (8), to 16 bits (6), less our 4. Recomputation by
 * op rotates q again (20) and writes k and v for every head again (4). Attention's backward sums the gradient of q in
 * fp32. The weights' gradients of norms are separate sums, over data that is read once more: that these are two kernels
 * is a guess; under torch.autocast x is fp32. */
#define BLOCK_BY_INDUCTOR                                                                                              \
    {SL_OP_FLASH_FWD,        REPEATED, 4,   1,       4,      0,   NOTHING, ALWAYS, 0, 0, ANY},                         \
    {SL_OP_FLASH_BWD,        REPEATED, 8,   2,       12,     0,   NOTHING, ALWAYS, 0, 0, ANY},                         \
    {SL_OP_FLASH_BWD,        REPEATED, 4,   1,       0,      0,   NOTHING, SL_IF_SELECTIVE_OP, 0, 0, ANY},             \
    {SL_OP_FLASH_BWD,        Q,        20,  3,       0,      0,   NOTHING, SL_IF_SELECTIVE_OP, 0, 0, ANY},             \
    {SL_OP_ROPE,             OP,       16,  2,       8,      0,   NOTHING, ALWAYS, 0, 0, ANY},                         \
    {SL_OP_RMSNORM_BWD,      OP,       4,   2,       0,      0,   NOTHING, ALWAYS, 4, 2, WITHOUT},                     \
    {SL_OP_RMSNORM_BWD,      OP,       6,   2,       0,      0,   NOTHING, ALWAYS, 6, 2, UNDER}
/* torch/distributed/tensor/experimental/_attention.py, _templated_ring_attention and its backward: attention is one call
 * for every rank of the cp group, with one rank's keys and values. Forward, for each: they are concatenated (8); then
 * outputs go to fp32 (6) and are merged, out - sigmoid(lse' - lse) (out - out'), by four kernels (32), or, where only
 * the second chunk attends, half of that and a concatenation (8): 40 on average for each block of another rank; for the
 * own one 14, and 6 in the end. Backward: concatenated (8), gradients of k and v in fp32 added up (20, or 26 where half
 * of them are) and concatenated for the next rank (16), that of q likewise (10 or 13): 58; for the own block 54, zeros
 * first (12), to 16 bits in the end (18). */
#define RING_OF_TORCH                                                                                                  \
    {SL_OP_FLASH_FWD,        BLOCKS,  40,   9,       0,      0,   NOTHING, SL_IF_CONTEXT, 0, 0, ANY},                  \
    {SL_OP_FLASH_FWD,        Q,       20,   3,       14,     0,   NOTHING, SL_IF_CONTEXT, 0, 0, ANY},                  \
    {SL_OP_FLASH_BWD,        BLOCKS,  58,   11,      0,      0,   NOTHING, SL_IF_CONTEXT, 0, 0, ANY},                  \
    {SL_OP_FLASH_BWD,        Q,       84,   12,      28,     0,   NOTHING, SL_IF_CONTEXT, 0, 0, ANY}
/* torch/optim/adamw.py, _multi_tensor_adamw, which torchtitan used until 2025: parameters decayed (8), lerp (12),
 * second moments scaled (8) and added to (12), their roots (8), scaled (8), epsilon added (8), addcdiv (16); less the
 * 28 of ours for fp32 shards. */
#define ADAMW_BY_FOREACH                                                                                               \
    {SL_OP_ADAMW,            OP,       52,  12,      0,      0,   NOTHING, ALWAYS, 0, 0, ANY}
/* torch.amp.GradScaler.unscale_ checks and unscales all gradients, which are fp32 (8), and its step asks the host
 * whether all were finite. */
#define GRAD_SCALER                                                                                                    \
    {SL_OP_ADAMW,            OP,       8,   2,       0,      0,   NOTHING, SL_IF_GRAD_SCALER, 0, 0, ANY},            \
    {SL_OP_ADAM,             OP,       8,   2,       0,      0,   NOTHING, SL_IF_GRAD_SCALER, 0, 0, ANY},            \
    {SL_OP_SGD,              OP,       8,   2,       0,      0,   NOTHING, SL_IF_GRAD_SCALER, 0, 0, ANY}
/* megatron/optimizer/optimizer.py and clip_grads.py of February 2022, Float16OptimizerWithFloat16Params: gradients are
 * clipped by a pass over fp32 ones (8), the updated masters are copied to the parameters after the update (4 more than
 * ours, which writes both at once) and gradients are zeroed (2). In fp16 they are copied to fp32 first (6), unscaled
 * and checked for infinities and NaNs (8), and squared and read as fp32 (4 more). */
#define ADAM_OF_MEGATRON                                                                                               \
    {SL_OP_ADAMW,            OP,       14,  3,       0,      0,   NOTHING, ALWAYS, 0, 0, ANY},                         \
    {SL_OP_ADAMW,            OP,       18,  2,       0,      0,   NOTHING, SL_IF_FP16, 0, 0, ANY}
/* llmfoundry/models/layers/attention.py: the kernel of flash_attn_triton.py reads q, k and v where the product left
 * them (attn_impl of the benchmarks, scripts/train/benchmarking/submit_benchmarks.py). Its backward sums the gradient
 * of q in fp32 and copies it (6); torch.split's concatenates those of q, k and v (4). Materialised scores (attn_impl:
 * torch) are products of permuted copies of q, k and v. */
#define ATTENTION_OF_FOUNDRY                                                                                           \
    {SL_OP_FLASH_BWD,        Q,       6,    1,       4,      0,   NOTHING, ALWAYS, 0, 0, ANY},                         \
    {SL_OP_FLASH_BWD,        QKV,     4,    1,       2,      0,   NOTHING, ALWAYS, 0, 0, ANY},                         \
    {SL_OP_ATTENTION_FWD,    QKV,     4,    3,       0,      0,   NOTHING, ALWAYS, 0, 0, ANY},                         \
    {SL_OP_ATTENTION_BWD,    QKV,     4,    3,       0,      0,   NOTHING, ALWAYS, 0, 0, ANY}
/* flash-attn's csrc/xentropy: logits read for their maximum and for the sum, and again by the backward, which writes
 * the gradient to a separate tensor; less our 4. Then two metrics, the cross entropy and the perplexity, each of
 * torch's own loss: to fp32 (6), log_softmax (8). composer/trainer/trainer.py, _train_microbatch, computes them behind
 * the backward, so what they allocate (8) takes the place of the activations and is not counted. */
#define LOSS_OF_FOUNDRY                                                                                                \
    {SL_OP_CLASSIFIER,       OP,      32,   22,      2,      0,   NOTHING, ALWAYS, 0, 0, ANY},                         \
    {SL_OP_CLASSIFIER_SHARD, OP,      32,   22,      2,      0,   NOTHING, ALWAYS, 0, 0, ANY}
/* composer/optim/decoupled_weight_decay.py, adamw, a tensor at a time and without decay: first moments scaled (8) and
 * added to (12), second moments likewise (20), their roots (8), divided (8), epsilon added (8), addcdiv (16); less the
 * 28 of ours for fp32 shards. */
#define ADAMW_OF_COMPOSER                                                                                              \
    {SL_OP_ADAMW,            OP,       52,  7,       0,      0,   NOTHING, ALWAYS, 0, 0, ANY}
/* As LOSS_OF_TORCH; but the caller frees the logits before the backward (train.py: del pred), which leaves the
 * allocator a block too small for any other tensor. With a vocabulary split over ranks
 * (torch/distributed/tensor/parallel/loss.py, _log_softmax and _nll_loss_and_log_softmax_backward): to fp32 (6),
 * maximum (4), subtracted (8), exp (8), sum (4), its logarithm subtracted (8); backward a gradient of zeros (4), exp
 * (8), added (12), scaled (8), to 16 bits (6); less our 4. Four fp32 tensors are live at a time. */
#define LOSS_OF_TORCHTITAN                                                                                             \
    {SL_OP_CLASSIFIER,       OP,      32,   8,       12,     0,   NOTHING, ALWAYS, 0, 0, ANY},                         \
    {SL_OP_CLASSIFIER_SHARD, OP,      72,   14,      16,     0,   NOTHING, ALWAYS, 0, 0, ANY}
/* Inductor's kernels: logits read for their maximum, for the sum, and again in the backward, which writes the gradient;
 * less our 4. It overwrites logits that its own graph made (donated_buffer of torch/_functorch/config.py, on from 2.6;
 * the code that Inductor 2.6 wrote for a CPU says so), and has a tensor of its own where they came from elsewhere. */
#define LOSS_BY_INDUCTOR                                                                                               \
    {SL_OP_CLASSIFIER,       OP,      4,    2,       2,      0,   NOTHING, SL_IF_LOSS_APART, 0, 0, ANY},               \
    {SL_OP_CLASSIFIER,       OP,      4,    2,       0,      0,   NOTHING, SL_UNLESS_LOSS_APART, 0, 0, ANY},           \
    {SL_OP_CLASSIFIER_SHARD, OP,      4,    4,       2,      0,   NOTHING, SL_IF_LOSS_APART, 0, 0, ANY},               \
    {SL_OP_CLASSIFIER_SHARD, OP,      4,    4,       0,      0,   NOTHING, SL_UNLESS_LOSS_APART, 0, 0, ANY}

/* transformers' NewGELUActivation (activations.py), gelu_new, in Python: cubed (4 bytes), scaled (4), added to x
 * (6), scaled (4), tanh (4), 1 added (4), x halved (4), their product (6), less our 4; tanh, the two factors of the
 * product are kept beside x. The backward: gradients of both factors (12), x halved (4), tanh's (6), scaled (4), of
 * the cube: x squared (4), times 3 (4), times the gradient (6) scaled (4), and two sums of gradients (12), less our
 * 6. In fp32 all of it is twice that. gelu_fast is counted so, too; gelu_pytorch_tanh is one kernel of torch.
 * torch.autocast has pow on its
 * list of fp32, which all that follows is then: to fp32 (6), cubed (8), scaled (8), added to x (10), scaled (8),
 * tanh (8), 1 added (8), x halved (4), their product (10), to 16 bits for the product behind (6), less our 4; x in
 * fp32, tanh and the second factor are kept in fp32, the first in 16 bits. The backward: to fp32 (6), gradients of
 * both factors (10, 12), that of the first to 16 bits (6), x halved (4), tanh's (12), scaled (8), x squared (8),
 * times 3 (8), times the gradient (12), scaled (8), both gradients of x to 16 bits (12), two sums (12), less our 6. */
#define GELU_IN_PYTHON                                                                                                 \
    {SL_OP_GELU_FWD,         OP,      32,   7,       4,      6,   SL_OP_GELU_BWD, SL_IF_GELU_IN_PYTHON, 0, 0, IN_16},  \
    {SL_OP_GELU_BWD,         OP,      50,   10,      6,      0,   NOTHING, SL_IF_GELU_IN_PYTHON, 0, 0, IN_16},         \
    {SL_OP_GELU_FWD,         OP,      64,   7,       8,      12,  SL_OP_GELU_BWD, SL_IF_GELU_IN_PYTHON, 0, 0, IN_32},  \
    {SL_OP_GELU_BWD,         OP,      100,  10,      12,     0,   NOTHING, SL_IF_GELU_IN_PYTHON, 0, 0, IN_32},         \
    {SL_OP_GELU_FWD,         OP,      72,   9,       8,      12,  SL_OP_GELU_BWD, SL_IF_GELU_IN_PYTHON, 0, 0, UNDER},  \
    {SL_OP_GELU_BWD,         OP,      112,  14,      12,     0,   NOTHING, SL_IF_GELU_IN_PYTHON, 0, 0, UNDER}
/* ReLU's gradient is a tensor of its own, live (2) with ReLU's output (2) and the incoming one. transformers'
 * ReLUSquaredActivation: a kernel for the square (4 bytes); the backward: a copy of ReLU's output (4), twice that (4),
 * times the gradient (6), and ReLU's (6), less our 6; five tensors are live at once. */
#define RELU_OF_TORCH                                                                                                  \
    {SL_OP_GELU_BWD,         OP,      0,    0,       4,      0,   NOTHING, SL_IF_RELU, 0, 0, NOT_32},                  \
    {SL_OP_GELU_BWD,         OP,      0,    0,       8,      0,   NOTHING, SL_IF_RELU, 0, 0, IN_32},                   \
    {SL_OP_GELU_FWD,         OP,      4,    1,       0,      0,   NOTHING, SL_IF_RELU2, 0, 0, NOT_32},                 \
    {SL_OP_GELU_BWD,         OP,      14,   3,       8,      0,   NOTHING, SL_IF_RELU2, 0, 0, NOT_32},                 \
    {SL_OP_GELU_FWD,         OP,      8,    1,       0,      0,   NOTHING, SL_IF_RELU2, 0, 0, IN_32},                  \
    {SL_OP_GELU_BWD,         OP,      28,   3,       16,     0,   NOTHING, SL_IF_RELU2, 0, 0, IN_32}
/* megatron/core/transformer/attention.py, get_query_key_value_tensors: SplitAlongDim of Transformer Engine returns views,
 * of which the queries of a group are copied by a reshape and the values by what attention asks for (4 in all an element
 * of q and v; with rotary positions q and k are new tensors anyway); its backward joins the three gradients (4). Without
 * rotary positions attention reads and writes the product's own tensor. Of context parallelism (Transformer Engine's,
 * whose calls take k and v of each rank) these copies are an op of the program. */
#define COPIES_BESIDE_ROTARY                                                                                           \
    {SL_OP_ROPE,             OP,      4,    2,       0,      0,   NOTHING, SL_UNLESS_CONTEXT, 0, 0, ANY}
