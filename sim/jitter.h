/* Makes compute take more or less time than its costs say: stragglers, and noise from op to op.
 *
 *   seconds of an op of the compute lane = cost x straggler x exp(s z - s^2 / 2),  s^2 = ln(1 + jitter^2)
 *
 * straggler is what options.assume gives the rank, else 1. z is standard normal, so that the noise has mean 1 and
 * relative standard deviation `jitter`. z is a function of (seed, rank, program, step, issue) only, not of the order in
 * which ops run, so one seed always gives the same trace. Ops are assumed to be independent; longer delays of a rank
 * are modelled by a straggler. Transfers have no noise of their own: they begin when the last of their ranks arrives. A
 * jitter of 0 and a straggler of 1 leave the cost as it is, to the last bit. This is an assumption for asking "what
 * if"; it has not been measured. */
#pragma once

#include "sim/state.h"

/* Errors: SL_ERR_INPUT for a straggler that is no rank of the world, or a factor or jitter that is neither 0 nor a
 * positive number. */
enum sl_status sl_jitter_check(const struct sl_exec_assumptions *assume, int world);
/* The factor by which `rank` is slower; 1 if it is no straggler. */
double sl_jitter_straggler(const struct sl_exec_assumptions *assume, int rank);
/* The factor by which noise alone slows `issue` of the program that `rank` runs. There must be noise. */
double sl_jitter_noise(const struct sl_sim *sim, const struct sl_sim_rank *rank, uint32_t issue);
/* Seconds of `issue` of the program that `rank` runs, whose cost is `seconds`. */
static inline double sl_jitter_seconds(const struct sl_sim *sim, const struct sl_sim_rank *rank, uint32_t issue,
                                       double seconds) {
  seconds *= rank->straggler;
  return sim->assume.jitter > 0 ? seconds * sl_jitter_noise(sim, rank, issue) : seconds;
}
