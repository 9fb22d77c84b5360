/* The table of kernel sets; see kernels.h. */
#include "core/plan/kernels.h"

#include <stddef.h>

/* Rows that sets share. */
#define END                                                                                                            \
  { .kind = SL_OP_COUNT }
#define NOTHING SL_OP_COUNT

/* clang-format off */

/*  kind                     bytes launches scratch kept kept by */

/* q, k and v are copied apart before the kernel, as are their gradients after it: read and written once. */
#define COPIES_OF_QKV                                                                                                  \
    {SL_OP_FLASH_FWD,        4,    3,       0,      0,   NOTHING},                                                     \
    {SL_OP_FLASH_BWD,        4,    3,       0,      0,   NOTHING}
/* Two products, rotate_half (negated, then joined), and their sum, where our kernel turns in place. */
#define ROTARY_IN_PYTHON                                                                                               \
    {SL_OP_ROPE,             36,   8,       8,      0,   NOTHING}
/* silu(gate) is a tensor of its own, kept for the product's backward. */
#define SWIGLU_IN_PYTHON                                                                                               \
    {SL_OP_SWIGLU_FWD,       4,    1,       0,      2,   SL_OP_SWIGLU_BWD},                                            \
    {SL_OP_SWIGLU_BWD,       10,   3,       2,      0,   NOTHING}
/* Logits in fp32 (6 bytes), their maximum (4), what is left of them (8), its exponential and sum (8); backward the softmax's
 * gradient in fp32 (8) and in 16 bits (6); less the 4 bytes that our kernel moves. Two fp32 tensors live at a time. */
#define LOSS_IN_PYTHON                                                                                                 \
    {SL_OP_CLASSIFIER,       36,   12,      10,     0,   NOTHING},                                                     \
    {SL_OP_CLASSIFIER_SHARD, 36,   12,      10,     0,   NOTHING}
/* One kernel reads scores and writes probabilities; its backward reads both and writes a gradient. */
#define FUSED_SOFTMAX                                                                                                  \
    {SL_OP_ATTENTION_FWD,    4,    1,       0,      0,   NOTHING},                                                     \
    {SL_OP_ATTENTION_BWD,    6,    1,       2,      0,   NOTHING}
/* Scores are scaled (4), masked (5), cast to fp32 (6), normalised (8) and cast back (6); fp32 probabilities are kept. */
#define SOFTMAX_IN_PYTHON                                                                                              \
    {SL_OP_ATTENTION_FWD,    29,   5,       6,      4,   SL_OP_ATTENTION_BWD},                                         \
    {SL_OP_ATTENTION_BWD,    34,   5,       6,      0,   NOTHING}
/* Cast to fp32 (6), squared (8), averaged (4), scaled (8), cast back (6), times the weight (4), less our 4; the backward goes
 * the same way with twice as many operands. x in fp32 and what is scaled in 16 bits are kept. */
#define RMSNORM_IN_PYTHON                                                                                              \
    {SL_OP_RMSNORM_FWD,      32,   6,       4,      6,   SL_OP_RMSNORM_BWD},                                           \
    {SL_OP_RMSNORM_BWD,      62,   13,      8,      0,   NOTHING}
/* torch's layer_norm is one kernel forward, and three backward, of which two sum the weights' gradients. */
#define LAYERNORM_OF_TORCH                                                                                             \
    {SL_OP_LAYERNORM_BWD,    2,    2,       0,      0,   NOTHING}

static const struct sl_kernel_row shardlab[] = {END};
static const struct sl_kernel_row megatron_fused[] = {
    COPIES_OF_QKV, FUSED_SOFTMAX, ROTARY_IN_PYTHON, SWIGLU_IN_PYTHON, LOSS_IN_PYTHON, END};
static const struct sl_kernel_row megatron_unfused[] = {
    COPIES_OF_QKV, SOFTMAX_IN_PYTHON, RMSNORM_IN_PYTHON, LAYERNORM_OF_TORCH, ROTARY_IN_PYTHON, SWIGLU_IN_PYTHON,
    LOSS_IN_PYTHON, END};
static const struct sl_kernel_row torch_eager[] = {
    COPIES_OF_QKV, SOFTMAX_IN_PYTHON, RMSNORM_IN_PYTHON, LAYERNORM_OF_TORCH, ROTARY_IN_PYTHON, SWIGLU_IN_PYTHON,
    LOSS_IN_PYTHON, END};
/* Inductor joins chains of element-wise kernels; attention and products stay kernels of their own. */
static const struct sl_kernel_row torch_compile[] = {
    FUSED_SOFTMAX,
    {SL_OP_CLASSIFIER,       12,   2,       4,      0,   NOTHING},
    {SL_OP_CLASSIFIER_SHARD, 12,   2,       4,      0,   NOTHING},
    END};
static const struct sl_kernel_row llm_foundry[] = {
    COPIES_OF_QKV, SOFTMAX_IN_PYTHON, LAYERNORM_OF_TORCH, LOSS_IN_PYTHON, END};

static const struct sl_kernel_set sets[] = {
    [SL_KERNELS_SHARDLAB] = {
        "shardlab", "kernels/ of this project", true, false, shardlab},
    [SL_KERNELS_MEGATRON_FUSED] = {
        "megatron-fused", "Megatron-LM core 0.9: core/fusions/fused_softmax.py, fused_bias_gelu.py, fused_bias_dropout.py; "
        "core/models/common/embeddings/rope_utils.py; core/tensor_parallel/cross_entropy.py; core/tensor_parallel/random.py",
        false, true, megatron_fused},
    [SL_KERNELS_MEGATRON_UNFUSED] = {
        "megatron-unfused", "the same without --masked-softmax-fusion and without a fused norm: forward_torch_softmax, "
        "legacy/model/rms_norm.py", false, true, megatron_unfused},
    [SL_KERNELS_TORCH_EAGER] = {
        "torch-eager", "transformers 4.45, models/llama/modeling_llama.py; torch 2.5, utils/checkpoint.py stops early",
        false, false, torch_eager},
    [SL_KERNELS_TORCH_COMPILE] = {
        "torch-compile", "torch 2.5, torch/_inductor: one kernel a chain of element-wise ops", false, false, torch_compile},
    [SL_KERNELS_LLM_FOUNDRY] = {
        "llm-foundry", "llm-foundry 0.4, llmfoundry/models/layers/{attention,norm,ffn}.py under torch.autocast", false, false,
        llm_foundry},
};
/* clang-format on */
_Static_assert(sizeof sets / sizeof *sets == SL_KERNELS_COUNT, "a row for each word of shardlab.kernels");

const struct sl_kernel_set *sl_kernel_set(enum sl_kernel_choice kernels) {
  return &sets[kernels];
}

const struct sl_kernel_row *sl_kernel_row(const struct sl_kernel_set *set, enum sl_op_kind kind) {
  for (const struct sl_kernel_row *row = set->rows; row->kind != SL_OP_COUNT; row++)
    if (row->kind == kind) return row;
  return NULL;
}
