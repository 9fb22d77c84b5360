/* The program: what one rank executes, at the granularity of one kernel, collective, copy or update.
 *
 * Ranks whose programs differ only by their coordinates share one program (a class): a slice may move by `shard_stride`
 * times the rank's place in the op's group. Ops are lowered once per distinct action (a segment) and instantiated by
 * the schedule with a micro-batch and a buffer slot; the issue list is that expansion, 16 bytes an entry, in program
 * order.
 *
 * Lanes are FIFO and run concurrently. A wait names a lane and how many of its ops must be complete; nothing else
 * orders two lanes. core/place/waits.c derives the waits from what ops read and write, core/check/rendezvous.c proves them anew. */
#ifndef SL_CORE_PROGRAM_PROGRAM_H
#define SL_CORE_PROGRAM_PROGRAM_H

#include "core/base/dtype.h"
#include "core/plan/plan.h"
#include "core/schedule/action.h"
#include "core/base/status.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

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

/* One action of the schedule, instantiated: where its ops start in the issue list. */
struct sl_instance {
  struct sl_action action;
  int32_t first_op, op_count; /* its segment: program->ops[first_op ...] */
  int32_t micro_batch;        /* -1: the action has none */
  int32_t slots; /* its slots' numbers: program->slots[slots ...], those of IN, OUT and DX, then one of each pool */
};

struct sl_wait {
  uint32_t lane;
  uint32_t count; /* ops of `lane` that must be complete */
};

struct sl_issue {
  uint32_t op, instance;
  uint32_t wait;                            /* program->waits[wait ...] */
  uint32_t wait_count : 8, lane_index : 24; /* index of this op in its lane, from 0 */
};

enum sl_program_kind { SL_PROGRAM_INIT, SL_PROGRAM_STEP, SL_PROGRAM_SAVE, SL_PROGRAM_COUNT };

struct sl_program {
  enum sl_program_kind kind;
  struct sl_op *ops;
  struct sl_slice *slices;
  struct sl_instance *instances;
  struct sl_issue *issues;
  struct sl_wait *waits;
  int32_t *slots; /* of the instances */
  size_t op_count, slice_count, instance_count, issue_count, wait_count, slot_count;
  size_t op_capacity, slice_capacity, instance_capacity, issue_capacity, wait_capacity, slot_capacity;
  uint32_t lane_ops[SL_LANE_COUNT]; /* ops of each lane */
};

/* Memory. */
#define SL_CATEGORY_MAP(X)                                                                                             \
  X(PARAMETER, "parameter")                                                                                            \
  X(GRADIENT, "gradient")                                                                                              \
  X(OPTIMIZER, "optimizer")                                                                                            \
  X(ACTIVATION, "activation")                                                                                          \
  X(COMMUNICATION, "communication")                                                                                    \
  X(WORKSPACE, "workspace")
enum sl_category {
#define X(name, text) SL_CATEGORY_##name,
  SL_CATEGORY_MAP(X)
#undef X
      SL_CATEGORY_COUNT
};
const char *sl_category_name(enum sl_category category);

enum sl_space { SL_SPACE_DEVICE, SL_SPACE_HOST, SL_SPACE_NVME, SL_SPACE_COUNT };
const char *sl_space_name(enum sl_space space);

enum { SL_ALIGN = 256 }; /* bytes: every buffer starts on such a boundary of the arena */

struct sl_buffer {
  char name[64];
  enum sl_category category;
  enum sl_space space;
  enum sl_dtype dtype;
  bool persistent; /* lives across steps; placed first, never shared */
  int64_t bytes;   /* of one slot */
  int32_t slots;
  enum sl_slot slot; /* what chooses among them, unless a slice says otherwise */
  int32_t pool;      /* that its slots come from, where `slot` is ACTIVATION or a later one */
  int32_t
      first_slot; /* its slots' arena offsets: class->slot_offsets[first_slot ...]; equal buffers of several chunks have
                         the same slots, of which each micro-batch of each chunk holds its own */
};

/* The ranks that share a program: those of a pipeline rank, or of one dp coordinate of it. */
struct sl_class {
  int stage; /* pipeline rank */
  int rank_count, first_rank;
  struct sl_buffer *buffers;
  size_t buffer_count, buffer_capacity;
  int64_t *slot_offsets; /* bytes from the arena's start, one per buffer slot */
  size_t slot_count;
  struct sl_program programs[SL_PROGRAM_COUNT];
  int64_t arena_bytes[SL_SPACE_COUNT];
  struct sl_memory_report *memory; /* SL_SPACE_COUNT of them: what is live when; see core/place/memory_report.h */
  int32_t control;                 /* the control buffer */
  struct {
    enum sl_role_form form;
    int32_t buffer;
  } role[SL_ROLE_COUNT];
};

/* Everything that an executor needs: the plan and its classes' programs. */
struct sl_job {
  const struct sl_plan *plan;
  struct sl_class *classes; /* by pipeline stage, then by dp coordinate where members differ */
  int class_count;
  int classes_per_stage; /* 1, or dp where every member of a shard group has a program of its own */
};

static inline int sl_job_class_of(const struct sl_job *job, int rank) {
  const struct sl_coord at = sl_plan_coord(job->plan, rank);
  return at.pp * job->classes_per_stage + (job->classes_per_stage > 1 ? at.dp : 0);
}

