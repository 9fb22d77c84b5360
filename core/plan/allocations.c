/* The scripts of kernel sets that have them; see allocations.h.
 *
 * nanotron at 0e0a27e (February 2025), with what torch 2.5 does under it: src/nanotron/models/llama.py (CausalSelfAttention,
 * MLP, LlamaDecoderLayer, Loss), parallel/tensor_parallel/functional.py (_ColumnLinearAsyncCommunication,
 * _RowLinearAsyncCommunication, _ShardedCrossEntropy: scripts/scaling_benchmarks.py turns tp_linear_async_communication
 * on), parallel/tensor_parallel/nn.py (TensorParallelEmbedding), parallel/utils.py (MemoryBuffer), optim/gradient_accumulator.py
 * (backward), parallel/pipeline_parallel/p2p.py (two descriptions ahead of each message). A local variable of Python's
 * keeps its tensor until the function returns: qkv_states until attention ends, the output of o_proj until the block
 * does. cuBLAS's workspace: 32 MiB on sm_90 for every handle and stream, and autograd's thread has a handle of its own
 * (pytorch aten/src/ATen/cuda/CublasHandlePool.cpp, getChosenWorkspaceSize). */
#include "core/plan/allocations.h"

#include <stddef.h>
#include <string.h>

enum { MIB = 1 << 20 };

/* clang-format off */
#define END {SL_MOVE, 0, SL_EXTENT_NONE, 0, 0, SL_EVERY}
#define TAKE(name, of, bytes, launches) {SL_TAKE, SL_TENSOR_##name, SL_EXTENT_##of, bytes, launches, SL_EVERY}
#define TAKE_IF(when, name, of, bytes, launches) {SL_TAKE, SL_TENSOR_##name, SL_EXTENT_##of, bytes, launches, SL_##when}
#define GIVE(name) {SL_GIVE, SL_TENSOR_##name, SL_EXTENT_NONE, 0, 0, SL_EVERY}
#define GIVE_IF(when, name) {SL_GIVE, SL_TENSOR_##name, SL_EXTENT_NONE, 0, 0, SL_##when}
#define GIVE_LATE(name) {SL_GIVE_LATE, SL_TENSOR_##name, SL_EXTENT_NONE, 0, 0, SL_EVERY}
#define LATE_IF(when, name) {SL_GIVE_LATE, SL_TENSOR_##name, SL_EXTENT_NONE, 0, 0, SL_##when}
#define MOVE(name, from) {SL_MOVE, SL_TENSOR_##name, SL_EXTENT_ROWS, SL_TENSOR_##from, 0, SL_EVERY}
#define MOVE_IF(when, name, from) {SL_MOVE, SL_TENSOR_##name, SL_EXTENT_ROWS, SL_TENSOR_##from, 0, SL_##when}
#define BUFFER(name, launches) {SL_BUFFER, SL_BUFFER_##name, SL_EXTENT_WHOLE, 2, launches, SL_IF_TP}
#define WORKSPACE(thread, launches) {SL_WORKSPACE, SL_THREAD_##thread, SL_EXTENT_NONE, 0, launches, SL_EVERY}
#define GRADIENT(weight, launches) {SL_GRADIENT, SL_WEIGHT_##weight, SL_EXTENT_NONE, 2, launches, SL_EVERY}

/* The embedding's rows are masked, and summed over the group. */
static const struct sl_script_line embed[] = {
    TAKE(A, WHOLE, 2, 8),
    TAKE_IF(IF_TP, B, WHOLE, 2, 0), GIVE_IF(IF_TP, A), TAKE_IF(IF_TP, NEXT, ROWS, 2, 3), LATE_IF(IF_TP, B),
    MOVE_IF(UNLESS_TP, NEXT, A), END};

/* A product whose input is gathered into the common buffer, and one whose output is summed over the group. */
#define GATHERED(name, of, bytes) BUFFER(GATHER, 2), TAKE(name, of, bytes, 1), WORKSPACE(FORWARD, 0)
#define SUMMED(name)                                                                                                   \
    TAKE_IF(IF_TP, F, WHOLE, 2, 0), TAKE_IF(UNLESS_TP, name, ROWS, 2, 0), WORKSPACE(FORWARD, 2)
