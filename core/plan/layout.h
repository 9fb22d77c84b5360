/* Who owns what. Parameters, gradients and optimizer state of a pipeline rank are laid out in one flat space of elements, in
 * model order; a layout says which member of a sharding group owns which elements of it. */
#pragma once

#include "core/base/status.h"
#include "core/model/model.h"
#include "core/op/group.h"

struct sl_plan;

enum { SL_PARAM_GROUPS = 4 }; /* at most */

/* A parameter group: tensors that the same ranks hold, which sum their gradients and may split their states. Dense parameters
 * are group 0, over all data-parallel ranks. */
struct sl_param_group {
  enum sl_group sum;       /* all ranks that hold a tensor of it: whole gradients are summed here */
  enum sl_group shard;     /* those that split its states */
  enum sl_group scatter;   /* the same ranks as `shard`, by the communicator that gradients are scattered on */
  enum sl_group replicate; /* across shard groups: those that hold the same part */
  int ranks;               /* members of `sum` */
  int members;             /* of `shard`; 1: everything is whole */
  int secondary;           /* members of the secondary group; 1 where its parameters have no second copy */
};

/* A run of the flat space that is sharded as one: padded to `part` x members elements, member g owning elements
 * [first + g part, first + (g+1) part); or, with an owner, all of it that member's. Which runs are units is the strategy's
 * choice (enum sl_units). */
struct sl_unit {
  int64_t first;                  /* in the flat space */
  int64_t numel;                  /* unpadded */
  int64_t part;                   /* elements of one member (of the owner), padding included */
  int64_t shard_offset;           /* where this unit's part starts inside a member's (the owner's) shard */
  int owner;                      /* -1: split evenly */
  int group;                      /* its parameter group */
  int first_tensor, tensor_count; /* placed tensors that start in it */
};

/* What one parameter group has of a pipeline rank: a stretch of the flat space and of every member's shard. */
struct sl_layout {
  struct sl_param_group group;
  int64_t numel;                    /* parameters, unpadded */
  int64_t first, padded;            /* elements of the flat space, padding included */
  int64_t shard_first, shard_numel; /* elements of a member's shard, padding included; all of them when members == 1 */
  int first_tensor, tensor_count;   /* placed tensors */
  int first_unit, unit_count;
};

/* Where one tensor of a pipeline rank stands. */
struct sl_placed {
  int tensor;      /* index in model->tensors */
  int stage;       /* which of the pipeline rank's stages uses it first */
  int64_t numel;   /* local elements (after tp) */
  int64_t flat;    /* first element in the flat space */
  int group;       /* parameter group */
  int unit;        /* the unit that holds it (stage 3) or that its first element falls in */
  bool persistent; /* stage 3: below the persistence threshold, so its gathered copy stays */
  bool replicated; /* tp > 1, but every member of the tp group holds it whole */
  bool partial;    /* sequence parallel: the gradient that a member makes is of its own tokens only */
  bool tied;       /* a tied embedding, and the embed group's other member holds it too */
  bool shared;     /* a tied embedding, and two stages of this rank use it */
};

/* What one pipeline rank holds: the tensors of its stages and their layout. */
struct sl_pp_rank {
  int *stages; /* indices in plan->stages, in the order of the model */
  int stage_count;
  struct sl_placed *tensors; /* in the order of the flat space */
  int tensor_count;
  int *placed_of;            /* index in `tensors` of each of the model's, -1: another rank's */
  struct sl_layout *layouts; /* of each parameter group, in the order of the flat space */
  int group_count;
  struct sl_unit *units; /* in the order of the flat space */
  int unit_count;
  int64_t numel;         /* parameters, unpadded */
  int64_t padded;        /* elements of the flat space */
  int64_t shard_numel;   /* elements of the largest member's shard */
  int64_t *member_numel; /* of each member where they differ (units with owners, of one group), else NULL */
};

/* The tensors of a pipeline rank whose stages are known, and their layout over plan->groups; and back to its stages alone. */
enum sl_status sl_layout_build(struct sl_pp_rank *pp_rank, const struct sl_plan *plan);
void sl_layout_free(struct sl_pp_rank *pp_rank);

/* A run of a rank's local tensor that is contiguous in the logical one: `count` elements from `local` are the logical
 * tensor's from `logical`; logical < 0: padding, which is zero and stands in no file. */
struct sl_run_of {
  int64_t local, logical, count;
};
/* The run that starts at local element `local` and ends before `end`, for member `place` of the tp group. */
struct sl_run_of sl_plan_logical_run(const struct sl_plan *plan, const struct sl_tensor *tensor, int place,
                                     int64_t local, int64_t end);

/* The limit, in elements, of the gradient bucket that placed tensor `placed` is in; `first`: it is the step's first.
 * INT64_MAX: the stage is one bucket. */
int64_t sl_plan_bucket_limit(const struct sl_plan *plan, const struct sl_pp_rank *pp_rank, int placed, bool first);

/* Elements of one member's shard; member < 0: any, they are alike. */
static inline int64_t sl_layout_shard(const struct sl_pp_rank *pp_rank, int member) {
  return pp_rank->member_numel != NULL && member >= 0 ? pp_rank->member_numel[member] : pp_rank->shard_numel;
}
/* How a unit's parameter group is laid out. */
static inline const struct sl_layout *sl_layout_of(const struct sl_pp_rank *pp_rank, const struct sl_unit *unit) {
  return &pp_rank->layouts[unit->group];
}

/* A contiguous run of one logical tensor that a rank holds: elements [first, first + count) of the (local) tensor stand
 * at element `offset` of the rank's shard (or of the flat space when the layout is whole). */
struct sl_piece {
  int64_t first, count, offset;
};
/* The piece of placed tensor `placed` that member `member` of its group owns; count 0 when it owns none. */
struct sl_piece sl_layout_piece(const struct sl_pp_rank *pp_rank, int placed, int member);
