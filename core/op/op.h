/* An op: one kernel, collective, copy or update, with everything that a kernel and a cost model need to know about it.
 * This header has what follows from an op by itself: names, classes, flops, bytes moved. An op does not know its
 * program: a function that needs the operands gets them as `slices`, in the order of their rows (op/operands.h). Next:
 * op/wire.h for the bytes of collectives, op/work.h for what an op costs. */
#pragma once

#include "core/base/dtype.h"
#include "core/op/group.h"

#include <stdbool.h>
#include <stdint.h>

/* Each class of process groups has a lane for its collectives, of the same number (sl_lane_of_group). */
#define SL_LANE_MAP(X)                                                                                                 \
  X(COMPUTE, "compute")                                                                                                \
  SL_GROUP_MAP(X)                                                                                                      \
  X(SEND_F, "send_f")                                                                                                  \
  X(RECV_F, "recv_f")                                                                                                  \
  X(SEND_B, "send_b")                                                                                                  \
  X(RECV_B, "recv_b")                                                                                                  \
  X(H2D, "host_to_device")                                                                                             \
  X(D2H, "device_to_host")                                                                                             \
  X(HOST, "host_optimizer")                                                                                            \
  X(NVME_READ, "nvme_read")                                                                                            \
  X(NVME_WRITE, "nvme_write")

enum sl_lane {
#define X(name, text) SL_LANE_##name,
  SL_LANE_MAP(X)
#undef X
      SL_LANE_COUNT
};
_Static_assert((int)SL_LANE_COMPUTE == SL_GROUP_NONE && (int)SL_LANE_SEND_F == SL_GROUP_COUNT,
               "the lanes between compute and send_f are the classes of groups, in their order");
static inline enum sl_lane sl_lane_of_group(enum sl_group group) {
  return (enum sl_lane)group;
}
const char *sl_lane_name(enum sl_lane lane);
/* Is this lane the link between two memories of a rank, device and host or host and NVMe? */
static inline bool sl_lane_is_link(enum sl_lane lane) {
  return lane == SL_LANE_H2D || lane == SL_LANE_D2H || lane == SL_LANE_NVME_READ || lane == SL_LANE_NVME_WRITE;
}
/* Is it the link between the host and its NVMe? */
static inline bool sl_lane_is_nvme(enum sl_lane lane) {
  return lane == SL_LANE_NVME_READ || lane == SL_LANE_NVME_WRITE;
}

/* What determines the cost of an op, and under which heading its time is reported. */
enum sl_op_class {
  SL_CLASS_GEMM,
  SL_CLASS_ATTENTION,
  SL_CLASS_ELEMENTWISE, /* bound by bytes moved */
  SL_CLASS_OPTIMIZER,   /* likewise, but reported separately */
  SL_CLASS_CONTROL,     /* a few scalars, or file and token input */
  SL_CLASS_COLLECTIVE,
  SL_CLASS_P2P,
  SL_CLASS_COUNT
};
const char *sl_op_class_name(enum sl_op_class op_class);

/* How a communication op moves bytes between its n members. An op that has both rings runs the reduction first. */
enum sl_move {
  SL_MOVE_REDUCE = 1,   /* a ring of n - 1 steps: a piece accumulates its sum on the way round and ends at its owner */
  SL_MOVE_GATHER = 2,   /* a ring of n - 1 steps: a piece goes from its owner to all others */
  SL_MOVE_CHAIN = 4,    /* all data goes from the root (op.peer) from member to member, in blocks */
  SL_MOVE_SEND = 8,     /* to pipeline rank op.peer */
  SL_MOVE_RECV = 16,    /* from pipeline rank op.peer */
  SL_MOVE_EXCHANGE = 32 /* every member sends every other one a piece of its own */
};