#define SUM(name) TAKE_IF(IF_TP, name, ROWS, 2, 1), LATE_IF(IF_TP, F)

static const struct sl_script_line block[] = {
    TAKE(NORM_1, ROWS, 2, 1), TAKE(STATS_1, ROW, 4, 0),
    GATHERED(A, QKV, 2),
    TAKE(PERMUTED, QKV, 2, 1), TAKE(B, KV, 2, 1), TAKE(PAIR, KV, 2, 11), GIVE(B), /* permuted, concatenated, made contiguous */
    TAKE(ATTENDED, Q, 2, 0), TAKE(LSE, HEADS, 4, 1),
    TAKE_IF(IF_MANY, B, Q, 2, 0), SUMMED(C), GIVE_IF(IF_MANY, B), SUM(C),
    GIVE(A),
    TAKE(MIDDLE, ROWS, 2, 1),
    TAKE(NORM_2, ROWS, 2, 1), TAKE(STATS_2, ROW, 4, 0),
    GATHERED(GATE_UP, INNER, 4),
    TAKE(SILU, INNER, 2, 1), TAKE(PRODUCT, INNER, 2, 1),
    SUMMED(D), SUM(D),
    TAKE(NEXT, ROWS, 2, 1), GIVE_LATE(D), GIVE_LATE(C), END};

/* Logits in 16 bits, in fp32 while their maximum is taken off, and their softmax. */
static const struct sl_script_line head[] = {
    TAKE(NORM_1, ROWS, 2, 1), TAKE(STATS_1, ROW, 4, 0),
    GATHERED(A, LOGITS, 2),
    TAKE(B, LOGITS, 4, 1), GIVE(A),
    TAKE(C, TOKENS, 4, 0), TAKE(D, TOKENS, 8, 2), GIVE(D),
    TAKE(SOFTMAX, LOGITS, 4, 20), GIVE(C), GIVE(B), END};

/* The backward of a gathered product: gathered anew, the input's gradient is summed while the weight's is computed. */
#define GATHERED_BACK(name, weight)                                                                                    \
    BUFFER(GATHER, 0), TAKE(E, WHOLE, 2, 0), WORKSPACE(BACKWARD, 2), TAKE_IF(IF_TP, name, ROWS, 2, 1),                 \
    GRADIENT(weight, 1), LATE_IF(IF_TP, E), MOVE_IF(UNLESS_TP, name, E)
#define NORM_BACK(name, sums, launches) TAKE(name, ROWS, 2, 0), TAKE(F, CHANNELS, 4, launches), GIVE(F), GIVE(sums)

static const struct sl_script_line head_back[] = {
    TAKE(A, LOGITS, 2, 11), GIVE(SOFTMAX),
    GATHERED_BACK(B, VOCABULARY), GIVE(NORM_1), GIVE(A),
    TAKE(STREAM, ROWS, 2, 0), TAKE(F, CHANNELS, 4, 2), GIVE(F), GIVE(B), GIVE(STATS_1), GIVE(INPUT), END};

static const struct sl_script_line block_back[] = {
    BUFFER(GATHER_BACK, 1), TAKE(A, INNER, 2, 0), WORKSPACE(BACKWARD, 2), GRADIENT(DOWN, 1), GIVE(PRODUCT),
    TAKE(B, INNER, 2, 1), TAKE(C, INNER, 2, 1), GIVE(A), GIVE(SILU),
    TAKE(A, INNER, 2, 1), GIVE(B),
    TAKE(B, INNER, 4, 1), GIVE(A), GIVE(C),
    GATHERED_BACK(D, GATE_UP), GIVE(GATE_UP), GIVE_LATE(NORM_2), GIVE(B),
    NORM_BACK(A, STATS_2, 3), GIVE_LATE(D), GIVE(MIDDLE), GIVE(A), /* added to the stream's gradient in place */
    BUFFER(GATHER_BACK, 2), TAKE(A, Q, 2, 2),
    TAKE_IF(IF_MANY, B, Q, 2, 0), GRADIENT(OUT, 2), GIVE_IF(IF_MANY, B),
    TAKE_IF(IF_MANY, B, Q, 2, 1), GIVE_IF(IF_MANY, A), MOVE_IF(IF_MANY, A, B),
    TAKE(B, Q, 2, 0), TAKE(C, KV, 1, 0), TAKE(D, KV, 1, 0), TAKE(E, HEADS, 4, 0), TAKE(F, Q, 4, 3), GIVE(E), GIVE(F),
    GIVE(A), GIVE(ATTENDED), GIVE(LSE), GIVE(PAIR),
    TAKE(A, KV, 2, 3), GIVE(C), GIVE(D), GIVE(PERMUTED),
    TAKE(C, QKV, 2, 1), GIVE(B), GIVE(A),
    TAKE(A, QKV, 2, 1), GIVE(C),
    GATHERED_BACK(D, QKV), GIVE(A), GIVE_LATE(NORM_1),
    NORM_BACK(A, STATS_1, 4), GIVE_LATE(D), GIVE(INPUT), GIVE(A), END};

