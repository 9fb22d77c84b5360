/* Attention on a GPU, by its kernel. B sequences of T tokens, H heads of D on this rank; E = B H T^2 scores.
 *
 *   flash        flops / (peak e T / (T + flash_half_tokens)), with e of the kernel (FlashAttention 1, 2, 3, cuDNN) and
 *                direction: the backward recomputes the scores and sums into dq, dk and dv at once. flops are those of
 *                the causal half, with two products forward and five backward. A kernel reaches half of its speed at
 *                flash_half_tokens: a short sequence has too few blocks along its diagonal to hide their latency.
 *   materialised padded flops of its batched products, B H of (T, T, D) and (T, D, T) forward and twice as many
 *                backward, over peak x batched_gemm_efficiency (cost/gemm.h). They are full squares, because no
 *                library's product stops at the diagonal. What reads and writes the scores between them (scale, mask,
 *                softmax, dropout) is a separate pass for each kernel that a framework's kernel set names
 *                (core/plan/kernels.h). Our op includes these: it moves E x bytes of a score x score_passes forward,
 *                and half as much again backward, in addition to its products.
 * If a row of a head is not a multiple of 16 bytes, which tensor cores load at once (NVIDIA, Deep Learning Performance
 * Guide), materialised products are slower by sl_gemm_slowdown, or run on CUDA cores, at peak_fp32 x gemm_efficiency,
 * where the kernel set says so (unaligned_batches_on_cuda_cores). attention_efficiency replaces efficiencies that are not
 * given. Units: seconds, flops, elements. Sources: arXiv:2205.14135, arXiv:2307.08691 section 4,
 * arXiv:2407.08608. */
#pragma once

#include "core/op/work.h"
#include "cost/share.h"

/* Seconds of an attention op's arithmetic, without its launch. */
double sl_attention_seconds(const struct sl_cost_rank *rank, const struct sl_work *work);
/* Bytes of scores that a materialised attention op moves between its products, not overlapped with them; 0 for
 * others. */
double sl_attention_score_bytes(const struct sl_cost_rank *rank, const struct sl_work *work);
/* The kernel of a flash attention op. */
enum sl_flash sl_attention_kernel(const struct sl_work *work);
