/* The program: what one rank executes, as a list of single kernels, collectives, copies and updates.
 *
 * Ranks whose programs differ only by their coordinates share one program; together they are a class. An operand may
 * move by `shard_stride` times the rank's index in the op's group. Ops are lowered once per distinct action (a
 * segment); the schedule instantiates a segment for a micro-batch and its buffer slots. The issue list is that
 * expansion, 16 bytes an entry, in program order.
 *
 * Lanes are FIFO queues that run concurrently. A wait names a lane and how many of its ops must be complete; nothing
 * else orders two lanes. core/place/waits.c derives the waits from what ops read and write, and core/check/rendezvous.c
 * proves them independently. Read core/op/op.h first. */
#pragma once

#include "core/base/checked.h"
#include "core/base/status.h"
#include "core/op/op.h"
#include "core/plan/plan.h"
#include "core/schedule/action.h"

#include <stdbool.h>
#include <stdint.h>

/* One instance of an action of the schedule: where its ops start in the issue list. */
struct sl_instance {
  struct sl_action action;
  int32_t first_op, op_count; /* its segment: program->ops[first_op ...] */
  int32_t micro_batch;        /* -1: the action has none */
  int32_t slots; /* its slot numbers: program->slots[slots ...], those of IN, OUT and DX, then one of each pool */
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

/* EVAL is the forward of a global batch without dropout, and the sum of its loss; it has no ops without eval_interval
 * in the config. COMPRESSED is a step of 1-bit Adam after optimizer.params.freeze_step, which sends the momentum as
 * signs instead of reducing gradients; it has no ops unless the job has such steps. */
enum sl_program_kind {
  SL_PROGRAM_INIT,
  SL_PROGRAM_STEP,
  SL_PROGRAM_COMPRESSED,
  SL_PROGRAM_EVAL,
  SL_PROGRAM_SAVE,
  SL_PROGRAM_COUNT
};
static inline bool sl_program_is_step(enum sl_program_kind kind) {
  return kind == SL_PROGRAM_STEP || kind == SL_PROGRAM_COMPRESSED;
}
/* Is the traffic of this program reported? */
static inline bool sl_program_counts(enum sl_program_kind kind) {
  return sl_program_is_step(kind) || kind == SL_PROGRAM_EVAL;
}
/* Does the configuration have compressed steps? */
static inline bool sl_program_compresses(const struct sl_config *config) {
  return config->optimizer.type == SL_OPT_ONEBIT_ADAM;
}
/* The program of the step that follows `applied` steps; steps skipped because of an overflow are not counted. */
static inline enum sl_program_kind sl_program_of_step(const struct sl_config *config, int64_t applied) {
  const bool compressed = sl_program_compresses(config) && applied >= config->optimizer.freeze_step;
  return compressed ? SL_PROGRAM_COMPRESSED : SL_PROGRAM_STEP;
}

/* A run of issues that repeats: the `length` issues from `first` on are followed by `times` further copies, which are
 * not stored. All 0: nothing repeats. */
struct sl_repetition {
  size_t first, length;
  uint32_t times;
  uint32_t instances, lane_ops[SL_LANE_COUNT]; /* of one copy */
};

struct sl_program {
  enum sl_program_kind kind;
  struct sl_op *ops;
  struct sl_slice *slices;
  struct sl_instance *instances;
  struct sl_issue *issues;
  struct sl_wait *waits;
  int32_t *slots; /* slot numbers of the instances */
  size_t op_count, slice_count, instance_count, issue_count, wait_count, slot_count;
  size_t op_capacity, slice_capacity, instance_capacity, issue_capacity, wait_capacity, slot_capacity;
  uint32_t lane_ops[SL_LANE_COUNT]; /* ops of each lane */
  struct sl_repetition repeated;    /* used only with sl_build_options.repeated; issue_count counts the copies too */
};

/* An issue of the expanded list: the stored issue, and the number of the copy that it stands for (0: the stored run
 * itself). */
struct sl_issue_ref {
  const struct sl_issue *stored;
  uint32_t turn;
};

/* Number of issues that are not stored. */
static inline size_t sl_issues_repeated(const struct sl_program *program) {
  return program->repeated.times * program->repeated.length;
}

/* Issue `i` of the expanded list. */
static inline struct sl_issue_ref sl_issue_find(const struct sl_program *program, size_t i) {
  const struct sl_repetition *r = &program->repeated;
  if (program->issues == NULL) return (struct sl_issue_ref){0}; /* of a program that has none, the end */
  if (r->times == 0) return (struct sl_issue_ref){&program->issues[i], 0};
  const size_t end = r->first + r->length, repeated = sl_issues_repeated(program);
  if (i < end) return (struct sl_issue_ref){&program->issues[i], 0};
  if (i >= end + repeated) return (struct sl_issue_ref){&program->issues[i - repeated], 0};
  const uint32_t behind = (uint32_t)(i - end), length = (uint32_t)r->length; /* short numbers divide faster */
  return (struct sl_issue_ref){&program->issues[r->first + behind % length], behind / length + 1};
}

/* The number of an issue in the expanded list. */
static inline uint32_t sl_issue_number(const struct sl_program *program, struct sl_issue_ref at) {
  const struct sl_repetition *r = &program->repeated;
  const size_t i = (size_t)(at.stored - program->issues);
  return (uint32_t)(i < r->first + r->length ? i + at.turn * r->length : i + sl_issues_repeated(program));
}

/* Behind the stored run that repeats; NULL: nothing repeats. */
static inline const struct sl_issue *sl_issues_turn(const struct sl_program *program) {
  const struct sl_repetition *r = &program->repeated;
  return r->times > 0 ? &program->issues[r->first + r->length] : NULL;
}

/* Advances to the next issue of the expanded list; `turn`: sl_issues_turn, which a loop asks for once. */
static inline void sl_issue_step(const struct sl_program *program, const struct sl_issue *turn,
                                 struct sl_issue_ref *at) {
  if (++at->stored != turn) return;
  const struct sl_repetition *r = &program->repeated;
  if (at->turn < r->times) {
    at->stored -= r->length, at->turn++;
  } else {
    at->turn = 0;
  }
}

static inline void sl_issue_next(const struct sl_program *program, struct sl_issue_ref *at) {
  sl_issue_step(program, sl_issues_turn(program), at);
}

static inline uint32_t sl_issue_instance(const struct sl_program *program, struct sl_issue_ref at) {
  return at.stored->instance + at.turn * program->repeated.instances;
}

static inline struct sl_wait sl_issue_wait(const struct sl_program *program, struct sl_issue_ref at, uint32_t i) {
  const struct sl_wait w = program->waits[at.stored->wait + i];
  return (struct sl_wait){w.lane, w.count + at.turn * program->repeated.lane_ops[w.lane]};
}

static inline uint32_t sl_issue_lane_index(const struct sl_program *program, struct sl_issue_ref at) {
  return at.stored->lane_index + at.turn * program->repeated.lane_ops[program->ops[at.stored->op].lane];
}

static inline const struct sl_op *sl_issue_op(const struct sl_program *program, size_t i) {
  return &program->ops[sl_issue_find(program, i).stored->op];
}

/* The memory that programs use. */
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

enum { SL_ALIGN = 256 }; /* bytes: every buffer starts at a multiple of this in its arena */
/* The bytes that a buffer takes there. */
static inline int64_t sl_aligned(int64_t bytes) {
  return sl_round_up(bytes, SL_ALIGN);
}

/* For how long the contents of a buffer stay the same object; the arena planner reuses memory between these
 * lifetimes. */
enum sl_scope {
  SL_SCOPE_PERSISTENT, /* across steps */
  SL_SCOPE_PROGRAM,    /* one lifetime per program: from its first to its last use */
  SL_SCOPE_MICRO,      /* one lifetime per micro-batch */
  SL_SCOPE_WRITTEN     /* a new lifetime whenever it is overwritten, whatever the micro-batch (gathered parameters) */
};

struct sl_buffer {
  char name[64];
  enum sl_category category;
  enum sl_space space;
  enum sl_dtype dtype;
  bool persistent; /* lives across steps; placed first, never shared */
  int64_t bytes;   /* of one slot */
  int32_t slots;
  enum sl_slot slot; /* what selects a slot, unless a slice says otherwise */
  int32_t pool;      /* the pool that its slots come from, where `slot` is ACTIVATION or later */
  /* its slots' arena offsets: class->slot_offsets[first_slot ...]; equal buffers of several stages use the same slots,
   * of which each micro-batch of each stage has its own */
  int32_t first_slot;
  /* Above 0: it has no lifetime of its own. It consists of the `pieces` buffers behind it, which have; no op names
   * those. `piece`: is it one of them? Its first byte is byte `piece_at` of the whole, a multiple of SL_ALIGN. */
  int32_t pieces;
  bool piece;
  int64_t piece_at;
};

/* Work done to place a class, counted in steps that do not depend on the machine. */
struct sl_place_work {
  uint64_t derived;  /* issues whose waits were derived; the others repeat those */
  uint64_t lives;    /* lifetimes of buffer slots recorded */
  uint64_t compared; /* pairs of lifetimes compared */
};

/* The ranks that share a program: all of a pipeline rank, or those of one dp coordinate of it. */
struct sl_class {
  int pp_rank;
  /* ranks between first and last may belong to other classes, see plan/coords.h */
  int rank_count, first_rank, last_rank;
  struct sl_buffer *buffers;
  size_t buffer_count, buffer_capacity;
  int64_t *slot_offsets; /* bytes from the arena's start, one per buffer slot */
  size_t slot_count;
  struct sl_program programs[SL_PROGRAM_COUNT];
  int64_t arena_bytes[SL_SPACE_COUNT];
  struct sl_memory_report *memory; /* SL_SPACE_COUNT of them, see core/program/memory_report.h */
  struct sl_requests *requests;    /* to a framework's allocator, until core/place has played them */
  struct sl_place_work work;
  int32_t control; /* index of the step state's buffer */
  struct {
    enum sl_role_form form;
    int32_t buffer;
    /* above 0: elements [0, split) of a shard are in `buffer`, the others in `rest`, which is of another memory
     * space */
    int64_t split;
    int32_t rest;
  } role[SL_ROLE_COUNT];
};

/* The buffer that holds an element of a state; *element becomes its index in that buffer. */
static inline int32_t sl_class_state(const struct sl_class *c, enum sl_role role, int64_t *element) {
  if (c->role[role].split == 0 || *element < c->role[role].split) return c->role[role].buffer;
  *element -= c->role[role].split;
  return c->role[role].rest;
}
/* Bytes of a state on a rank. */
static inline int64_t sl_class_state_bytes(const struct sl_class *c, enum sl_role role) {
  return c->buffers[c->role[role].buffer].bytes + (c->role[role].split > 0 ? c->buffers[c->role[role].rest].bytes : 0);
}

/* Everything that an executor needs: the plan and the programs of its classes. */
struct sl_job {
  const struct sl_plan *plan;
  struct sl_class *classes; /* by pipeline rank, then by dp coordinate where members differ */
  int class_count;
  int classes_per_pp_rank; /* 1, or dp where every member of a shard group has a program of its own */
  int threads;             /* threads that it was built on and may be checked on */
  /* Finds what a framework's allocator reserves, which is in the memory reports once it is joined (sl_parallel_join); NULL:
   * they have it, or there is none. */
  struct sl_parallel *reserving;
};

/* Options of sl_job_build: what programs do besides a step, and what is recorded about their memory. */
struct sl_build_options {
  bool save_params;  /* the save program writes parameters */
  bool save_grads;   /* gradients outlive the step, and the save program writes them */
  bool memory_curve; /* memory reports have a curve, a sample whenever the live set changes */
  int threads;       /* threads to build on; 0 and 1: only the caller's */
  bool repeated;     /* store repeated parts of a step once, for readers that use sl_issue_find and sl_issue_next */
  bool unplaced;     /* do not place buffers: the memory report has only live bytes, and there are no arenas */
  /* bytes; if > 0: a rank that has more of them live on the device at once ends the build with SL_DONE, before its
   * buffers are placed */
  int64_t most_live;
  /* job->reserving may still run when the job is built, which must then stay where it is */
  bool reserve_beside;
};

static inline int sl_job_class_at(const struct sl_job *job, struct sl_coord at) {
  return at.pp * job->classes_per_pp_rank + (job->classes_per_pp_rank > 1 ? sl_plan_dp_cp(job->plan, at) : 0);
}
static inline int sl_job_class_of(const struct sl_job *job, int rank) {
  return sl_job_class_at(job, sl_plan_coord(job->plan, rank));
}

/* Which of an instance's slot numbers says which of its buffer's slots a slice uses; -1: `buffer` has only one. */
static inline int32_t sl_slice_number(const struct sl_buffer *buffer, const struct sl_slice *slice) {
  if (buffer->slots == 1) return -1;
  return buffer->slot < SL_SLOT_ACTIVATION ? (int32_t)slice->slot : SL_SLOT_ACTIVATION + buffer->pool;
}

/* Which of its buffer's slots a slice of `buffer` uses in an instance. */
static inline int32_t sl_slice_slot(const struct sl_program *program, const struct sl_buffer *buffer,
                                    const struct sl_slice *slice, const struct sl_instance *instance) {
  const int32_t number = sl_slice_number(buffer, slice);
  return number < 0 ? 0 : program->slots[instance->slots + number];
}

/* The operands of an op of `program`; NULL if it has none. */
static inline const struct sl_slice *sl_op_slices(const struct sl_program *program, const struct sl_op *op) {
  return op->slice_count > 0 ? &program->slices[op->slice] : NULL;
}

/* Byte offset of operand `i` of `op` in the arena of its space, for a rank of index `place` in op->place_group. */
static inline int64_t sl_operand_offset(const struct sl_class *c, const struct sl_program *p,
                                        const struct sl_instance *n, const struct sl_op *op, int i, int place) {
  const struct sl_slice *s = &p->slices[op->slice + i];
  const struct sl_buffer *b = &c->buffers[s->buffer];
  return c->slot_offsets[b->first_slot + sl_slice_slot(p, b, s, n)] + s->offset + place * s->shard_stride;
}