/* Every op that a rank executes by itself. Its operands and their order are the rows of op/operands.c. dim[] holds the
 * shape named in the last column; the first `dims` of its numbers are above 0 in every op of the kind. What is the same
 * in a whole model (rotary frequencies, score modifications, the activation) is not part of the op: core/model/form.h
 * gives it for op.layer.
 *
 * Letters: B sequences, T tokens, R = B*T rows, C channels, V vocabulary, P positions, H heads, D head size, G
 * key/value heads, N elements. qkv, dqkv: rows (q | k | v) of (H + 2G) D, or three operands with SL_OP_APART. place:
 * the rank's index in the op's place_group, 0 without one; of the ranks of a place_group tp, which compute the same
 * loss (mse, classifier, classifier_shard), only place 0 adds it to control. mask: the dropout mask, with SL_OP_MASK, a
 * byte an element, written in forward and read in backward (without it both draw it anew); attention also stores the
 * dropped probabilities.
 *
 * Context parallelism: dim[SL_OP_CP] of load_batch, embed, rope and attention is the number P of ranks that share every
 * sequence, if it is above 1. T is then the rank's part, two chunks of each sequence (core/op/chunks.h), and attention,
 * with SL_OP_APART, reads all P T keys and values of a sequence, in order. (Where heads are exchanged for tokens, a rank's
 * attention has whole sequences of fewer heads.)
 *   kind, text, class, dims, shape and remarks */
