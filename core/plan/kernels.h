/* Kernel sets: which kernels a framework launches for what one op of a program does here, as data.
 *
 * A program's ops are those of shardlab's own kernels, most of which do in one pass over memory what others do in several:
 * PyTorch's eager RMSNorm is seven kernels. A set says what a framework does *beside* our op of a kind: how many more kernels,
 * how many more bytes they move for each element of the op, how many bytes an element they need while they run, and how many
 * they keep for the backward. The lowering turns every such row into an op of kind `pass` with buffers of that size
 * (models/passes.c), so that a prediction is that framework's: in time and in memory. `measure` runs shardlab's own set.
 *
 * An element is one of the op's (R, C): of the classifier one logit, of materialised attention one of its scores (B, H, T, T). */
#pragma once

#include "core/config/config.h"
#include "core/op/op.h"

/* What an element of a row is: one of the op, or, of attention, one of q, of k and v, or of q, k and v together; or one of k's, written
 * for every query head, of which there are none where each has a k of its own. */
enum sl_kernel_element {
  SL_ELEMENT_OF_OP,
  SL_ELEMENT_OF_Q,
  SL_ELEMENT_OF_KV,
  SL_ELEMENT_OF_QKV,
  SL_ELEMENT_OF_REPEATED
};

/* How the gradient of a weight is added to what earlier micro-batches left, where it is kept whole. */
enum sl_accumulation {
  SL_ACCUMULATE_IN_PLACE, /* by the product, where both are of one type; else by an op of its own */
  SL_ACCUMULATE_APART,    /* by an op of its own */
  SL_ACCUMULATE_FUSED     /* by the product where sums are fp32, whatever its factors are; else by an op of its own */
};

/* When a row holds: always; as shardlab.fused_norm and shardlab.fused_softmax say of a set that has both forms; or beside an op
 * that drops; or of fp16; or where recomputation is by op. */
enum sl_kernel_when {
  SL_ALWAYS,
  SL_UNLESS_FUSED_NORM,
  SL_IF_FUSED_SOFTMAX,
  SL_UNLESS_FUSED_SOFTMAX,
  SL_IF_DROPOUT,
  SL_IF_FP16,
  SL_IF_SELECTIVE_OP
};

/* What stands beside an op of `kind`. Bytes are of an element. A kind may have several rows; of an optimizer's, bytes and launches
 * alone count (lower/update.c). */
struct sl_kernel_row {
  enum sl_op_kind kind;
  enum sl_kernel_element element;
  int bytes;               /* read and written */
  int launches;            /* kernels */
  int scratch;             /* allocated while they run */
  int kept;                /* from a forward to its backward ... */
  enum sl_op_kind kept_by; /* ... which is of this kind */
  enum sl_kernel_when when;
};

struct sl_kernel_set {
  const char *name, *source;
  bool fuse_epilogues; /* products take in what is around them, as the plan says */
  enum sl_accumulation accumulation;
  bool products_in_fp32; /* a product of 16-bit factors writes the gradient of a weight, and a bias's beside it, in fp32 where
                            they are kept so: nothing is rounded or copied on the way */
  /* Gradients of 16 bits stay until a backward is over and are added to fp32 ones only then; or, where they are reduced beside
   * it, as they come, but all have a place of their own in DDP's buckets. */
  bool keeps_gradients;
  bool keeps_gathered; /* sequence parallel: products' gathered inputs are kept for the backward, not gathered again */
  /* Updated parameters are gathered into lists of tensors: of its parts one flat copy, of the whole a copy for every member and
   * torch's own for the call, which is copied back twice (lower/lists.h). */
  bool gathers_into_lists;
  int list_tensors; /* of a block in such a list: what a framework keeps in one tensor is one */
  bool
      gathers_logits; /* every tensor-parallel rank gathers the logits of the whole vocabulary and makes the loss of them */
  /* Of torch.compile's blocks with torchao's float8 (models/casts.h): a weight's gradient is made before the sum of its inputs' goes
   * on its way, as autograd does; fp8 products have casts of their own, and shardlab.async_tp is heard. */
  bool torch_blocks;
  /* Tensor-parallel collectives are torch.distributed's plain calls inside autograd: both gradients of a product are made, then its
   * input's is summed over the group, and the stream that computes waits for that. */
  bool waits_for_sums;
  bool
      sums_apart; /* gate and up are modules of their own: each sums the gradient of its input, and they are added then */
  bool keeps_products; /* recomputation by op keeps what it chose to keep even where no backward reads it */
  bool recomputes_all; /* full recomputation repeats a block to its end; else up to what its backward reads */
  /* Kernels that the host has launched beyond the one that the device is at, when it asks for memory: what collectives and messages
   * use is not free before (place/reserve.h). 0: none. That a queue of launches ends is known (about 1000 in a stream: NVIDIA's
   * forum, topic 68937); how far a host gets is a guess that published memory asks for. */
  int host_lead;
  const struct sl_kernel_row *rows; /* until kind is SL_OP_COUNT */
};

/* The set of a configuration (shardlab.kernels). Borrowed. */
const struct sl_kernel_set *sl_kernel_set(enum sl_kernel_choice kernels);
/* The next row of the configuration's set for an op like `op` behind `row` (NULL: the first); NULL where there is none left. Of
 * the op its kind and dropout are read. */
const struct sl_kernel_row *sl_kernel_row(const struct sl_config *config, const struct sl_op *op,
                                          const struct sl_kernel_row *row);
