/* Ops of a rank that run one behind the other, and the rules of how they start. Internal to sim/. */
#pragma once

#include "sim/jitter.h"
#include "sim/state.h"

/* When the host, which is at *host, has launched an op that could begin at `now` and takes it `seconds`. The host
 * launches one op after another and runs ahead of the device, so a step takes the longer of the two; if launches block,
 * the host waits for the device, and the two add up. */
static inline double sl_sim_launch(const struct sl_sim *sim, double *host, double now, double seconds) {
  if (sim->cost_rank.kernel_costs.launch_blocking && *host < now) *host = now;
  *host += seconds;
  return *host > now ? *host : now;
}

/* When the only thread gets to an op of `seconds` that could start at `start`. It takes ops in the order in which they
 * come. */
static inline double sl_sim_take_turn(struct sl_sim_rank *rank, double start, double seconds) {
  if (rank->thread > start) start = rank->thread;
  rank->thread = start + seconds;
  return start;
}

/* Starts the head of the compute lane; sl_sim_look_ahead must follow. */
void sl_sim_run_compute(struct sl_sim *sim, int local);
/* Sets the event of the compute that runs, if it has none: at the end of the last op that is sure to run behind it if
 * nothing comes between. What would come between is said by sl_sim_settle, after which this is to be called anew. */
void sl_sim_look_ahead(struct sl_sim *sim, int local);
/* Something happens to a rank now: of its stretch, only the op that runs remains. */
void sl_sim_settle(struct sl_sim *sim, int local);
/* The ops of a rank's stretch are complete, but for a call that still moves bytes. */
void sl_sim_leave(struct sl_sim *sim, int local);
/* Tells of one op that is complete. */
void sl_sim_emit(struct sl_sim *sim, int local, struct sl_issue_ref issue, double start, double end);
/* A lane's bytes move from now on (`beside` > 0) or no more, and compute that starts now has the speed of that. */
static inline void sl_sim_move(struct sl_sim_rank *rank, int lane, double beside) {
  rank->beside[lane] = beside;
  rank->moving = beside > 0 ? rank->moving | UINT32_C(1) << lane : rank->moving & ~(UINT32_C(1) << lane);
  rank->lost = 0;
  for (uint32_t moving = rank->moving; moving != 0; moving &= moving - 1) {
    const double share = rank->beside[__builtin_ctz(moving)];
    if (share > rank->lost) rank->lost = share;
  }
}
/* The running compute op, which has `*work` seconds at full speed left since `*since`, loses the share `now` of its
 * speed from `time` on, not `before`. Returns when it ends. */
static inline double sl_sim_change_speed(double *work, double *since, double time, double before, double now) {
  if (time > *since) {
    *work -= (time - *since) * (1 - before);
    if (*work < 0) *work = 0;
    *since = time;
  }
  return *since + *work / (1 - now);
}
