/* An op: one kernel, collective, copy or update, with everything that a kernel and a cost model need of it. What follows from
 * an op by itself stands here: names, classes, flops, bytes moved. An op knows no program: where a function needs its
 * operands it gets them, as `slices`, in the order of their rows (op/operands.h). */
#pragma once

#include "core/base/dtype.h"
#include "core/op/group.h"

#include <stdbool.h>
#include <stdint.h>

/* Each class of groups has a lane for its collectives, of the same number (sl_lane_of_group). */
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
/* Is it the lane of a link between two memories of a rank: of the device and the host, or of the host and its NVMe? */
static inline bool sl_lane_is_link(enum sl_lane lane) {
  return lane == SL_LANE_H2D || lane == SL_LANE_D2H || lane == SL_LANE_NVME_READ || lane == SL_LANE_NVME_WRITE;
}
/* Of the host and its NVMe. */
static inline bool sl_lane_is_nvme(enum sl_lane lane) {
  return lane == SL_LANE_NVME_READ || lane == SL_LANE_NVME_WRITE;
}

/* What an op costs and how its time is reported. */
enum sl_op_class {
  SL_CLASS_GEMM,
  SL_CLASS_ATTENTION,
  SL_CLASS_ELEMENTWISE, /* bound by bytes moved */
  SL_CLASS_OPTIMIZER,   /* the same, reported on its own */
  SL_CLASS_CONTROL,     /* a few scalars, or file and token input */
  SL_CLASS_COLLECTIVE,
  SL_CLASS_P2P,
  SL_CLASS_COUNT
};
const char *sl_op_class_name(enum sl_op_class op_class);

/* How a communication op moves bytes; one that has both rings runs the reduction first. n members. */
enum sl_move {
  SL_MOVE_REDUCE = 1,   /* a ring of n - 1 steps: a piece gathers its sum on the way round and ends at its owner */
  SL_MOVE_GATHER = 2,   /* a ring of n - 1 steps: a piece goes from its owner to all others */
  SL_MOVE_CHAIN = 4,    /* the whole goes from the root (op.peer) from member to member, in blocks */
  SL_MOVE_SEND = 8,     /* to pipeline rank op.peer */
  SL_MOVE_RECV = 16,    /* from there */
  SL_MOVE_EXCHANGE = 32 /* every member sends each other one a piece of its own */
};

/* Every op that one rank does by itself. Its operands, in their order, are the rows of op/operands.c. dim[] holds the shape
 * named in the last column, of which no op of the kind lacks the first `dims`. What of an op is the same in all of a model
 * (rotary frequencies, what is done to scores, which activation) the model's form says, of op.layer (core/model/form.h). Letters: B sequences, T tokens, R = B*T rows,
 * C channels, V vocabulary, P positions, H heads, D head size, G key/value heads, N elements. qkv, dqkv: rows (q | k | v) of
 * (H + 2G) D, or with SL_OP_APART three operands. place: the rank's index in the op's place_group, 0 without one. Of the
 * ranks of place_group tp, which compute the same loss (mse, classifier, classifier_shard), place 0 alone adds it to
 * control. mask: with SL_OP_MASK, dropout's, a byte an element, which forward writes and backward reads (without it both
 * draw); attention keeps the dropped probabilities beside it.
 *   kind, text, class, dims, what they are */
