/* Attention on a GPU, by its kernel. B sequences of T tokens, H heads of D on this rank; E = B H T^2 scores.
 *
 *   flash        flops / (peak e T / (T + flash_half_tokens)), e of the kernel (FlashAttention 1, 2, 3, cuDNN) and of
 *                the direction: the backward forms the scores again and sums into dq, dk and dv at once. flops are
 *                those of the causal half, two products of it forward and five backward. Half of a kernel's speed is
 *                reached at flash_half_tokens: a short sequence has too few blocks along its diagonal to hide their
 *                latency.
 *   materialised padded flops of its batched products, B H of (T, T, D) and (T, D, T) forward and twice as many
 *                backward, over peak x batched_gemm_efficiency (cost/gemm.h): whole squares, since no library's product
 *                stops at the diagonal. What reads and writes the scores between them (scale, mask, softmax, dropout)
 *                are passes of their own, which a framework's kernel set names (core/plan/kernels.h); the op of ours
 *                has them in itself, and moves E x bytes of a score x score_passes forward, half as much again
 *                backward, beside its products.
 * A head size whose rows are no multiple of 16 bytes makes products unaligned_gemm_slowdown times as slow: tensor cores
 * load 16 bytes at once (NVIDIA, Deep Learning Performance Guide). Where an efficiency is not given,
 * attention_efficiency serves. Units: seconds, flops, elements. Sources: arXiv:2205.14135, arXiv:2307.08691 section 4,
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
