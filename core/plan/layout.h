/* Ownership of model states. Parameters, gradients and optimizer state of a pipeline rank are laid out in one flat
 * space of elements, in model order; a layout says which member of a sharding group owns which elements.
 * core/plan/cut.h has the tensor-parallel slicing that comes before; lower/zero.c makes buffers of it. */
#pragma once

#include "core/base/status.h"
#include "core/model/model.h"
#include "core/op/group.h"

struct sl_plan;

enum { SL_PARAM_GROUPS = 4 }; /* at most */

/* A parameter group: tensors that are held by the same ranks, which sum their gradients and may shard their states.
 * Group 0 is the dense parameters, over all data-parallel ranks. */
struct sl_param_group {
  enum sl_group sum;       /* all ranks that hold a tensor of the group: whole gradients are summed over them */
  enum sl_group shard;     /* the ranks that shard its states */
  enum sl_group scatter;   /* the ranks of `shard`, by the communicator on which gradients are reduce-scattered */
  enum sl_group replicate; /* across shard groups: the ranks that hold the same shard */
  int ranks;               /* members of `sum` */
  int members;             /* of `shard`; 1: nothing is sharded */
  int secondary;           /* members of the secondary group; 1 if the parameters have no second copy */
};

/* A range of the flat space that is sharded as a whole: padded to `part` x members elements, of which member g owns
 * [first + g part, first + (g+1) part); or, with an owner, all of it belongs to that member. The strategy decides which
 * ranges are units (enum sl_units). */
struct sl_unit {
  int64_t first;                  /* in the flat space */
  int64_t numel;                  /* unpadded */
  int64_t part;                   /* elements of one member (or of the owner), padding included */
  int64_t shard_offset;           /* where this unit's part starts in the shard of a member (or of the owner) */
  int owner;                      /* -1: split evenly */
  int group;                      /* its parameter group */
  int first_tensor, tensor_count; /* placed tensors that start in the unit */
};

/* The part of a pipeline rank that belongs to one parameter group: a range of the flat space and of every member's
 * shard. */
struct sl_layout {
  struct sl_param_group group;
  int64_t numel;                    /* parameters, unpadded */
  int64_t first, padded;            /* elements of the flat space, padding included */
  int64_t shard_first, shard_numel; /* elements of a member's shard, padding included; all of them when members == 1 */
  int first_tensor, tensor_count;   /* placed tensors */
  int first_unit, unit_count;
};

/* One tensor of a pipeline rank, and its position. */
struct sl_placed {
  int tensor;      /* index in model->tensors */
  int stage;       /* the first of the pipeline rank's stages that uses it */
  int64_t numel;   /* local elements (after tensor-parallel slicing) */
  int64_t flat;    /* first element in the flat space */
  int group;       /* parameter group */
  int unit;        /* the unit that holds it (stage 3) or that contains its first element */
  bool persistent; /* stage 3: smaller than the persistence threshold, so its gathered copy is kept */
  bool replicated; /* tp > 1, but every member of the tp group holds the whole tensor */
  bool partial;    /* sequence parallelism: a member's gradient is that of its own tokens only */
  bool tied;       /* a tied embedding that the other member of the embed group holds too */
  bool shared;     /* a tied embedding that two stages of this rank use */
  int linear;      /* of the weight of a linear layer in a block: its number among those of the rank; -1: it is none */
};

/* What one pipeline rank holds: the tensors of its stages and their layout. */
struct sl_pp_rank {
  int *stages; /* indices in plan->stages, in the order of the model */
  int stage_count;
  struct sl_placed *tensors; /* in the order of the flat space */
  int tensor_count;
  size_t tensor_capacity;
  int linear_count;          /* of the weights of linear layers in blocks */
  int *placed_of;            /* for each tensor of the model its index in `tensors`, -1: on another rank */
  struct sl_layout *layouts; /* of each parameter group, in the order of the flat space */
  int group_count;
  struct sl_unit *units; /* in the order of the flat space */
  int unit_count;
  int64_t numel;         /* parameters, unpadded */
  int64_t padded;        /* elements of the flat space */
  int64_t shard_numel;   /* elements of the largest member's shard */
  int64_t *member_numel; /* of each member if they differ (units with owners, one group only), else NULL */
};

/* Lays out the tensors of a pipeline rank whose stages are known over plan->groups. sl_layout_free leaves only its
 * stages. */
enum sl_status sl_layout_build(struct sl_pp_rank *pp_rank, const struct sl_plan *plan);
void sl_layout_free(struct sl_pp_rank *pp_rank);

/* A contiguous run of a rank's local tensor that is also contiguous in the logical tensor: `count` elements from
 * `local` on are those from `logical` on. logical < 0: padding, which is zero and in no file. */
struct sl_run_of {
  int64_t local, logical, count;
};
/* The run that starts at local element `local` and ends before `end`, for member `place` of the tp group. */
struct sl_run_of sl_plan_logical_run(const struct sl_plan *plan, const struct sl_tensor *tensor, int place,
                                     int64_t local, int64_t end);

/* The limit, in elements, of the gradient bucket that holds placed tensor `placed`; `first`: it is the first bucket of
 * the step. INT64_MAX: the whole stage is one bucket. */
int64_t sl_plan_bucket_limit(const struct sl_plan *plan, const struct sl_pp_rank *pp_rank, int placed, bool first);

/* Elements of one member's shard; member < 0: of any, if all are equal. */
static inline int64_t sl_layout_shard(const struct sl_pp_rank *pp_rank, int member) {
  return pp_rank->member_numel != NULL && member >= 0 ? pp_rank->member_numel[member] : pp_rank->shard_numel;
}
/* The layout of a unit's parameter group. */
static inline const struct sl_layout *sl_layout_of(const struct sl_pp_rank *pp_rank, const struct sl_unit *unit) {
  return &pp_rank->layouts[unit->group];
}

/* A contiguous run of one tensor on a rank: elements [first, first + count) of the local tensor are stored from element
 * `offset` of the rank's shard on (or of the flat space, if the layout is not sharded). */
struct sl_piece {
  int64_t first, count, offset;
};
/* The piece of placed tensor `placed` that member `member` of its group owns; count 0 if it owns none. */
struct sl_piece sl_layout_piece(const struct sl_pp_rank *pp_rank, int placed, int member);