/* clang-format off */
#define SL_OP_MAP(X)                                                                                                                                                     \
  /* model */                                                                                                                                                            \
  X(LOAD_BATCH,        "load_batch",           CONTROL,      2) /* B T */                                                                                                \
                                                                 /* with SL_OP_INPUTS_ONLY or SL_OP_TARGETS_ONLY only that operand */                                    \
  X(EMBED_FWD,         "embed",                ELEMENTWISE,  4) /* B T C V */                                                                                            \
                                                                 /*   place_group tp: the table holds rows [place V, place V + V); other tokens: zero rows */            \
  X(EMBED_BWD,         "embed_bwd",            ELEMENTWISE,  4) /* B T C V P */                                                                                          \
  X(LAYERNORM_FWD,     "layernorm",            ELEMENTWISE,  2) /* R C; stats (2,R); no bias with SL_OP_UNBIASED */                                                      \
                                                                 /* with SL_OP_RESIDUAL after a residual (the same for rmsnorm) */                                       \
  X(LAYERNORM_BWD,     "layernorm_bwd",        ELEMENTWISE,  2) /* R C */                                                                                                \
                                                                 /* with SL_OP_RESIDUAL before a dropout of dx (the same for rmsnorm_bwd) */                             \
  X(RMSNORM_FWD,       "rmsnorm",              ELEMENTWISE,  2) /* R C; stats (R) */                                                                                     \
  X(RMSNORM_BWD,       "rmsnorm_bwd",          ELEMENTWISE,  2) /* R C */                                                                                                \
  X(ROPE,              "rope",                 ELEMENTWISE,  4) /* B T H D [G]: rotates the heads of every token by its position; with G those of q and k, packed */     \
  X(GEMM,              "gemm",                 GEMM,         3) /* m n k; the flags say what else it does */                                                             \
  X(BIAS_BWD,          "bias_bwd",             ELEMENTWISE,  2) /* R C */                                                                                                \
  X(ATTENTION_FWD,     "attention",            ATTENTION,    5) /* B T H D G [W]; softmax: the probabilities (B,H,T,T); W keys visible to a query, 0: all before */      \
  X(ATTENTION_BWD,     "attention_bwd",        ATTENTION,    5) /* B T H D G [W] */                                                                                      \
  X(FLASH_FWD,         "flash_attention",      ATTENTION,    5) /* B T H D G [W]; softmax: its log-sum-exp (B,H,T) */                                                    \
  X(FLASH_BWD,         "flash_attention_bwd",  ATTENTION,    5) /* B T H D G [W] */                                                                                      \
  X(GELU_FWD,          "gelu",                 ELEMENTWISE,  2) /* R C; the model's activation, or with a scale above 0 scale tanh(x / scale) */                         \
  X(GELU_BWD,          "gelu_bwd",             ELEMENTWISE,  2) /* R C; dout becomes dx */                                                                               \
  X(SWIGLU_FWD,        "swiglu",               ELEMENTWISE,  2) /* R C; gated by the model's activation */                                                               \
  X(SWIGLU_BWD,        "swiglu_bwd",           ELEMENTWISE,  2) /* R C; gate and up become their gradients */                                                            \
  X(RESIDUAL_FWD,      "residual",             ELEMENTWISE,  2) /* R C; out = residual + dropout(x [+ bias]) */                                                          \
                                                                 /* place_group tp: rows [place R, place R + R) of the micro-batch (the same for dropout) */             \
  X(DROPOUT,           "dropout",              ELEMENTWISE,  2) /* R C; masked and scaled, in forward and backward */                                                    \
  X(CLASSIFIER,        "classifier",           ELEMENTWISE,  3) /* R V Vt; logits are overwritten by their gradient */                                                   \
  X(CLASSIFIER_STATS,  "classifier_stats",     ELEMENTWISE,  3) /* R V Vt; stats (R,3): row max, sum of exp(x - max), target logit */                                    \
  X(CLASSIFIER_SHARD,  "classifier_shard",     ELEMENTWISE,  4) /* R V Vt P; stats (P,R,3) */                                                                            \
                                                                 /* all three: columns [place V, place V + V) of Vt, padding beyond Vt; P members */                     \
  X(RELU_FWD,          "relu",                 ELEMENTWISE,  2) /* R C; in place */                                                                                      \
  X(RELU_BWD,          "relu_bwd",             ELEMENTWISE,  2) /* R C; dout, in place */                                                                                \
  X(MSE,               "mse",                  ELEMENTWISE,  2) /* R C; x, the prediction, is overwritten by its gradient */                                             \
  X(PASS,              "pass",                 ELEMENTWISE,  0) /* bytes launches pieces hooks (0: none): kernels of a framework, see plan/kernels.h, its hooks, see */  \
                                                                 /* models/hooks.h, or none, but what it names is allocated or freed here; predicted only */             \
  X(SPLIT_QKV,         "split_qkv",            ELEMENTWISE,  4) /* R D H G: x, rows of q, k and v as attention's, into three; SL_OP_INVERSE: one row of three */         \
  X(ORDER_CHUNKS,      "order_chunks",         ELEMENTWISE,  4) /* B T C P: x (P,B,T,C), what each member of a cp group has of B sequences; out (B,P*T,C); */            \
                                                                 /* SL_OP_INVERSE: the other way */                                                                      \
  /* state */                                                                                                                                                            \
  X(FILL,              "fill",                 ELEMENTWISE,  1) /* N; x = scale */                                                                                       \
  X(COPY,              "copy",                 ELEMENTWISE,  1) /* N; to or from NVMe, with a scratch: N block depth: bytes of a block, blocks in flight */              \
  X(ADD,               "add",                  ELEMENTWISE,  1) /* N; out += x */                                                                                        \
  X(CONCAT_COLUMNS,    "concat_columns",       ELEMENTWISE,  3) /* R C P; x (P,R,C), out (R,P*C); with SL_OP_INVERSE the other way */                                    \
  X(SPLIT_COLUMNS,     "split_columns",        ELEMENTWISE,  3) /* R C P; x (R,P*C), out (R,C): columns [place C, place C + C) */                                        \
  X(NORM,              "norm",                 OPTIMIZER,    1) /* N; adds scale * sum of squares to control */                                                          \
                                                                 /* with SL_OP_SHARE_RANGE: N lo hi stride: x is [place stride, +N) of a flat space; [lo, hi) counts */  \
                                                                 /* COPY and ADD with it: N lo hi stride: x is [lo, lo + N) of a flat space, out is */                   \
                                                                 /* [place stride, + stride); what both have of [lo, hi) is taken */                                     \
  X(QUANTIZE,          "quantize",             ELEMENTWISE,  5) /* N block bits P K: P pieces of N elements, packed (kernels/quantize.h) */                              \
                                                                 /*   piece k (P / K) + j of x is piece j K + k of out */                                                \
  X(DEQUANTIZE,        "dequantize",           ELEMENTWISE,  4) /* N block bits P */                                                                                     \
  X(QUANTIZED_SUM,     "quantized_sum",        ELEMENTWISE,  4) /* N block bits P; out = the sum of P packed pieces, or += */                                            \
  X(REQUANTIZE,        "requantize",           ELEMENTWISE,  5) /* N block bits S P; x (S,P) packed, out (P) packed: the sums over S */                                  \
  X(FP8_CAST,          "fp8_cast",             ELEMENTWISE,  2) /* R C; x scale to 8 bits: out as x with SL_OP_CAST_ROWS, transposed (C,R) with SL_OP_CAST_COLUMNS */   \
                                                                 /* scale: and its inverse; amax: the largest |x| so far */                                              \
  X(FP8_SCALE,         "fp8_scale",            ELEMENTWISE,  2) /* N H; N scales, times op.scale, from amax and histories (N,H), see kernels/fp8.h; amax becomes 0 */    \
  X(CONTROL,           "control",              CONTROL,      0) /* -; loss, norm, clip factor, next step */                                                              \
  X(SGD,               "sgd",                  OPTIMIZER,    1) /* N */                                                                                                  \
  X(ADAM,              "adam",                 OPTIMIZER,    1) /* N */                                                                                                  \
  X(ADAMW,             "adamw",                OPTIMIZER,    1) /* N */                                                                                                  \
  X(SIGN_PACK,           "sign_pack",            OPTIMIZER,    3) /* N chunk P: momentum and error as P packed pieces of signs; see kernels/onebit.h */                  \
  X(SIGN_SUM,            "sign_sum",             OPTIMIZER,    2) /* chunk P: the mean of P packed pieces and the error, packed as one */                                \
  X(ONEBIT_ADAM,         "onebit_adam",          OPTIMIZER,    3) /* N chunk P: AdamW with the momentum that P packed pieces encode */                                   \
  X(INIT_TENSOR,       "init_tensor",          CONTROL,      0) /* a piece of `tensor`: seeded or from a file */                                                         \
  X(SAVE_TENSOR,       "save_tensor",          CONTROL,      0) /* a piece of `tensor` */                                                                                \
  X(JOIN,              "join",                 CONTROL,      0) /* -; waits for all lanes: the end of a program */

