/* What the files that lower a sharding strategy share: binding (zero.c), the reduction of gradients (reduce.c), the gathering
 * of parameters (gather.c), the optimizer step (update.c). Internal to this room. */
#pragma once

#include "core/lower/build.h"
#include "core/lower/home.h"
#include "core/lower/onebit.h"
#include "core/lower/reduce.h"
#include "core/lower/sparse.h"
#include "core/lower/update.h"
#include "core/lower/zero.h"

/* Host memory through which what lives on NVMe is read and written. */
enum { SL_NVME_SETS = 3 };
struct sl_nvme_home {
  int32_t blocks[2];                           /* on their way: of reads, of writes; -1: nothing lives on NVMe */
  int32_t staged[SL_NVME_SETS][SL_ROLE_COUNT]; /* states of a sub-group, in `sets` sets */
  int sets;                                    /* 0: the optimizer's states do not live there */
  bool gradients;                              /* those of the states there do, too */
  int64_t group;                               /* elements of a sub-group at most */
  int32_t *pool;                               /* (pool_count) buffers of a parameter's part; owned */
  int pool_count;                              /* 0: parameters do not live there */
};

/* Where the strategy keeps gradients and gathered parameters: buffers made with the drafts, -1 where there is none. */
struct sl_homes {
  int32_t flat;            /* whole gradients, none when sharded */
  int32_t half;            /* the same in 16 bits, as DDP's buckets; see kernels.h, keeps_gradients. -1: none */
  int32_t arrived;         /* own part in the wire's type, where that differs from the accumulate type */
  bool by_call;            /* own parts go to host memory with each call, from a buffer of the call's */
  int32_t *persistent;     /* per unit: its lasting whole copy */
  int32_t *unsharded;      /* per stage and unit: the copy that UNSHARD makes */
  int32_t secondary;       /* this rank's part of the second copy */
  int64_t *secondary_part; /* per unit: where its part stands there */
  int32_t worker_error, server_error; /* of 1-bit Adam */
  struct sl_nvme_home nvme;
};

/* What changes as passes are lowered. */
struct sl_zero {
  struct sl_reduce *reduce;
  struct sl_gather *gather; /* NULL: parameters are whole */
  struct sl_ahead *ahead;   /* (units) NULL: they are so from the end of the step before */
  int32_t *lists;           /* (members) buffers of a gather of updated parameters, while it is emitted; see lists.h */
  struct sl_operand *wide;  /* room for the operands of a coalesced call */
  int pool_next;            /* of nvme.pool, in turn */
  bool compressed;          /* the program is that of a compressed step: gradients stay the rank's own */
  bool evaluates;           /* the program is forward only, without dropout */
};

/* An op on the compute lane / a collective on its group's lane, everything else at its default. */
struct sl_op sl_zero_op(enum sl_op_kind kind, enum sl_dtype dtype, enum sl_phase phase, int64_t count);
struct sl_op sl_zero_collective(const struct sl_lowering *lowering, enum sl_op_kind kind, enum sl_group group,
                                enum sl_dtype dtype, enum sl_phase phase, enum sl_payload payload, int64_t count);
/* This rank's part of a unit in a whole buffer, which moves with its place in the shard group of the unit's parameters. */
struct sl_operand sl_zero_own(const struct sl_lowering *lowering, int32_t buffer, enum sl_access access,
                              const struct sl_unit *unit);
/* target = source, or += with `add`; both sides keep their own element types. The lane follows from where they stand: the
 * compute lane inside a space, a link's lane between two. */
enum sl_status sl_zero_convert(const struct sl_lowering *lowering, struct sl_program *program, struct sl_operand source,
                               struct sl_operand target, int64_t count, enum sl_phase phase, bool add);
/* The buffer of a state, in its role's form. */
enum sl_status sl_zero_state(struct sl_lowering *lowering, enum sl_role role, enum sl_role_form form,
                             enum sl_scope scope, enum sl_category category, enum sl_dtype dtype, const char *name);

/* Gather one unit's updated parameters from its parts, or broadcast it from its owner. */
enum sl_status sl_zero_gather_unit(struct sl_lowering *lowering, struct sl_program *program, const struct sl_unit *unit,
                                   enum sl_phase phase);

/* ---- what lives on NVMe (nvme.c) ---- */
/* Buffers for what the strategy puts there, and the home of parameter shards, which are just made. Errors: SL_ERR_INPUT: a buffer of
 * the configuration is too small. */
enum sl_status sl_nvme_open_params(struct sl_lowering *lowering);
enum sl_status sl_nvme_open_optimizer(struct sl_lowering *lowering);
/* The part of a parameter shard on NVMe, read into the next buffer of the pool: *part becomes that. */
enum sl_status sl_nvme_read_param(struct sl_lowering *lowering, struct sl_program *program, enum sl_phase phase,
                                  struct sl_operand *part, int64_t count);

/* ---- gathering of sharded parameters ---- */
/* Without a pipeline a trace of one micro-batch's uses, forward then backward, decides what to gather before an op and what
 * to let go after it. With one, forward and backward of many micro-batches stand between, and the schedule says when a whole
 * stage is gathered (UNSHARD); so too where a backward comes in halves, between which anything may stand. */
enum sl_status sl_gather_open(struct sl_lowering *lowering);
enum sl_status sl_gather_start(struct sl_lowering *lowering);
void sl_gather_stop(struct sl_lowering *lowering);
/* Are parameters gathered op by op? */
bool sl_gather_traces(const struct sl_lowering *lowering);
/* Room for what UNSHARD gathers of the stage at hand, whose drafts are there. */
enum sl_status sl_gather_open_stage(struct sl_lowering *lowering);
/* Gather all of the stage at hand, one call for each unit; `again`: the step has done so before. */
enum sl_status sl_gather_stage(struct sl_lowering *lowering, struct sl_program *program, bool again);
/* Start of a forward; start of its backward (what the forward kept is still there). */
enum sl_status sl_gather_begin(struct sl_lowering *lowering);
enum sl_status sl_gather_resume(struct sl_lowering *lowering);
/* Append the gathers that `draft` and the look-ahead ask for; afterwards let go of what is not needed soon. */
enum sl_status sl_gather_before(struct sl_lowering *lowering, struct sl_program *program, enum sl_phase phase,
                                const struct sl_draft *draft);
void sl_gather_after(struct sl_lowering *lowering, const struct sl_draft *draft);
/* Bind a parameter operand to where the tensor stands whole right now. */
void sl_gather_bind(const struct sl_lowering *lowering, struct sl_operand *operand);
/* Gather the parameters that stay whole, after an update or initialisation. */
enum sl_status sl_gather_persistent(struct sl_lowering *lowering, struct sl_program *program, enum sl_phase phase);

/* ---- update ---- */
enum sl_status sl_update_open(struct sl_lowering *lowering);