/* clang-format off */
#define SL_OP_MAP(X)                                                                                                                                                     \
  /* model */                                                                                                                                                            \
  X(LOAD_BATCH,        "load_batch",           CONTROL,      2) /* B T */                                                                                                \
                                                                 /*   with SL_OP_INPUTS_ONLY or SL_OP_TARGETS_ONLY, that operand alone */                                \
  X(EMBED_FWD,         "embed",                ELEMENTWISE,  4) /* B T C V */                                                                                            \
                                                                 /*   place_group tp: the table holds rows [place V, place V + V); other tokens: zero rows */            \
  X(EMBED_BWD,         "embed_bwd",            ELEMENTWISE,  4) /* B T C V P */                                                                                          \
  X(LAYERNORM_FWD,     "layernorm",            ELEMENTWISE,  2) /* R C; stats (2,R); no bias with SL_OP_UNBIASED */                                                       \
  X(LAYERNORM_BWD,     "layernorm_bwd",        ELEMENTWISE,  2) /* R C */                                                                                                \
  X(RMSNORM_FWD,       "rmsnorm",              ELEMENTWISE,  2) /* R C; stats (R) */                                                                                     \
  X(RMSNORM_BWD,       "rmsnorm_bwd",          ELEMENTWISE,  2) /* R C */                                                                                                \
  X(ROPE,              "rope",                 ELEMENTWISE,  4) /* B T H D [G]: the heads of every token turned by its position; with G those of q and k in packed rows */ \
  X(GEMM,              "gemm",                 GEMM,         3) /* m n k; the flags say what it does besides */                                                          \
  X(BIAS_BWD,          "bias_bwd",             ELEMENTWISE,  2) /* R C */                                                                                                \
  X(ATTENTION_FWD,     "attention",            ATTENTION,    5) /* B T H D G [W]; softmax: the probabilities (B,H,T,T); W keys that a query sees, 0: all before it */     \
  X(ATTENTION_BWD,     "attention_bwd",        ATTENTION,    5) /* B T H D G [W] */                                                                                      \
  X(FLASH_FWD,         "flash_attention",      ATTENTION,    5) /* B T H D G [W]; softmax: its log-sum-exp (B,H,T) */                                                    \
  X(FLASH_BWD,         "flash_attention_bwd",  ATTENTION,    5) /* B T H D G [W] */                                                                                      \
  X(GELU_FWD,          "gelu",                 ELEMENTWISE,  2) /* R C; the model's activation, or with a scale above 0 scale tanh(x / scale) */                         \
  X(GELU_BWD,          "gelu_bwd",             ELEMENTWISE,  2) /* R C; dout becomes dx */                                                                               \
  X(SWIGLU_FWD,        "swiglu",               ELEMENTWISE,  2) /* R C; gated by the model's activation */                                                              \
  X(SWIGLU_BWD,        "swiglu_bwd",           ELEMENTWISE,  2) /* R C; gate and up become their gradients */                                                            \
  X(RESIDUAL_FWD,      "residual",             ELEMENTWISE,  2) /* R C; out = residual + dropout(x [+ bias]) */                                                          \
                                                                 /*   place_group tp: rows [place R, place R + R) of the micro-batch (dropout has the same) */           \
  X(DROPOUT,           "dropout",              ELEMENTWISE,  2) /* R C; masked and scaled, forward as backward */                                                        \
  X(CLASSIFIER,        "classifier",           ELEMENTWISE,  3) /* R V Vt; logits become their gradient */                                                               \
  X(CLASSIFIER_STATS,  "classifier_stats",     ELEMENTWISE,  3) /* R V Vt; stats (R,3): row max, sum of exp(x - max), target logit */                                    \
  X(CLASSIFIER_SHARD,  "classifier_shard",     ELEMENTWISE,  4) /* R V Vt P; stats (P,R,3) */                                                                            \
                                                                 /*   all hold columns [place V, place V + V) of Vt, beyond which they are padding; P members */         \
  X(RELU_FWD,          "relu",                 ELEMENTWISE,  2) /* R C; in place */                                                                                      \
  X(RELU_BWD,          "relu_bwd",             ELEMENTWISE,  2) /* R C; dout in place */                                                                                 \
  X(MSE,               "mse",                  ELEMENTWISE,  2) /* R C; x, the prediction, becomes its gradient */                                                       \
  X(PASS,              "pass",                 ELEMENTWISE,  2) /* bytes launches, and pieces (0: none): what a framework's own kernels move beside an op; see plan/kernels.h. Only predicted */ \
  /* state */                                                                                                                                                            \
  X(FILL,              "fill",                 ELEMENTWISE,  1) /* N; x = scale */                                                                                       \
  X(COPY,              "copy",                 ELEMENTWISE,  1) /* N; to or from NVMe N block depth, with a scratch: bytes of a block, and how many are on their way at once */                                                                                                  \
  X(ADD,               "add",                  ELEMENTWISE,  1) /* N; out += x */                                                                                        \
  X(CONCAT_COLUMNS,    "concat_columns",       ELEMENTWISE,  3) /* R C P; x (P,R,C), out (R,P*C) */                                                                      \
  X(SPLIT_COLUMNS,     "split_columns",        ELEMENTWISE,  3) /* R C P; x (R,P*C), out (R,C): columns [place C, place C + C) */                                        \
  X(NORM,              "norm",                 OPTIMIZER,    1) /* N; adds scale * sum of squares to control */                                                          \
                                                                 /*   with SL_OP_SHARE_RANGE N lo hi stride: x is [place stride, +N) of a flat space; [lo, hi) counts */ \
  X(QUANTIZE,          "quantize",             ELEMENTWISE,  5) /* N block bits P K: P pieces of N elements, packed (kernels/quantize.h) */                             \
                                                                 /*   piece k (P / K) + j of x is piece j K + k of out */                                                \
  X(DEQUANTIZE,        "dequantize",           ELEMENTWISE,  4) /* N block bits P */                                                                                     \
  X(QUANTIZED_SUM,     "quantized_sum",        ELEMENTWISE,  4) /* N block bits P; out = the sum of P packed pieces, or += */                                            \
  X(REQUANTIZE,        "requantize",           ELEMENTWISE,  5) /* N block bits S P; x (S,P) packed, out (P) packed: the sums over S */                                  \
  X(CONTROL,           "control",              CONTROL,      0) /* -; loss, norm, clip factor, next step */                                                              \
  X(SGD,               "sgd",                  OPTIMIZER,    1) /* N */                                                                                                  \
  X(ADAM,              "adam",                 OPTIMIZER,    1) /* N */                                                                                                  \
  X(ADAMW,             "adamw",                OPTIMIZER,    1) /* N */                                                                                                  \
  X(SIGN_PACK,           "sign_pack",            OPTIMIZER,    3) /* N chunk P: momentum and error as P packed pieces of signs; see kernels/onebit.h */                    \
  X(SIGN_SUM,            "sign_sum",             OPTIMIZER,    2) /* chunk P: the mean of P packed pieces and the error, packed as one */                                  \
  X(ONEBIT_ADAM,         "onebit_adam",          OPTIMIZER,    3) /* N chunk P: AdamW with the momentum that P packed pieces stand for */                                  \
  X(INIT_TENSOR,       "init_tensor",          CONTROL,      0) /* a piece of `tensor`: seeded or from a file */                                                         \
  X(SAVE_TENSOR,       "save_tensor",          CONTROL,      0) /* a piece of `tensor` */                                                                                \
  X(JOIN,              "join",                 CONTROL,      0) /* -; waits for every lane: the end of a program */

