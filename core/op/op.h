/* An op: one kernel, collective, copy or update, with everything that a kernel and a cost model need of it. What follows from
 * an op by itself stands here: names, classes, flops, bytes moved. An op knows no program: where a function needs its
 * operands it gets them, as `slices`, in the order of SL_OP_MAP. */
#ifndef SL_CORE_OP_OP_H
#define SL_CORE_OP_OP_H

#include "core/base/dtype.h"
#include "core/op/group.h"

#include <stdbool.h>
#include <stdint.h>

/* The first SL_GROUP_COUNT communication lanes follow SL_GROUP_MAP: lane = SL_LANE_TP + group. */
#define SL_LANE_MAP(X)                                                                                                 \
  X(COMPUTE, "compute")                                                                                                \
  X(TP, "tp")                                                                                                          \
  X(DP, "dp")                                                                                                          \
  X(SHARD, "shard")                                                                                                    \
  X(REPLICATE, "replicate")                                                                                            \
  X(CP, "cp")                                                                                                          \
  X(MODEL, "model")                                                                                                    \
  X(WORLD, "world")                                                                                                    \
  X(EMBED, "embed")                                                                                                    \
  X(SECONDARY, "secondary")                                                                                            \
  X(SEND_F, "send_f")                                                                                                  \
  X(RECV_F, "recv_f")                                                                                                  \
  X(SEND_B, "send_b")                                                                                                  \
  X(RECV_B, "recv_b")                                                                                                  \
  X(H2D, "host_to_device")                                                                                             \
  X(D2H, "device_to_host")                                                                                             \
  X(HOST, "host_optimizer")                                                                                            \
  X(NVME, "nvme")

enum sl_lane {
#define X(name, text) SL_LANE_##name,
  SL_LANE_MAP(X)
#undef X
      SL_LANE_COUNT
};
const char *sl_lane_name(enum sl_lane lane);

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

/* Every op. Operands stand in the order given here; r reads, w writes, + reads and writes (a gradient is + when the op
 * accumulates, w when it overwrites; the slice's access says which). dim[] holds the shape named in the last column.
 * Letters: B sequences, T tokens, R = B*T rows, C channels, V vocabulary, P positions, H heads, D head size, G key/value
 * heads, N elements. qkv, dqkv: rows (q | k | v) of (H + 2G) D, or with SL_OP_APART three operands. place: the rank's
 * index in the op's place_group, 0 without one. Of the ranks of place_group tp, which compute the same loss (mse,
 * classifier, classifier_shard), place 0 alone adds it to control. mask: with SL_OP_MASK, dropout's, a byte an element, which
 * forward writes and backward reads (without it both draw); attention keeps the dropped probabilities beside it.
 *   kind, text, class, operands, dim */
