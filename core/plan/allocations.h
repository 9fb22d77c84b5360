/* What a framework allocates, tensor by tensor, as data.
 *
 * The buffers of a program are what shardlab's own kernels need, and the rows of a kernel set (plan/kernels.h) add what
 * a framework has besides. For how much a caching allocator reserves, that is not enough: it depends on the sizes and
 * the order of all requests, of temporary tensors too. A kernel set may therefore have scripts of them, in the order of
 * the framework's source, and place/replay.h plays these instead of the program's buffers. */
#pragma once

#include "core/plan/plan.h"

/* The parts of a step for which there is a script. */
enum sl_script {
  SL_SCRIPT_EMBED,
  SL_SCRIPT_BLOCK,
  SL_SCRIPT_HEAD,
  SL_SCRIPT_HEAD_BACK,
  SL_SCRIPT_BLOCK_BACK,
  SL_SCRIPT_EMBED_BACK,
  SL_SCRIPT_COUNT
};

/* What a line of a script does. */
enum sl_script_do {
  SL_TAKE,
  SL_GIVE,
  SL_GIVE_LATE, /* a collective has used it: it is free once the device is done with that */
  SL_MOVE,      /* another name for the tensor; it had none before */
  SL_BUFFER,    /* one tensor for all steps; it grows if it is too small */
  SL_WORKSPACE, /* cuBLAS's, of the thread that runs forwards or of the one that runs backwards; for all steps */
  SL_GRADIENT,  /* of a weight: lives until the backward ends. A second gradient of the same weight is added to it */
};

/* Tensors that scripts name. Those before SL_TENSORS_OF_STAGE are kept apart for every block and micro-batch. */
enum sl_script_tensor {
  SL_TENSOR_INPUT, /* of the block, the embedding's output for the first; the head's is that of the block behind the last */
  SL_TENSOR_NORM_1,
  SL_TENSOR_STATS_1,
  SL_TENSOR_PERMUTED,
  SL_TENSOR_PAIR,
  SL_TENSOR_ATTENDED,
  SL_TENSOR_LSE,
  SL_TENSOR_MIDDLE,
  SL_TENSOR_NORM_2,
  SL_TENSOR_STATS_2,
  SL_TENSOR_GATE_UP,
  SL_TENSOR_SILU,
  SL_TENSOR_PRODUCT,
  SL_TENSOR_SOFTMAX,
  SL_TENSORS_OF_STAGE,
  SL_TENSOR_STREAM = SL_TENSORS_OF_STAGE, /* gradient of the residual stream, from block to block */
  SL_TENSOR_NEXT,                         /* output of a block: the next one's input */
  SL_TENSOR_A,
  SL_TENSOR_B,
  SL_TENSOR_C,
  SL_TENSOR_D,
  SL_TENSOR_E,
  SL_TENSOR_F,
  SL_TENSORS
};
enum sl_script_buffer { SL_BUFFER_GATHER, SL_BUFFER_GATHER_BACK, SL_SCRIPT_BUFFERS };
enum sl_script_thread { SL_THREAD_FORWARD, SL_THREAD_BACKWARD, SL_SCRIPT_THREADS };
enum sl_script_weight {
  SL_WEIGHT_QKV,
  SL_WEIGHT_OUT,
  SL_WEIGHT_GATE_UP,
  SL_WEIGHT_DOWN,
  SL_WEIGHT_VOCABULARY,
  SL_SCRIPT_WEIGHTS
};

/* Elements of a tensor: of the tokens of a micro-batch, and of this tensor-parallel rank's part of them where they are
 * divided (sequence parallelism). */
enum sl_extent {
  SL_EXTENT_NONE,
  SL_EXTENT_WHOLE, /* residual stream, all tokens */
  SL_EXTENT_ROWS,  /* residual stream, the rank's tokens */
  SL_EXTENT_Q,     /* q of the rank's heads */
  SL_EXTENT_KV,    /* k and v of the rank's heads */
  SL_EXTENT_QKV,
  SL_EXTENT_HEADS,  /* a number per token and head of the rank */
  SL_EXTENT_INNER,  /* the rank's part of the MLP's inner width */
  SL_EXTENT_LOGITS, /* the rank's part of the vocabulary */
  SL_EXTENT_TOKENS,
  SL_EXTENT_ROW,     /* one number for each of the rank's tokens */
  SL_EXTENT_CHANNELS /* a number per channel and multiprocessor of the device */
};
enum sl_script_when { SL_EVERY, SL_IF_TP, SL_UNLESS_TP, SL_IF_MANY /* more than one in a micro-batch */ };

struct sl_script_line {
  enum sl_script_do what;
  int which; /* tensor, buffer, thread or weight */
  enum sl_extent extent;
  int bytes;    /* of an element; SL_MOVE: the tensor that has the name so far */
  int launches; /* entries of the device's queue, after it */
  enum sl_script_when when;
};

struct sl_allocations {
  const struct sl_script_line
      *scripts[SL_SCRIPT_COUNT]; /* each ends with a line without launches and extent, SL_MOVE */
  int message_launches;          /* of a message between stages, its description included */
  int sent;                      /* messages of a forward */
  bool counts_idle_ranks;        /* of a pipeline, in the warm-up of its schedule */
  int workspace_bytes;
};

/* Whether scripts describe this plan: blocks and parallelism of a kind that they were written for. NULL: no. */
const struct sl_allocations *sl_allocations_of(const struct sl_plan *plan);
