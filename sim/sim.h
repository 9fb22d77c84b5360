/* The simulator as an executor: the exact clock, discrete events in virtual time, over the programs that backends run.
 *
 * Each simulated rank has the program's lanes. An op starts when its lane predecessor and its waits are complete. A
 * collective moves bytes from the moment when every member of its group has reached it, a send and its receive when
 * both have; all of them end together, cost/collective.h says after how long. A completion's start_s is when that rank
 * reached the op (as a backend sees it: the call is made and waits for the others), so it includes the wait for the
 * slower ranks; so does the traffic's time_s.
 *
 * Compute under communication: while any transfer of a rank moves bytes, the op on its compute lane runs at the rate
 * 1 - comm_cpu_share; it is re-timed whenever that begins or ends. Transfers themselves run at full speed however busy
 * the rank is: a host backend that drives MPI only between compute ops is later than this by up to one op.
 *
 * Folding (options.fold): of ranks that run the same program, have the same links under every call and meet such ranks
 * again, the first stands for all (sim/fold.c). A group then needs only the representatives of its members; its cost is
 * that of the whole group.
 *
 * A program whose ops nothing slows down can be run without events (play, sim/flow.c): its times are bit-identical, but
 * its completions are not reported in order of time.
 *
 * Links: a transfer has them to itself, however many there are at the same time, unless they are to share them
 * (options.assume.share_links, sim/contention.h).
 *
 * Assumptions (options.assume): compute that is noisy, ranks that are slow (sim/jitter.h). Noise gives up folding.
 *
 * No queue is ever full: the programs are known from open, so issuing an op only increments a counter. Issue everything
 * that is available before advance(), since an op cannot start before the time at which it was issued; advance()
 * returns early when a rank has nothing left to do, so that its next program starts on time.
 *
 * Deterministic: events leave by (time, order of setting); the same job gives the same completions bit by bit. */
#pragma once

#include "core/run/executor.h"

/* open: SL_ERR_INPUT when the cluster's device lacks a number that an op needs, SL_ERR_INTERNAL for a communication op
 * on the wrong lane. advance: SL_ERR_CHECK for a deadlock (the message lists who waits for what) and for ranks that
 * disagree on a call. read and exchange are NULL: there is no data, and one process. */
extern const struct sl_exec_ops sl_exec_sim;
