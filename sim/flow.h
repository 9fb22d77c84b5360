/* The exact clock without a queue, for programs whose ops nothing slows down. Internal to sim/. */
#pragma once

#include "sim/state.h"

/* Runs program `kind` of all ranks, which have begun it (sl_sim_begin), and advances sim->time to its end. The observer
 * of `run` gets each rank's completions of `step` nearly in order of time, and those of different ranks in no order.
 * *ran becomes false if the program cannot be run to its end this way, because ranks disagree on a call or deadlock;
 * sim->time is then unchanged, and the reported completions must be discarded. */
enum sl_status sl_flow_run(struct sl_sim *sim, enum sl_program_kind kind, int64_t step, const struct sl_run *run,
                           bool *ran);