static const struct sl_script_line embed_back[] = {
    TAKE_IF(IF_TP, A, WHOLE, 2, 1), LATE_IF(IF_TP, STREAM),
    TAKE_IF(IF_TP, B, WHOLE, 2, 1), GIVE_IF(IF_TP, A), MOVE_IF(IF_TP, STREAM, B),
    GRADIENT(VOCABULARY, 4), GIVE(STREAM), END};
/* clang-format on */

static const struct sl_allocations of_nanotron = {
    .scripts = {[SL_SCRIPT_EMBED] = embed,
                [SL_SCRIPT_BLOCK] = block,
                [SL_SCRIPT_HEAD] = head,
                [SL_SCRIPT_HEAD_BACK] = head_back,
                [SL_SCRIPT_BLOCK_BACK] = block_back,
                [SL_SCRIPT_EMBED_BACK] = embed_back},
    .message_launches = 14, /* three sends or receives, of which each records and awaits events, copies, comparisons */
    .sent = 2,              /* hidden states and mask */
    .counts_idle_ranks = true, /* pipeline_parallel/engine.py: pg.size() - current_pp_rank - 1 */
    .workspace_bytes = 32 * MIB};

static bool has_its_blocks(const struct sl_model *m) {
  const struct sl_form *f = &m->form;
  return sl_model_reads_tokens(m) && f->rms && f->gated && f->norms == SL_NORMS_BEFORE &&
         f->residual == SL_RESIDUAL_SEQUENTIAL && !f->qkv_bias && !f->out_bias && !f->mlp_bias &&
         f->qk_norm == SL_QK_NORM_NONE && f->positions == SL_POSITIONS_ROTARY && !f->embedding_norm;
}

/* 16-bit parameters beside fp32 gradients and states of Adam, all on the device. */
static bool has_its_states(const struct sl_plan *plan) {
  const struct sl_config *config = plan->config;
  const struct sl_strategy *s = &plan->strategy;
  const bool adam = config->optimizer.type == SL_OPT_ADAM || config->optimizer.type == SL_OPT_ADAMW;
  return adam && sl_dtype_bytes(config->param_dtype) == 2 && config->grad_accum_dtype == SL_F32 && !s->shard_grads &&
         !s->shard_params && !s->offload_optimizer;
}

/* The scripts are of whole backwards, and hold one micro-batch at a time between its forward and its head's backward.
 * Only 1F1B keeps to that, without a pipeline, too. */
const struct sl_allocations *sl_allocations_of(const struct sl_plan *plan) {
  const struct sl_config *config = plan->config;
  if (config->sl.kernels != SL_KERNELS_NANOTRON || !has_its_blocks(plan->model) || !has_its_states(plan)) return NULL;
  for (int i = 0; i < config->sl.recompute_count; i++)
    if (config->sl.recompute[i] != SL_RECOMPUTE_NONE) return NULL;
  const bool in_order = strcmp(config->sl.schedule, "1f1b") == 0;
  const bool apart = plan->tp == 1 || plan->sequence_parallel; /* so that the vocabulary is cut, too */
  return in_order && apart && plan->cp == 1 && config->sl.attention == SL_ATTENTION_FLASH ? &of_nanotron : NULL;
}
