/* Kernel sets: which kernels a framework launches for an op that is a single kernel here, as data.
 *
 * The ops of a program are shardlab's own kernels, most of which do in one pass over memory what others do in several:
 * PyTorch's eager RMSNorm is seven kernels. A set says what a framework does *in addition to* our op of a kind: how
 * many more kernels, how many more bytes they move per element of the op, how many bytes per element they need while
 * they run, and how many they keep for the backward. The lowering turns every such row into an op of kind `pass` with
 * buffers of that size (models/passes.c), so that time and memory are predicted for that framework. `measure` always
 * runs shardlab's own set.
 *
 * An element is one of the op's (R, C): a logit for the classifier, a score of (B, H, T, T) for materialised
 * attention. */
#pragma once

#include "core/config/config.h"
#include "core/model/model.h"
#include "core/op/op.h"

/* What an element of a row is: one of the op; for attention, one of q, of k and v, or of q, k and v together; or one of
 * k repeated for every query head, of which there are none where each head has its own k; or one of q for every block
 * of keys that comes from another rank of a cp group. */
enum sl_kernel_element {
  SL_ELEMENT_OF_OP,
  SL_ELEMENT_OF_Q,
  SL_ELEMENT_OF_KV,
  SL_ELEMENT_OF_QKV,
  SL_ELEMENT_OF_REPEATED,
  SL_ELEMENT_OF_BLOCKS
};

/* Whose fp8 products a framework has in its blocks; the head is a product in 16 bits with either. */
enum sl_fp8_casts {
  SL_CASTS_NONE,     /* casts cost nothing, and the head is a product in fp8, too */
  SL_CASTS_SHARDLAB, /* our own, which run: core/models/own_casts.h */
  SL_CASTS_TORCHAO,  /* shardlab.fp8_recipe says which */
  SL_CASTS_TRANSFORMER_ENGINE,
  SL_CASTS_TRANSFORMER_ENGINE_CACHED /* the same; weights are cast for the first micro-batch of a step, not counted */
};

/* How the gradient of a weight is added to that of earlier micro-batches, where the whole gradient is kept. */
enum sl_accumulation {
  SL_ACCUMULATE_IN_PLACE, /* by the product if both are of one type, else by an op of its own */
  SL_ACCUMULATE_APART,    /* by an op of its own */
  /* by the product if sums are fp32, whatever the type of the factors; else by an op of its own */
  SL_ACCUMULATE_FUSED,
  SL_ACCUMULATE_FUSED_ANY /* by the product, to fp32 or to sums in the type of the factors */
};

/* When a row applies: always; depending on shardlab.fused_norm, fused_softmax or cross_entropy_loss_fusion, for a set
 * that has both forms; for an op with dropout; for fp16, in parameters or by GradScaler; with recomputation by op; for
 * attention over more than one sequence; under context parallelism, or only without it; where the loss is compiled
 * apart, or only where it is not; for a gate and what it gates, or q, k and v, in one tensor; for rotary positions; or
 * by how transformers computes what the model has: GELU and ReLU, softmax, caps, RMSNorm. */
enum sl_kernel_when {
  SL_ALWAYS,
  SL_UNLESS_FUSED_NORM,
  SL_IF_FUSED_SOFTMAX,
  SL_UNLESS_FUSED_SOFTMAX,
  SL_IF_FUSED_LOSS,
  SL_UNLESS_FUSED_LOSS,
  SL_IF_DROPOUT,
  SL_IF_FP16,
  SL_IF_GRAD_SCALER, /* of torch.autocast to fp16 */
  SL_IF_SELECTIVE_OP,
  SL_IF_SEQUENCES, /* the attention op has more than one */
  SL_IF_CONTEXT,   /* and ranks share them */
  SL_UNLESS_CONTEXT,
  SL_IF_LOSS_APART, /* compiled apart from the model, as torchtitan does under FSDP2 */
  SL_UNLESS_LOSS_APART,
  SL_IF_GATE_PACKED,
  SL_IF_QKV_PACKED,
  SL_IF_ROTARY,
  SL_IF_GELU_IN_PYTHON,
  SL_IF_RELU,
  SL_IF_RELU2,
  SL_IF_SOFTMAX_IN_16_BITS,
  SL_UNLESS_SOFTMAX_IN_16_BITS,
  SL_IF_CAPPED,         /* attention's scores are */
  SL_IF_SCALED_IN_FP32, /* norms are multiplied by their weights in fp32 */
  SL_UNLESS_SCALED_IN_FP32,
  SL_IF_NORM_OF_16_BITS, /* under torch.autocast, of q and k */
  SL_UNLESS_NORM_OF_16_BITS
};

/* The types of activations that a row is for, as bits: 16 bits; fp32; or those of torch.autocast, where norms and the
 * residual stream are in fp32 and products in 16 bits. */
enum sl_kernel_types { SL_IN_16_BITS = 1, SL_IN_FP32 = 2, SL_UNDER_AUTOCAST = 4 };

/* What a framework launches in addition to an op of `kind`. Bytes are per element. A kind may have several rows; of an
 * optimizer's only bytes and launches count (lower/update.c). */