/* The ops by which ranks communicate, with one column more: how their bytes move. Traffic, cost, the proofs and the backends
 * read that column, so that an op made of moves that exist needs nothing of them. A new row goes last: the hash of a run's
 * calls counts places in this list. N = elements of all parts' whole sides; see sl_share_piece.
 *   kind, text, class, dims, moves, what they are */
#define SL_COMM_MAP(X)                                                                                                                                                   \
  X(ALL_REDUCE,        "all_reduce",           COLLECTIVE,   1, SL_MOVE_REDUCE | SL_MOVE_GATHER) /* N; in place */                                                       \
  X(REDUCE_SCATTER,    "reduce_scatter",       COLLECTIVE,   1, SL_MOVE_REDUCE) /* N lo hi stride; the whole is garbage after */                                         \
  X(ALL_GATHER,        "all_gather",           COLLECTIVE,   1, SL_MOVE_GATHER) /* N lo hi stride */                                                                     \
  X(BROADCAST,         "broadcast",            COLLECTIVE,   1, SL_MOVE_CHAIN)  /* N; the root reads, others write */                                                    \
  X(SEND,              "send",                 P2P,          1, SL_MOVE_SEND)   /* N */                                                                                  \
  X(RECV,              "recv",                 P2P,          1, SL_MOVE_RECV)   /* N */                                                                                  \
  X(ALL_TO_ALL,        "all_to_all",           COLLECTIVE,   1, SL_MOVE_EXCHANGE) /* N; shard: a piece for each member, whole: one from each, all alike */