/* clang-format off */
#define SL_OP_MAP(X)                                                                                                                                              \
  /* model */                                                                                                                                                     \
  X(LOAD_BATCH,     "load_batch",          CONTROL)     /* w inputs, w targets                                                                  B T            */ \
                                                        /*   with SL_OP_INPUTS_ONLY or SL_OP_TARGETS_ONLY, that operand alone                                  */ \
  X(EMBED_FWD,      "embed",               ELEMENTWISE) /* r tokens, r wte [, r wpe], w out [, w mask]                                          B T C V        */ \
                                                        /*   place_group tp: the table holds rows [place V, place V + V); other tokens: zero rows              */ \
  X(EMBED_BWD,      "embed_bwd",           ELEMENTWISE) /* r tokens, r dout, w/+ dwte [, w/+ dwpe] [, r mask]                                   B T C V P      */ \
  X(LAYERNORM_FWD,  "layernorm",           ELEMENTWISE) /* r x, r weight, r bias, w out, w stats(2,R)                                           R C            */ \
  X(LAYERNORM_BWD,  "layernorm_bwd",       ELEMENTWISE) /* r dout, r x, r weight, r stats, w/+ dx, w/+ dweight, w/+ dbias, w scratch            R C            */ \
                                                        /*   with SL_OP_INPUT_GRAD: r dout, r x, r weight, r stats, w/+ dx                                     */ \
                                                        /*   with SL_OP_WEIGHT_GRAD: r dout, r x, r stats, w/+ dweight, w/+ dbias, w scratch                   */ \
  X(RMSNORM_FWD,    "rmsnorm",             ELEMENTWISE) /* r x, r weight, w out, w stats(R)                                                     R C            */ \
  X(RMSNORM_BWD,    "rmsnorm_bwd",         ELEMENTWISE) /* r dout, r x, r weight, r stats, w/+ dx, w/+ dweight, w scratch                       R C            */ \
                                                        /*   with either flag as above; it has no dbias                                                        */ \
  X(ROPE,           "rope",                ELEMENTWISE) /* + x: the heads of every token turned by its position                                 B T H D        */ \
  X(GEMM,           "gemm",                GEMM)        /* r a, r b, w/+ c [, r bias] [, w/r aux] [, w dbias] [, w workspace]                   m n k          */ \
                                                        /*   the flags say which of them there are, and what it does besides; see sl_gemm_operands              */ \
  X(BIAS_FWD,       "bias",                ELEMENTWISE) /* + x, r bias                                                                          R C            */ \
  X(BIAS_BWD,       "bias_bwd",            ELEMENTWISE) /* r dout, w/+ dbias                                                                    R C            */ \
  X(ATTENTION_FWD,  "attention",           ATTENTION)   /* r qkv, w out, w probs [, w dropped, w mask], w scratch                               B T H D G      */ \
  X(ATTENTION_BWD,  "attention_bwd",       ATTENTION)   /* r dout, r qkv, r probs [, r dropped, r mask], w dqkv, w scratch                      B T H D G      */ \
  X(FLASH_FWD,      "flash_attention",     ATTENTION)   /* r qkv, w out, w lse(B,H,T), w scratch                                                B T H D G      */ \
  X(FLASH_BWD,      "flash_attention_bwd", ATTENTION)   /* r dout, r qkv, r out, r lse, w dqkv, w scratch                                       B T H D G      */ \
  X(GELU_FWD,       "gelu",                ELEMENTWISE) /* r x, w out                                                                           R C            */ \
  X(GELU_BWD,       "gelu_bwd",            ELEMENTWISE) /* + dout (becomes dx), r x                                                             R C            */ \
  X(SWIGLU_FWD,     "swiglu",              ELEMENTWISE) /* r gate, r up, w out                                                                  R C            */ \
  X(SWIGLU_BWD,     "swiglu_bwd",          ELEMENTWISE) /* r dout, + gate, + up (become their gradients)                                        R C            */ \
  X(RESIDUAL_FWD,   "residual",            ELEMENTWISE) /* r residual, r x, w out = residual+dropout(x) [, w mask]                              R C            */ \
                                                        /*   with SL_OP_BIAS: r residual, r x, r bias, w out = residual+dropout(x+bias) [, w mask]             */ \
                                                        /*   place_group tp: rows [place R, place R + R) of the micro-batch (dropout has the same)             */ \
  X(DROPOUT,        "dropout",             ELEMENTWISE) /* r x, w out [, w/r mask]: masked and scaled, forward (w) as backward (r)              R C            */ \
  X(CLASSIFIER,     "classifier",          ELEMENTWISE) /* + logits (become dlogits), r targets, + control                                      R V Vt         */ \
  X(CLASSIFIER_STATS, "classifier_stats", ELEMENTWISE)  /* r logits, r targets, w stats(R,3): row max, sum of exp(x - max), target logit        R V Vt         */ \
  X(CLASSIFIER_SHARD, "classifier_shard", ELEMENTWISE)  /* + logits (become dlogits), r targets, r stats(P,R,3), + control                      R V Vt P       */ \
                                                        /*   all hold columns [place V, place V + V) of Vt, beyond which they are padding; P members           */ \
  X(RELU_FWD,       "relu",                ELEMENTWISE) /* + x in place                                                                         R C            */ \
  X(RELU_BWD,       "relu_bwd",            ELEMENTWISE) /* + dout in place, r out                                                               R C            */ \
  X(MSE,            "mse",                 ELEMENTWISE) /* + prediction (becomes its gradient), r targets, + control, w scratch                 R C            */ \
  /* state */                                                                                                                                                     \
  X(FILL,           "fill",                ELEMENTWISE) /* w x = scale                                                                          N              */ \
  X(COPY,           "copy",                ELEMENTWISE) /* r x, w out                                                                           N              */ \
  X(ADD,            "add",                 ELEMENTWISE) /* r x, + out                                                                           N              */ \
  X(CONCAT_COLUMNS, "concat_columns",      ELEMENTWISE) /* r x(P,R,C), w out(R,P*C)                                                             R C P          */ \
  X(SPLIT_COLUMNS,  "split_columns",       ELEMENTWISE) /* r x(R,P*C), w out(R,C): columns [place C, place C + C)                               R C P          */ \
  X(NORM,           "norm",                OPTIMIZER)   /* r gradient, + control: scale * sum of squares, w scratch                             N              */ \
                                                        /*   with SL_OP_SHARE_RANGE: x is [place stride, +N) of a flat space; [lo, hi) counts   N lo hi stride */ \
  X(CONTROL,        "control",             CONTROL)     /* + control: loss, norm, clip factor, next step                                        -              */ \
  X(SGD,            "sgd",                 OPTIMIZER)   /* + master, r gradient, [+ momentum,] r control [, w param]                            N              */ \
  X(ADAM,           "adam",                OPTIMIZER)   /* + master, r gradient, + m, + v, r control [, w param]                                N              */ \
  X(ADAMW,          "adamw",               OPTIMIZER)   /* + master, r gradient, + m, + v, r control [, w param]                                N              */ \
  X(INIT_TENSOR,    "init_tensor",         CONTROL)     /* w piece of `tensor`: seeded or from a file                                           first N        */ \
  X(SAVE_TENSOR,    "save_tensor",         CONTROL)     /* r piece of `tensor`                                                                  first N        */ \
  X(JOIN,           "join",                CONTROL)     /* waits for every lane: the end of a program                                           -              */ \
  /* communication: N = elements of all parts' whole sides; see sl_share_piece */                                                                                 \
  X(ALL_REDUCE,     "all_reduce",          COLLECTIVE)  /* + x, in place (one operand a part)                                                   N              */ \
  X(REDUCE_SCATTER, "reduce_scatter",      COLLECTIVE)  /* (+ whole, garbage after, w/+ shard) a part                                           N lo hi stride */ \
  X(ALL_GATHER,     "all_gather",          COLLECTIVE)  /* (r shard, w whole) a part                                                            N lo hi stride */ \
  X(BROADCAST,      "broadcast",           COLLECTIVE)  /* + x (root reads, others write)                                                       N              */ \
  X(SEND,           "send",                P2P)         /* r x                                                                                  N              */ \
  X(RECV,           "recv",                P2P)         /* w x                                                                                  N              */