/* The ops by which ranks communicate; the additional column says how their bytes move. Traffic, cost, the checks and
 * the backends read that column, so a new op that combines existing moves needs no change in them. Append new rows at
 * the end: the hash of a run's calls uses positions in this list. N = elements of the whole sides of all parts; see
 * sl_share_piece.
 *   kind, text, class, dims, moves, shape and remarks */
#define SL_COMM_MAP(X)                                                                                                                                                   \
  X(ALL_REDUCE,        "all_reduce",           COLLECTIVE,   1, SL_MOVE_REDUCE | SL_MOVE_GATHER) /* N; in place */                                                       \
  X(REDUCE_SCATTER,    "reduce_scatter",       COLLECTIVE,   1, SL_MOVE_REDUCE) /* N lo hi stride; the whole is garbage afterwards */                                    \
  X(ALL_GATHER,        "all_gather",           COLLECTIVE,   1, SL_MOVE_GATHER) /* N lo hi stride */                                                                     \
  X(BROADCAST,         "broadcast",            COLLECTIVE,   1, SL_MOVE_CHAIN)  /* N; the root reads, the others write */                                                \
  X(SEND,              "send",                 P2P,          1, SL_MOVE_SEND)   /* N */                                                                                  \
  X(RECV,              "recv",                 P2P,          1, SL_MOVE_RECV)   /* N */                                                                                  \
  X(ALL_TO_ALL,        "all_to_all",           COLLECTIVE,   1, SL_MOVE_EXCHANGE) /* N; shard: one piece for each member, whole: one from each, all equal */
/* clang-format on */