/* clang-format on */

enum sl_op_kind {
#define X(name, ...) SL_OP_##name,
  SL_OP_MAP(X) SL_COMM_MAP(X)
#undef X
      SL_OP_COUNT
};
const char *sl_op_name(enum sl_op_kind kind);
enum sl_op_class sl_op_class_of(enum sl_op_kind kind);
int sl_op_dims(enum sl_op_kind kind); /* how many of its first dimensions are above 0 */
/* A collective, or a send or its receive: an op in which ranks meet. */
bool sl_op_is_comm(enum sl_op_kind kind);
unsigned sl_op_moves(enum sl_op_kind kind); /* its sl_move, one or more; 0: it does not communicate */

enum sl_op_flag {
  SL_OP_TRANS_A = 1,       /* gemm: a is stored (k, m) */
  SL_OP_TRANS_B = 2,       /* gemm: b is stored (n, k) */
  SL_OP_AFTER_COMPUTE = 4, /* starts no earlier than the compute op before it in program order has finished */
  SL_OP_BLOCKING = 8,      /* the next compute op waits for it (a collective that does not overlap) */
  SL_OP_SHARE_CHUNK = 16,  /* reduce_scatter, all_gather: how members share; see sl_share_piece */
  SL_OP_SHARE_RANGE = 32,  /* also norm: only a range of the flat space counts */
  SL_OP_BIAS = 64,         /* gemm: a bias follows c; residual: a bias follows x */
  SL_OP_WORKSPACE =
      128, /* gemm: fp32 copies of 16-bit operands go to a last operand, scratch; copy: blocks on their way */
  SL_OP_PARAM_COPY = 256,     /* sgd, adam, adamw: first operand the fp32 master, last its 16-bit parameter */
  SL_OP_APART = 512,          /* attention: q, k and v are an operand each, and so are their gradients */
  SL_OP_INVERSE = 1024,       /* rope: turn back */
  SL_OP_INPUT_GRAD = 2048,    /* layernorm_bwd, rmsnorm_bwd: the gradient of x alone */
  SL_OP_WEIGHT_GRAD = 4096,   /* the same: those of the weights alone; the two halves give the bits of the whole */
  SL_OP_INPUTS_ONLY = 8192,   /* load_batch: no targets */
  SL_OP_TARGETS_ONLY = 16384, /* load_batch: no inputs */
  SL_OP_MASK = 32768,         /* an op with dropout: its mask is an operand */
  /* gemm: epilogues. Sums are fp32 or wider throughout: where c is 16 bits wide an epilogue may read them before they are
   * rounded (cuBLASLt's does), or after (the host's kernels do). */
  SL_OP_GELU = 65536,        /* c = gelu(a b + bias); what gelu was applied to goes to aux */
  SL_OP_DGELU = 131072,      /* c = (a b) gelu'(aux) */
  SL_OP_BGRAD_A = 262144,    /* a, as it is stored, has k rows of m: dbias is their sum */
  SL_OP_BGRAD_B = 524288,    /* b, as it is stored, has k rows of n: dbias is their sum */
  SL_OP_POSITIONS = 1048576, /* embed, embed_bwd: there is a table of positions */
  SL_OP_MOMENTUM = 2097152,  /* sgd: keeps a momentum */
  SL_OP_PAGEABLE = 2097152,  /* copy, add, between device and host: the host's memory is not pinned */
  /* flash attention, only predicted: by which kernel other than FlashAttention 2 */
  SL_OP_FLASH_1 = 4194304,
  SL_OP_FLASH_3 = 8388608,
  SL_OP_CUDNN = 16777216,
  SL_OP_KEEPS = 33554432,         /* pass: leaves a tensor for its backward ... */
  SL_OP_READS_KEPT = 67108864,    /* ... or reads it there */
  SL_OP_IN_TURN = 134217728,      /* send, recv: starts when all messages before it in program order are over */
  SL_OP_FROZEN = 268435456,       /* adamw: the variance stays */
  SL_OP_UNBIASED = 536870912,     /* layernorm, layernorm_bwd: there is no bias */
  SL_OP_PACKED_GATE = 1073741824, /* swiglu, swiglu_bwd: gate and up are rows (gate | up) of one operand, gate */
  SL_OP_FLASH_KERNELS = SL_OP_FLASH_1 | SL_OP_FLASH_3 | SL_OP_CUDNN
};

