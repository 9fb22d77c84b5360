/* What the compute of a step takes of each fitted number of a profile; see cost/fitted.h. */
#include "sim/state.h"

#include <stdlib.h>

/* An op counts once for all times that it is issued, so that the sums do not depend on how the program is stored. */
enum sl_status sl_sim_fill_fitted(const struct sl_sim *sim, struct sl_sim_program *table) {
  const struct sl_plan *plan = sim->job->plan;
  const struct sl_program *program = table->program;
  const struct sl_repetition *r = &program->repeated;
  const int64_t node = plan->cluster->devices_per_node;
  const double nodes = node > 0 ? (double)plan->world / (double)node : 1;
  int64_t *times; /* by op */
  SL_TRY(sl_calloc(&times, program->op_count, sizeof *times));
  for (size_t i = 0; i < program->issue_count - sl_issues_repeated(program); i++) /* those that are stored */
    times[program->issues[i].op] += i >= r->first && i < r->first + r->length ? 1 + (int64_t)r->times : 1;
  sl_cost_fitted_open(&table->fitted, plan->cluster, &plan->kernel_costs, nodes);
  for (size_t op = 0; op < program->op_count; op++)
    if (times[op] > 0 && table->costs[op].lane == SL_LANE_COMPUTE)
      sl_cost_fitted_add(&table->fitted, &sim->cost_rank, &table->works[op], table->costs[op].seconds,
                         (double)times[op]);
  free(times);
  return SL_OK;
}
