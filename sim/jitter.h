/* Compute that takes longer or shorter than its costs say: stragglers, and noise from op to op.
 *
 *   seconds of an op of the compute lane = cost x straggler x exp(s z - s^2 / 2),  s^2 = ln(1 + jitter^2)
 * straggler: what options.assume gives the rank, else 1; z: standard normal, so that the noise has mean 1 and relative standard
 * deviation `jitter`. z is a function of (seed, rank, program, step, issue) alone: not of the order in which ops run, so one seed is
 * one trace. Ops are taken as independent; what holds a rank up for longer is a straggler. Transfers have none of their own: they
 * begin when the last of their ranks comes. A jitter of 0 and a straggler of 1 leave the cost as it is, to the last bit.
 * This is an assumption to ask with ("what if"), measured nowhere. */
#pragma once

#include "sim/state.h"

/* SL_ERR_INPUT for a straggler that is no rank of the world, or a factor or jitter that is no number from 0 on. */
enum sl_status sl_jitter_check(const struct sl_exec_assumptions *assume, int world);
/* By how much `rank` is slower; 1: it is no straggler. */
double sl_jitter_straggler(const struct sl_exec_assumptions *assume, int rank);
/* By how much noise alone makes `issue` of the program that `rank` runs slower; there is some. */
double sl_jitter_noise(const struct sl_sim *sim, const struct sl_sim_rank *rank, uint32_t issue);
/* Seconds of `issue` of the program that `rank` runs, whose cost is `seconds`. */
static inline double sl_jitter_seconds(const struct sl_sim *sim, const struct sl_sim_rank *rank, uint32_t issue,
                                       double seconds) {
  seconds *= rank->straggler;
  return sim->assume.jitter > 0 ? seconds * sl_jitter_noise(sim, rank, issue) : seconds;
}