/* Phases for reporting; the peak of memory is named by phase. */
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

/* What a communication op carries; traffic is reported by it. */
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

/* What decides a slotted buffer's slot: how long the pipeline keeps what stands in it. An instance says which slots are its
 * micro-batch's.
 *   IN, OUT     a stage's input and its output, which are slots of one buffer: an output becomes the next stage's input
 *               where that is on the same rank
 *   DX          the gradient of the residual stream, which a stage gets from behind, works on and hands on
 *   ACTIVATION  forward to backward (to W, where backward is split); the input of a stage the same, but from its arrival
 *   WEIGHT      what the I half of a backward leaves for its W half
 *   PARAMETER   what UNSHARD gathers, until RESHARD, for all micro-batches
 * The slots of the last three kinds come from pools, see sl_buffer. */
enum sl_slot {
  SL_SLOT_IN,
  SL_SLOT_OUT,
  SL_SLOT_DX,
  SL_SLOT_ACTIVATION,
  SL_SLOT_WEIGHT,
  SL_SLOT_PARAMETER,
  SL_SLOT_COUNT
};

/* Bytes [offset + place * shard_stride, +bytes) of one slot of a buffer, `place` being the rank's index in the op's
 * sharding group (sl_op.place_group). Which slot of a slotted buffer: see sl_slice_slot. */
struct sl_slice {
  int32_t buffer;
  enum sl_access access;
  enum sl_slot slot;
  int64_t offset, bytes, shard_stride;
};

/* The states of a parameter, and how the buffer of each is laid out. */
enum sl_role { SL_ROLE_PARAM, SL_ROLE_GRAD, SL_ROLE_MOMENT1, SL_ROLE_MOMENT2, SL_ROLE_MASTER, SL_ROLE_COUNT };
enum sl_role_form {
  SL_FORM_ABSENT,
  SL_FORM_WHOLE,        /* the flat space; every member of the sharding group holds the same, all of it valid */
  SL_FORM_SHARD,        /* one member's shard only */
  SL_FORM_SHARD_IN_FLAT /* the flat space, of which only the member's shard is valid after the reduction (stage 1) */
};

enum { SL_OP_DIMS = 6 };

struct sl_op {
  enum sl_op_kind kind;
  enum sl_lane lane;
  enum sl_group group;       /* of a collective, else SL_GROUP_NONE */
  enum sl_group place_group; /* whose index moves shard_stride slices; SL_GROUP_NONE: nothing moves */
  enum sl_dtype dtype;       /* of the data (gemm: of a, b and c; accumulation is fp32 or wider) */
  enum sl_phase phase;
  enum sl_payload payload; /* of a communication op, and of a copy between memories */
  unsigned flags;
  int32_t slice, slice_count; /* operands: program->slices[slice ...] */
  int64_t dim[SL_OP_DIMS];
  double scale;   /* classifier, mse: gradient scale; norm: factor; fill: value; norms of rows: epsilon; rope: base */
  double dropout; /* probability; 0 = none */
  int32_t tensor; /* index in the stage's placed tensors (init, save: the tensor; else for names), or -1 */
  enum sl_role role; /* init, save: which of the tensor's states */
  int32_t stream;    /* dropout's stream id, unique per site of the model */
  int32_t layer;     /* block index for reports; -1 embedding, n_layer head */
  int32_t peer;      /* send, recv: pipeline rank of the other side; broadcast: root's index in the group */
};

/* An op on the compute lane, of no group and no tensor; what is not named here is 0. */
struct sl_op sl_op_plain(enum sl_op_kind kind, enum sl_dtype dtype, enum sl_phase phase);
/* The element-wise op that a gemm does in its epilogue, by itself: kind, type and shape. Kind SL_OP_COUNT: it has none. */
struct sl_op sl_op_epilogue(const struct sl_op *op);
/* What an op is called for readers: its kind's name, a gemm's with its epilogue ("gemm+gelu"). */
const char *sl_op_label(const struct sl_op *op);
