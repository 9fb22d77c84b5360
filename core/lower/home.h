/* States whose shard may be in two memories, divided between two of DeepSpeed's sub-groups: the first elements in one
 * buffer, the others in one of another space (sl_class.role). Elements are counted within the shard. */
#pragma once

#include "core/lower/build.h"

/* A sub-group of stage 3: of one parameter group, and closed by the parameter that reaches sub_group_size
 * (runtime/zero/stage3.py, _create_fp16_sub_groups). Elements [first, end) of the shard. */
struct sl_subgroup {
  int64_t first, end;
  int group, next_unit; /* its parameter group, and the unit behind it */
};
/* Goes on to the next sub-group, from {0} to the first; false: there is none. */
bool sl_home_next(const struct sl_lowering *lowering, struct sl_subgroup *subgroup);
/* Elements of this rank's shard in DeepSpeed's first int(ratio x n) of n sub-groups, or in those that end within `most`
 * elements. */
int64_t sl_home_by_ratio(const struct sl_lowering *lowering, double ratio);
int64_t sl_home_within(const struct sl_lowering *lowering, int64_t most);
/* Splits a state that was just made with the form SHARD: its first `count` elements go to `space`, the others, in a
 * buffer of their own, to `rest`. */
enum sl_status sl_home_split(struct sl_lowering *lowering, enum sl_role role, int64_t count, enum sl_space space,
                             enum sl_space rest);
/* How many of `count` elements from `first` on are in one buffer; the operand of elements that must be; and where an
 * element is. */
int64_t sl_home_together(const struct sl_lowering *lowering, enum sl_role role, int64_t first, int64_t count);
struct sl_operand sl_home_part(const struct sl_lowering *lowering, enum sl_role role, enum sl_access access,
                               int64_t first, int64_t count);
enum sl_space sl_home_space(const struct sl_lowering *lowering, enum sl_role role, int64_t element);
/* The buffer with this rank's part of a placed tensor's state; the rank must have one. */
int32_t sl_home_of(const struct sl_lowering *lowering, enum sl_role role, int placed);
/* Elements at the start of this rank's shard that the device updates although states are offloaded: none, or what the
 * ratio of Twin-Flow leaves to it (ZeRO-Offload++). */
int64_t sl_home_on_device(const struct sl_lowering *lowering);
