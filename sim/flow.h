/* The exact clock without a queue, for programs whose ops nothing slows down. Internal to sim/. */
#pragma once

#include "sim/state.h"

/* Who is told of completions: those of each rank nearly in order of time, those of different ranks in none. */
struct sl_flow_sink {
  sl_observe_fn observe; /* NULL: nobody */
  void *context;
  int64_t step;
};

/* Program `kind` of all ranks, which have begun it (sl_sim_begin), from sim->time to its end, to which sim->time moves. *ran false:
 * it cannot be run to its end this way, because ranks do not match or wait for each other forever, and sim->time is as before; what
 * the sink was told is then worth nothing. */
enum sl_status sl_flow_run(struct sl_sim *sim, enum sl_program_kind kind, const struct sl_flow_sink *sink, bool *ran);