struct sl_kernel_row {
  enum sl_op_kind kind;
  enum sl_kernel_element element;
  int bytes;               /* read plus written */
  int launches;            /* kernels */
  int scratch;             /* allocated while they run */
  int kept;                /* from a forward to its backward ... */
  enum sl_op_kind kept_by; /* ... which is of this kind */
  enum sl_kernel_when when;
  /* Of a backward that comes in halves, what of `bytes` and `launches` is in the weights' half; the rest is in the
   * input's. torch/distributed/pipelining/_backward.py divides the nodes of autograd so: those between output and input
   * run in stage_backward_input, the weights' gradients, with what only they need, in stage_backward_weight. */
  int weight_bytes, weight_launches;
  unsigned types; /* enum sl_kernel_types */
};

/* Products of one input that a framework computes as one, with one parameter (plan/packing.h). */
enum sl_packing {
  SL_PACKS_NOTHING,     /* beyond what the model's own form packs */
  SL_PACKS_EQUAL_HEADS, /* q, k and v, if every head has its own key */
  SL_PACKS_ALL          /* q, k and v; the gate and the MLP's first product */
};

struct sl_kernel_set {
  const char *name, *source;
  enum sl_packing packing;
  /* context parallelism: q, k and v are packed there, too. An op of the program divides them (models/context.h), so the
   * rows that copy them apart are SL_UNLESS_CONTEXT. */
  bool packs_in_context;
  bool fuse_epilogues; /* products include the element-wise ops around them, as the plan says */
  enum sl_accumulation accumulation;
  /* products, norms and embeddings of 16-bit tensors write the gradients of their weights and biases in fp32 if those
   * are kept in fp32; nothing is rounded or copied in between */
  bool gradients_in_fp32;
  /* 16-bit gradients stay allocated until a backward is over and are added to the fp32 ones only then. Where they are
   * reduced during the backward they are added as they are computed, but each has its own place in DDP's buckets. */
  bool keeps_gradients;
  /* sequence parallelism: gathered inputs of products are kept for the backward, not gathered again */
  bool keeps_gathered;
  /* Sequence parallelism divides tokens along dimension 1, behind the sequences: what is gathered is concatenated along
   * it, and what is reduce-scattered is cut along it and stacked, each by a copy. */
  bool rearranges_gathered;
  /* Updated parameters are gathered into lists of tensors. This takes a flat copy of a member's own parts, a copy of
   * the whole for every member, and torch's own for the call, which is copied back twice (lower/lists.h). */
  bool gathers_into_lists;
  /* every tensor-parallel rank gathers the logits of the whole vocabulary and computes the loss from them */
  bool gathers_logits;
  /* context parallelism exchanges keys and values that are repeated for every query head */
  bool exchanges_repeated;
  /* torch.compile's blocks: the gradient of a weight is computed before the sum of its input's gradient is sent, as
   * autograd does, and shardlab.async_tp takes effect. */
  bool torch_blocks;
  enum sl_fp8_casts fp8_casts; /* models/casts.h */
  /* Tensor-parallel collectives are plain torch.distributed calls inside autograd: both gradients of a product are
   * computed, then the input's is summed over the group, and the compute stream waits for that. */
  bool waits_for_sums;
  /* products of one input each make its gradient, and these are added by kernels of their own */
  bool adds_apart;
  /* gate and up are separate modules: each sums the gradient of its input, and then the two are added */
  bool sums_apart;
  /* "flash-on-gpu" is cuDNN's attention from this compute capability on; 0: on no device. Transformer Engine's choice
   * (pytorch/attention/dot_product_attention/utils.py, get_attention_backend: Hopper and later). */
  double cudnn_from;
  /* Attention is called as transformers does (integrations/sdpa_attention.py, and eager_attention_forward of its
   * models): models/kept.h says what torch keeps of that beside its inputs and its output. */
  bool torch_attention;
  bool keeps_products; /* recomputation by op keeps the tensors that it selected even where no backward reads them */
  bool recomputes_all; /* full recomputation repeats a block to its end, otherwise only as far as its backward needs */
  bool repeats_flash;  /* selective recomputation repeats flash attention, too, though it keeps no probabilities */
  /* How many kernels the host has launched ahead of the device when it asks for memory; memory used by collectives and
   * messages is not free before they ran (place/reserve.h, place/replay.h). 0: none. The limit of a launch queue is
   * known (about 1000 in a stream: NVIDIA's forum, topic 68937); how far a host really gets ahead is a guess fitted to
   * published memory. */
  int host_lead;
  bool cublas_workspaces, engine_workspace; /* PyTorch's and Transformer Engine's (plan/workspaces.h) */
  const struct sl_kernel_row *rows;         /* ends with a row of kind SL_OP_COUNT */
};

/* The kernel set of a configuration (shardlab.kernels). Borrowed. */
const struct sl_kernel_set *sl_kernel_set(enum sl_kernel_choice kernels);
/* The row after `row` (NULL: the first one) of the configuration's set that applies to an op like `op` of this model;
 * NULL after the last. Reads the op's kind, dropout, flags and dimensions. */
const struct sl_kernel_row *sl_kernel_row(const struct sl_config *config, const struct sl_model *model,
                                          const struct sl_op *op, const struct sl_kernel_row *row);