enum sl_op_kind {
#define X(name, ...) SL_OP_##name,
  SL_OP_MAP(X) SL_COMM_MAP(X)
#undef X
      SL_OP_COUNT
};
const char *sl_op_name(enum sl_op_kind kind);
extern const unsigned char sl_op_classes[SL_OP_COUNT]; /* enum sl_op_class */
static inline enum sl_op_class sl_op_class_of(enum sl_op_kind kind) {
  return (enum sl_op_class)sl_op_classes[kind];
}
int sl_op_dims(enum sl_op_kind kind); /* how many of its first dimensions are above 0 */
/* A collective, a send or a receive: an op that is a rendezvous of several ranks. */
bool sl_op_is_comm(enum sl_op_kind kind);
unsigned sl_op_moves(enum sl_op_kind kind); /* its enum sl_move flags; 0: it does not communicate */

enum sl_op_flag {
  SL_OP_TRANS_A = 1,       /* gemm: a is stored (k, m) */
  SL_OP_TRANS_B = 2,       /* gemm: b is stored (n, k) */
  SL_OP_AFTER_COMPUTE = 4, /* starts only after the preceding compute op in program order has finished */
  SL_OP_BLOCKING = 8,      /* the next compute op waits for it (a collective that does not overlap) */
  SL_OP_SHARE_CHUNK = 16,  /* reduce_scatter, all_gather: how members share the data, see sl_share_piece */
  SL_OP_SHARE_RANGE = 32,  /* the same; also of norm, copy and add: only a range of the flat space counts */
  SL_OP_BIAS = 64,         /* gemm: a bias follows c; residual: a bias follows x */
  SL_OP_WORKSPACE =
      128, /* the last operand is scratch. gemm: for fp32 copies of 16-bit operands; copy: for blocks in flight */
  /* sgd, adam, adamw: the first operand is the fp32 master, the last its 16-bit parameter */
  SL_OP_PARAM_COPY = 256,
  SL_OP_APART = 512,    /* attention: q, k and v are separate operands, and so are their gradients */
  SL_OP_INVERSE = 1024, /* rope: rotate back */
  SL_OP_SCALED = 1024,  /* gemm: a and b are in 8 bits, each with a scale, whose inverse multiplies the product */
  SL_OP_MOST = 1024,    /* all_reduce: the largest of the members' numbers, not their sum */
  /* embed_bwd: the table is an operand, and that of positions; nothing reads them, but they are there */
  SL_OP_WITH_TABLE = 1024,
  SL_OP_WITH_POSITIONS_TABLE = 2048,
  SL_OP_INPUT_GRAD = 2048, /* layernorm_bwd, rmsnorm_bwd: only the gradient of x */
  /* gemm, a collective: launched from C++, by the call of a module that another op stands for (sl_work_in_call) */
  SL_OP_IN_CALL = 2048,
  /* likewise: only those of the weights; the two halves give the same bits as the full op */
  SL_OP_WEIGHT_GRAD = 4096,
  SL_OP_CAST_ROWS = 2048, /* fp8_cast: one of these, or both */
  SL_OP_CAST_COLUMNS = 4096,
  SL_OP_MOST_RECENT = 2048,   /* fp8_scale: only the step before counts, not the history */
  SL_OP_ALL_E4M3 = 4096,      /* fp8_scale: gradients are in E4M3, too */
  SL_OP_INPUTS_ONLY = 8192,   /* load_batch: no targets */
  SL_OP_TARGETS_ONLY = 16384, /* load_batch: no inputs */
  SL_OP_MASK = 32768,         /* an op with dropout: its mask is an operand */
  /* gemm: epilogues. Sums are fp32 or wider throughout: where c is 16 bits wide, an epilogue may read them before
   * rounding (as cuBLASLt does) or after it (as the host's kernels do). */
  SL_OP_GELU = 65536,        /* c = gelu(a b + bias); the argument of gelu goes to aux */
  SL_OP_DGELU = 131072,      /* c = (a b) gelu'(aux) */
  SL_OP_BGRAD_A = 262144,    /* a, as stored, has k rows of m: dbias is their sum */
  SL_OP_BGRAD_B = 524288,    /* b, as stored, has k rows of n: dbias is their sum */
  SL_OP_POSITIONS = 1048576, /* embed, embed_bwd: there is a table of positions */
  SL_OP_MOMENTUM = 2097152,  /* sgd: has a momentum */
  SL_OP_PAGEABLE = 2097152,  /* copy, add, between device and host: the host's memory is not pinned */
  /* flash attention, only predicted: the kernel, if not FlashAttention 2 */
  SL_OP_FLASH_1 = 4194304,
  SL_OP_FLASH_3 = 8388608,
  SL_OP_CUDNN = 16777216,
  SL_OP_KEEPS = 33554432,      /* pass: saves a tensor for its backward ... */
  SL_OP_READS_KEPT = 67108864, /* ... or reads it there */
  /* starts after all earlier ops in program order have finished, of send, recv: messages, of a collective: sums over
   * the replicas of a shard group */
  SL_OP_IN_TURN = 134217728,
  SL_OP_FROZEN = 268435456,       /* adamw: the variance is not updated */
  SL_OP_UNBIASED = 536870912,     /* layernorm, layernorm_bwd: there is no bias */
  SL_OP_PACKED_GATE = 1073741824, /* swiglu, swiglu_bwd: gate and up are rows (gate | up) of one operand, gate */
  /* layernorm, rmsnorm: x is written first: residual + dropout(branch [+ branch.bias], with SL_OP_BIAS). layernorm_bwd,
   * rmsnorm_bwd: dropout of dx, which is the gradient of the branch, is written last. Dropout and place_group are as
   * those of the op that is taken in; the result has the bits of two ops. */
  SL_OP_RESIDUAL = 1073741824,
  SL_OP_FLASH_KERNELS = SL_OP_FLASH_1 | SL_OP_FLASH_3 | SL_OP_CUDNN
};

