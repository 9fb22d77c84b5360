/* Noise of compute; see jitter.h. */
#include "sim/jitter.h"

#include <math.h>

enum sl_status sl_jitter_check(const struct sl_exec_assumptions *assume, int world) {
  if (!(assume->jitter >= 0 && isfinite(assume->jitter)))
    return sl_fail(SL_ERR_INPUT, "--jitter: is %g; expected a standard deviation from 0 on", assume->jitter);
  for (int i = 0; i < assume->straggler_count; i++) {
    const struct sl_straggler *s = &assume->stragglers[i];
    if (s->rank < 0 || s->rank >= world)
      return sl_fail(SL_ERR_INPUT, "--straggler: names rank %d; expected 0 to %d", s->rank, world - 1);
    if (!(s->factor > 0 && isfinite(s->factor)))
      return sl_fail(SL_ERR_INPUT, "--straggler: rank %d is slower by %g; expected a factor above 0", s->rank,
                     s->factor);
  }
  return SL_OK;
}

double sl_jitter_straggler(const struct sl_exec_assumptions *assume, int rank) {
  double factor = 1;
  for (int i = 0; i < assume->straggler_count; i++)
    if (assume->stragglers[i].rank == rank) factor = assume->stragglers[i].factor;
  return factor;
}

/* Uniform on (0, 1): the upper 53 bits, and half a unit so that no logarithm is of 0. */
static double uniform(uint64_t bits) {
  return ((double)(bits >> 11) + 0.5) * 0x1p-53;
}

/* Standard normal, by Box and Muller. */
static double normal(uint64_t key) {
  const double pi = 3.14159265358979323846;
  return sqrt(-2 * log(uniform(sl_sim_join(key, 1)))) * cos(2 * pi * uniform(sl_sim_join(key, 2)));
}

double sl_jitter_noise(const struct sl_sim *sim, const struct sl_sim_rank *rank, uint32_t issue) {
  const double jitter = sim->assume.jitter;
  const uint64_t run = sl_sim_join(sl_sim_join((uint64_t)sim->assume.seed, (uint64_t)rank->rank), (uint64_t)rank->step);
  const uint64_t key = sl_sim_join(sl_sim_join(run, (uint64_t)rank->now->program->kind), issue);
  const double variance = log1p(jitter * jitter);
  return exp(sqrt(variance) * normal(key) - variance / 2);
}
