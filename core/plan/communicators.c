/* The communicators of a rank; see communicators.h. */
#include "core/plan/communicators.h"

/* Communicators of dp and of the groups into which hybrid sharding divides it. */
static int of_data_parallel(const struct sl_plan *plan) {
  const bool hybrid = plan->shard > 1 && plan->shard < plan->dp_cp;
  return (plan->dp_cp > 1) + 2 * hybrid + (plan->secondary > 1) + (plan->node > 1) + (plan->nodes > 1);
}

/* Communicators of the pipeline, of the engine's messages to both neighbours and of a tied embedding. */
static int of_pipeline(const struct sl_plan *plan, int rank) {
  if (plan->pp == 1) return 0;
  const int pp = sl_plan_coord(plan, rank).pp;
  const int neighbours = (pp > 0) + (pp < plan->pp - 1);
  const bool tied = sl_plan_ties(plan) && sl_plan_group(plan, SL_GROUP_EMBED, rank).size > 1;
  return 1 + tied + (plan->strategy.pair_messages ? neighbours : 0);
}

int sl_plan_communicators(const struct sl_plan *plan, int rank) {
  const int dimensions = (plan->tp > 1) + (plan->cp > 1) + (plan->dp > 1) + (plan->pp > 1);
  /* otherwise the same ranks as a group of one dimension */
  const int model = plan->tp > 1 && plan->pp > 1, world = dimensions > 1;
  const int slices = plan->strategy.pipeline_engine && plan->tp > 1;
  return (plan->tp > 1) + (plan->cp > 1) + of_data_parallel(plan) + of_pipeline(plan, rank) + model + world + slices;
}

int64_t sl_plan_driver_bytes(const struct sl_plan *plan, int rank) {
  const struct sl_device *device = &plan->cluster->device;
  return device->context_bytes + sl_plan_communicators(plan, rank) * device->communicator_bytes;
}