/* Phases, for reports; the memory report names the phase of the peak. */
#define SL_PHASE_MAP(X)                                                                                                \
  X(INIT, "init")                                                                                                      \
  X(FORWARD, "forward")                                                                                                \
  X(BACKWARD, "backward")                                                                                              \
  X(STEP, "step")                                                                                                      \
  X(SAVE, "save")
enum sl_phase {
#define X(name, text) SL_PHASE_##name,
  SL_PHASE_MAP(X)
#undef X
      SL_PHASE_COUNT
};
const char *sl_phase_name(enum sl_phase phase);

/* What a communication op carries; traffic is reported by payload. */
#define SL_PAYLOAD_MAP(X)                                                                                              \
  X(NONE, "none")                                                                                                      \
  X(PARAMETER, "parameter")                                                                                            \
  X(GRADIENT, "gradient")                                                                                              \
  X(ACTIVATION, "activation")                                                                                          \
  X(SCALAR, "scalar")                                                                                                  \
  X(OPTIMIZER, "optimizer")
enum sl_payload {
#define X(name, text) SL_PAYLOAD_##name,
  SL_PAYLOAD_MAP(X)
#undef X
      SL_PAYLOAD_COUNT
};
const char *sl_payload_name(enum sl_payload payload);

enum sl_access { SL_READ = 1, SL_WRITE = 2, SL_READ_WRITE = 3 };

/* What selects the slot of a buffer that has several, by how long the pipeline needs the contents. An instance says
 * which slots belong to its micro-batch.
 *   IN, OUT     a stage's input and output, slots of one buffer: an output becomes the next stage's input if that is on
 *               the same rank
 *   DX          the gradient of the residual stream, which a stage receives from its successor, updates and passes on
 *   ACTIVATION  from forward to backward (to W, where backward is split); for the input of a stage, from its arrival on
 *   WEIGHT      from the I half of a split backward to its W half
 *   PARAMETER   what UNSHARD gathers, until RESHARD, for all micro-batches
 * The slots of the last three come from pools, see sl_buffer. */
