/* Workspaces of libraries; see workspaces.h. */
#include "core/plan/workspaces.h"

#include "core/plan/kernels.h"

enum { KIB = 1 << 10, MIB = 1 << 20 };

int64_t sl_plan_workspace_bytes(const struct sl_plan *plan) {
  const struct sl_kernel_set *set = sl_kernel_set(plan->config->sl.kernels);
  const double capability = plan->cluster->device.compute_capability;
  if (plan->cluster->device.kind != SL_DEVICE_GPU || capability == 0) return 0;
  const int64_t cublas = capability == 9 ? 32 * MIB : 2 * 4096 * KIB + 8 * 16 * KIB;
  const int64_t engine = capability >= 9 ? 32 * MIB : 4 * MIB;
  return (set->cublas_workspaces ? 2 * cublas : 0) + (set->engine_workspace ? engine : 0);
}
