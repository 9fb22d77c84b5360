/* The exact clock without a queue, for programs whose ops nothing slows down. Internal to sim/. */
#pragma once

#include "sim/state.h"

/* Program `kind` of all ranks, which have begun it (sl_sim_begin), from sim->time to its end, to which sim->time moves. *ran false:
 * it cannot be run to its end this way, because ranks do not match or wait for each other forever, and sim->time is as before; what
 * the observer of `run` was told of `step` is then worth nothing: completions of each rank nearly in order of time, those of different
 * ranks in none. */
enum sl_status sl_flow_run(struct sl_sim *sim, enum sl_program_kind kind, int64_t step, const struct sl_run *run,
                           bool *ran);