/* clang-format on */

enum sl_op_kind {
#define X(name, text, op_class) SL_OP_##name,
  SL_OP_MAP(X)
#undef X
      SL_OP_COUNT
};
const char *sl_op_name(enum sl_op_kind kind);
enum sl_op_class sl_op_class_of(enum sl_op_kind kind);

enum sl_op_flag {
  SL_OP_TRANS_A = 1,          /* gemm: a is stored (k, m) */
  SL_OP_TRANS_B = 2,          /* gemm: b is stored (n, k) */
  SL_OP_AFTER_COMPUTE = 4,    /* starts no earlier than the compute op before it in program order has finished */
  SL_OP_BLOCKING = 8,         /* the next compute op waits for it (a collective that does not overlap) */
  SL_OP_SHARE_CHUNK = 16,     /* reduce_scatter, all_gather: how members share; see sl_share_piece */
  SL_OP_SHARE_RANGE = 32,     /* also norm: only a range of the flat space counts */
  SL_OP_BIAS = 64,            /* gemm: a bias follows c; residual: a bias follows x */
  SL_OP_WORKSPACE = 128,      /* gemm: fp32 copies of 16-bit operands go to a last operand (see program/workspace.h) */
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
  SL_OP_GELU = 65536,     /* c = gelu(a b + bias); what gelu was applied to goes to aux */
  SL_OP_DGELU = 131072,   /* c = (a b) gelu'(aux) */
  SL_OP_BGRAD_A = 262144, /* a, as it is stored, has k rows of m: dbias is their sum */
  SL_OP_BGRAD_B = 524288  /* b, as it is stored, has k rows of n: dbias is their sum */
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
  X(SCALAR, "scalar")
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

struct sl_op {
  enum sl_op_kind kind;
  enum sl_lane lane;
  enum sl_group group;       /* of a collective, else SL_GROUP_NONE */
  enum sl_group place_group; /* whose index moves shard_stride slices; SL_GROUP_NONE: nothing moves */
  enum sl_dtype dtype;       /* of the data (gemm: of a, b and c; accumulation is fp32 or wider) */
  enum sl_phase phase;
  enum sl_payload payload; /* of a communication op */
  unsigned flags;
  int32_t slice, slice_count; /* operands: program->slices[slice ...] */
  int64_t dim[5];
  double scale;   /* classifier, mse: gradient scale; norm: factor; fill: value; norms of rows: epsilon; rope: base */
  double dropout; /* probability; 0 = none */
  int32_t tensor; /* index in the stage's placed tensors (init, save: the tensor; else for names), or -1 */
  enum sl_role role; /* init, save: which of the tensor's states */
  int32_t stream;    /* dropout's stream id, unique per site of the model */
  int32_t layer;     /* block index for reports; -1 embedding, n_layer head */
  int32_t peer;      /* send, recv: pipeline rank of the other side; broadcast: root's index in the group */
};

/* Floating-point operations, and bytes read plus written in device memory, of one op; exact integers in double. */
double sl_op_flops(const struct sl_op *op);
double sl_op_bytes(const struct sl_op *op, const struct sl_slice *slices);
/* Which operands of a gemm stand where; -1: it has none. */
struct sl_gemm_operands {
  int bias, aux, dbias, workspace;
};
struct sl_gemm_operands sl_gemm_operands(const struct sl_op *op);
/* The element-wise op that a gemm does in its epilogue, by itself: kind, type and shape. Kind SL_OP_COUNT: it has none. */
struct sl_op sl_op_epilogue(const struct sl_op *op);
/* What an op is called for readers: its kind's name, a gemm's with its epilogue ("gemm+gelu"). */
const char *sl_op_label(const struct sl_op *op);

#endif