enum sl_slot {
  SL_SLOT_IN,
  SL_SLOT_OUT,
  SL_SLOT_DX,
  SL_SLOT_ACTIVATION,
  SL_SLOT_WEIGHT,
  SL_SLOT_PARAMETER,
  SL_SLOT_COUNT
};

/* Bytes [offset + place * shard_stride, +bytes) of one slot of a buffer; `place` is the rank's index in
 * sl_op.place_group. sl_slice_slot says which slot. */
struct sl_slice {
  int32_t buffer;
  enum sl_access access;
  enum sl_slot slot;
  int64_t offset, bytes, shard_stride;
};

/* The states of a parameter, and how the buffer of each is laid out. The last two are of linear weights whose products
 * run in fp8 (core/lower/scaling.h): a row for each factor of those products. */
enum sl_role {
  SL_ROLE_PARAM,
  SL_ROLE_GRAD,
  SL_ROLE_MOMENT1,
  SL_ROLE_MOMENT2,
  SL_ROLE_MASTER,
  SL_ROLE_FP8_SCALE,
  SL_ROLE_FP8_HISTORY,
  SL_ROLE_COUNT
};
/* The factors that a linear weight has in products, with scales of their own: its layer's input, itself, and the
 * gradient of its layer's output. */
enum sl_fp8_factor { SL_FP8_INPUT, SL_FP8_WEIGHT, SL_FP8_GRADIENT, SL_FP8_FACTORS };
enum sl_role_form {
  SL_FORM_ABSENT,
  SL_FORM_WHOLE, /* the flat space; every member of the sharding group holds the same, all of it valid */
  SL_FORM_SHARD, /* only the member's own shard */
  /* the flat space, of which only the member's shard is valid after the reduction (ZeRO stage 1) */
  SL_FORM_SHARD_IN_FLAT
};

enum { SL_OP_DIMS = 7, SL_OP_CP = 6 };

struct sl_op {
  enum sl_op_kind kind;
  enum sl_lane lane;
  enum sl_group group;       /* of a collective, else SL_GROUP_NONE */
  enum sl_group place_group; /* the group whose index moves slices by shard_stride; SL_GROUP_NONE: none move */
  enum sl_dtype dtype;       /* of the data (gemm: of a, b and c; accumulation is fp32 or wider) */
  enum sl_phase phase;
  enum sl_payload payload; /* of a communication op, or of a copy between memories */
  unsigned flags;
  int32_t slice, slice_count; /* operands: program->slices[slice ...] */
  int64_t dim[SL_OP_DIMS];
  /* classifier, mse: gradient scale; norm: factor; fill: value; layernorm, rmsnorm: epsilon; rope: base */
  double scale;
  double dropout; /* probability; 0: none */
  int32_t tensor; /* index in the stage's placed tensors, or -1 (init, save: the tensor; other ops: only for names) */
  enum sl_role role; /* init, save: which of the tensor's states */
  int32_t stream;    /* dropout: its random stream, unique per place in the model */
  int32_t layer;     /* block index for reports; -1: embedding, n_layer: LM head */
  int32_t peer;      /* send, recv: pipeline rank of the peer; broadcast: the root's index in the group */
};

/* An op on the compute lane without group or tensor; every field that is not an argument is 0. */
struct sl_op sl_op_plain(enum sl_op_kind kind, enum sl_dtype dtype, enum sl_phase phase);
/* How many ranks share every sequence of an op of this shape; 1: a rank has whole ones. */
static inline int64_t sl_shape_cp(const int64_t dim[SL_OP_DIMS]) {
  return dim[SL_OP_CP] > 1 ? dim[SL_OP_CP] : 1;
}
static inline int64_t sl_op_cp(const struct sl_op *op) {
  return sl_shape_cp(op->dim);
}
/* The element-wise op that a gemm does in its epilogue, as an op of its own: kind, type and shape. Kind SL_OP_COUNT:
 * none. */
struct sl_op sl_op_epilogue(const struct sl_op *op);
/* The op's name for readers: its kind, and what it takes in ("gemm+gelu", "residual+layernorm"). */
const char *sl_op_label(const struct sl_op *op);
