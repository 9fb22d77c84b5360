/* Shared by the files that lower a sharding strategy: binding (zero.c), the reduction of gradients (reduce.c), the
 * gathering of parameters (gather.c), the optimizer step (update.c). Internal to core/lower. */
#pragma once

#include "core/lower/build.h"
#include "core/lower/home.h"
#include "core/lower/onebit.h"
#include "core/lower/reduce.h"
#include "core/lower/sparse.h"
#include "core/lower/update.h"
#include "core/lower/zero.h"

/* Host memory through which data on NVMe is read and written. */
enum { SL_NVME_SETS = 3 };
struct sl_nvme_home {
  int32_t blocks[2];                           /* blocks in flight, of reads and of writes; -1: nothing is on NVMe */
  int32_t staged[SL_NVME_SETS][SL_ROLE_COUNT]; /* states of a sub-group, in `sets` sets */
  int sets;                                    /* 0: the optimizer's states are not on NVMe */
  bool gradients;                              /* the gradients of those states are on NVMe too */
  int32_t *pool;                               /* (pool_count) buffers of a parameter's part; owned */
  int pool_count;                              /* 0: parameters are not on NVMe */
};

/* Where the strategy keeps gradients and gathered parameters: buffers made with the drafts, -1 if there is none. */
struct sl_homes {
  int32_t flat;             /* whole gradients; none if they are sharded */
  int32_t half;             /* the same in 16 bits, as in DDP's buckets; see kernels.h, keeps_gradients. -1: none */
  int32_t beside;           /* DeepSpeed's buckets where whole gradients are kept; -1: none */
  int32_t arrived;          /* own part in the communicated type, if that differs from the accumulate type */
  int32_t summed, restored; /* sums in host memory, and where they come to be added to, see host_sum.h */
  bool by_call;             /* own parts arrive in a buffer of their call, see arrives_by_call in lower/reduce.c */
  int32_t *persistent;      /* per unit: its persistent whole copy */
  int32_t *unsharded;       /* per stage and unit: the copy that UNSHARD makes */
  int32_t secondary;        /* this rank's part of the second copy */
  int64_t *secondary_part;  /* per unit: the offset of its part there */
  int32_t worker_error, server_error; /* of 1-bit Adam */
  struct sl_nvme_home nvme;
};

/* State that changes as passes are lowered. */
struct sl_zero {
  struct sl_reduce *reduce;
  struct sl_gather *gather; /* NULL: parameters are whole */
  struct sl_ahead *ahead;   /* (units) NULL: parameters are whole from the end of the step before */
  int32_t *lists;           /* (members) buffers of a gather of updated parameters, while it is emitted; see lists.h */
  struct sl_operand *wide;  /* memory for the operands of a coalesced call */
  int pool_next;            /* the next of nvme.pool, in turn */
  bool compressed;          /* the program is a compressed step: gradients stay on each rank */
  bool evaluates;           /* the program is forward only, without dropout */
};

/* An op on the compute lane / a collective on its group's lane, everything else at its default. */
struct sl_op sl_zero_op(enum sl_op_kind kind, enum sl_dtype dtype, enum sl_phase phase, int64_t count);
struct sl_op sl_zero_collective(const struct sl_lowering *lowering, enum sl_op_kind kind, enum sl_group group,
                                enum sl_dtype dtype, enum sl_phase phase, enum sl_payload payload, int64_t count);
/* Does compute wait for a collective of the strategy? In a pipeline none blocks, so that none delays the next stage. */
bool sl_zero_blocks(const struct sl_lowering *lowering);
/* This rank's part of a unit in a whole buffer; it depends on the rank's index in the shard group of the unit's
 * parameters. */
struct sl_operand sl_zero_own(const struct sl_lowering *lowering, int32_t buffer, enum sl_access access,
                              const struct sl_unit *unit);
/* target = source, or += with `add`; both sides keep their own element types. The lane follows from their memory: the
 * compute lane within a space, a link's lane between two. */
enum sl_status sl_zero_convert(const struct sl_lowering *lowering, struct sl_program *program, struct sl_operand source,
                               struct sl_operand target, int64_t count, enum sl_phase phase, bool add);
/* The buffer of a state, in its role's form. */
enum sl_status sl_zero_state(struct sl_lowering *lowering, enum sl_role role, enum sl_role_form form,
                             enum sl_scope scope, enum sl_category category, enum sl_dtype dtype, const char *name);

/* Gathers one unit's updated parameters from its parts, or broadcasts it from its owner. */
enum sl_status sl_zero_gather_unit(struct sl_lowering *lowering, struct sl_program *program, const struct sl_unit *unit,
                                   enum sl_phase phase);

/* ---- data on NVMe (nvme.c) ---- */
/* Makes the buffers for what the strategy keeps on NVMe, and places the parameter shards that were just made there.
 * Errors: SL_ERR_INPUT: a buffer of the configuration is too small. */
enum sl_status sl_nvme_open_params(struct sl_lowering *lowering);
enum sl_status sl_nvme_open_optimizer(struct sl_lowering *lowering);
/* Reads the part of a parameter shard on NVMe into the next buffer of the pool: *part becomes that. */
enum sl_status sl_nvme_read_param(struct sl_lowering *lowering, struct sl_program *program, enum sl_phase phase,
                                  struct sl_operand *part, int64_t count);

/* ---- gathering of sharded parameters ---- */
/* Without a pipeline, a trace of one micro-batch's uses, forward then backward, decides what to gather before an op and
 * what to release after it. With one, forwards and backwards of many micro-batches are interleaved, and the schedule
 * says when a whole stage is gathered (UNSHARD); so too if a backward is split, since anything may come between its
 * halves. */
enum sl_status sl_gather_open(struct sl_lowering *lowering);
enum sl_status sl_gather_start(struct sl_lowering *lowering);
void sl_gather_stop(struct sl_lowering *lowering);
/* Are parameters gathered op by op? */
bool sl_gather_traces(const struct sl_lowering *lowering);
/* Makes the buffers for what UNSHARD gathers of the current stage, whose drafts must exist. */
enum sl_status sl_gather_open_stage(struct sl_lowering *lowering);
/* Gathers all of the current stage, one call for each unit; `again`: the step has done so before. */
enum sl_status sl_gather_stage(struct sl_lowering *lowering, struct sl_program *program, bool again);
/* Starts a forward; starts its backward (what the forward kept is still gathered). */
enum sl_status sl_gather_begin(struct sl_lowering *lowering);
enum sl_status sl_gather_resume(struct sl_lowering *lowering);
/* Appends the gathers that `draft` and the prefetch need; sl_gather_after releases what is not needed soon. */
enum sl_status sl_gather_before(struct sl_lowering *lowering, struct sl_program *program, enum sl_phase phase,
                                const struct sl_draft *draft);
void sl_gather_after(struct sl_lowering *lowering, const struct sl_draft *draft);
/* Binds a parameter operand to where the whole tensor currently is. */
void sl_gather_bind(const struct sl_lowering *lowering, struct sl_operand *operand);
/* Gathers the parameters that are kept whole, after an update or initialisation. */
enum sl_status sl_gather_persistent(struct sl_lowering *lowering, struct sl_program *program, enum sl_phase phase);

/* ---- update ---- */
enum sl_status sl_update_open(struct sl_lowering *lowering);