/* Where the elements [first, first + count) of one tensor's state, counted in the rank's local tensor (after tp; see
 * sl_plan_logical_run), stand on a rank: `offset` bytes into slot 0 of `buffer`. `writer`: this rank is the one of its replicas that writes them when saving. count 0: the rank holds none
 * of it. */
struct sl_located {
  int32_t buffer;
  int64_t offset, first, count;
  bool writer;
};
struct sl_located sl_job_locate(const struct sl_job *job, int rank, enum sl_role role, int placed);

struct sl_build_options {
  bool save_params; /* the save program writes parameters */
  bool save_grads;  /* gradients outlive the step and the save program writes them */
};
/* Schedule, lower, link and place: the whole way from a plan to programs. `plan` must outlive the job. */
enum sl_status sl_job_build(struct sl_job *job, const struct sl_plan *plan, const struct sl_build_options *options);
void sl_job_free(struct sl_job *job);

/* How the members of a group share part `part` of a reduce_scatter or all_gather (operands 2 part and 2 part + 1 = the
 * whole side and the member's shard; for all_gather shard first, whole second). Member g's piece, in elements:
 *   even (no flag)      all of its shard operand: [g*P, (g+1)*P) of the whole, P = elements of the shard operand;
 *   SL_OP_SHARE_CHUNK   [g*stride + lo, g*stride + hi) of the whole, [lo, hi) of the shard: DeepSpeed's chunked
 *                       all-gather;
 *   SL_OP_SHARE_RANGE   [lo, hi) cut by [g*stride, (g+1)*stride): a bucket of a flat partitioned gradient that goes to
 *                       its owners. The parts' whole sides are [lo, hi) one after the other, wherever each lies; every
 *                       shard operand starts at flat element g*stride.
 * dim[0] = elements of all parts' whole sides, dim[1] = lo, dim[2] = hi, dim[3] = stride (the last three unless even).
 */
struct sl_share {
  int64_t whole_first, shard_first, count;
};
struct sl_share sl_share_piece(const struct sl_program *program, const struct sl_op *op, int part, int member);
/* Parts of a collective: operand pairs, or operands of an all_reduce or broadcast. */
int sl_op_parts(const struct sl_op *op);

/* The number, among its buffer's, of the slot that a slice of `buffer` means in an instance. */
static inline int32_t sl_slice_slot(const struct sl_program *program, const struct sl_buffer *buffer,
                                    const struct sl_slice *slice, const struct sl_instance *instance) {
  if (buffer->slots == 1) return 0;
  const int32_t number = buffer->slot < SL_SLOT_ACTIVATION ? (int32_t)slice->slot : SL_SLOT_ACTIVATION + buffer->pool;
  return program->slots[instance->slots + number];
}

/* Address of operand `i` of `op` in the arena of its space, for a rank at `place` in op->place_group. */
static inline int64_t sl_operand_offset(const struct sl_class *c, const struct sl_program *p,
                                        const struct sl_instance *n, const struct sl_op *op, int i, int place) {
  const struct sl_slice *s = &p->slices[op->slice + i];
  const struct sl_buffer *b = &c->buffers[s->buffer];
  return c->slot_offsets[b->first_slot + sl_slice_slot(p, b, s, n)] + s->offset + place * s->shard_stride;
}

/* Floating-point operations, and bytes read plus written in device memory, of one op; exact integers in double. */
double sl_op_flops(const struct sl_op *op);
double sl_op_bytes(const struct sl_program *program, const struct sl_op *op);
/* nccl-tests' size of a collective or send: the larger of send and receive buffer, bytes; see PERFORMANCE.md there. */
int64_t sl_op_comm_bytes(const struct sl_op *op);
/* Bytes that member `index` of a ring of `members` puts on the wire. Per part: a reduce_scatter sends every piece but
 * the one it owns (it forwards piece g for every g != index), an all_gather every piece but its successor's, an
 * all_reduce does both over sl_ring_piece cuts; a broadcast or send: the bytes, where the member sends at all. Exact
 * for uneven pieces. */
int64_t sl_op_wire_bytes(const struct sl_program *program, const struct sl_op *op, int members, int index);
/* The most that any member puts on the wire: a ring is as slow as its busiest link. */
double sl_op_most_wire_bytes(const struct sl_program *program, const struct sl_op *op, int members);
/* Where a ring cuts `n` elements of an all-reduce for its members: member g has [*first, *first + *count). */
void sl_ring_piece(int64_t n, int members, int member, int64_t *first, int64_t *count);

/* Which operands of a gemm stand where; -1: it has none. */
struct sl_gemm_operands {
  int bias, aux, dbias, workspace;
};
struct sl_gemm_operands sl_gemm_operands(const struct sl_op *op);
/* The element-wise op that a gemm does in its epilogue, by itself: kind, type and shape. Kind SL_OP_COUNT: it has none. */
struct sl_op sl_op_epilogue(const struct sl_op *op);
/* What an op is called for readers: its kind's name, a gemm's with its epilogue ("gemm+gelu"). */
const char *sl_op_label(const struct sl_op *op);

/* Print the program of `rank`, one op a line: index, lane, action, kind, operands, waits. */
void sl_program_print(const struct sl_job *job, int rank, enum sl_program_kind kind, FILE *out);

#endif
