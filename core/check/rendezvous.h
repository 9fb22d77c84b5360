/* The dry run: proves a job's programs sound without a clock, by an implementation that shares nothing with place/waits.c and
 * arena.c. It looks at the issue lists, the waits and the arena offsets alone, as a backend would see them. */
#pragma once

#include "core/base/status.h"
#include "core/program/program.h"

/* Refuses, with the step x rank grid and the bad place marked in sl_error_message():
 *   - a send without its receive, members of a group that disagree on the order, kind or size of its collectives;
 *   - a deadlock, sends assumed to rendezvous, every rank's communication in flight as its lanes allow;
 *   - a cycle in the union of all communicators' issue orders, on which NCCL may hang although lanes would not;
 *   - two accesses to the same arena bytes, at least one a write, that no wait orders;
 *   - a read of bytes that nobody wrote, or that another buffer wrote over (use after free);
 *   - an op whose operands are not those of its rows (core/op/operands.h).
 * Errors: SL_ERR_CHECK. */
enum sl_status sl_check(const struct sl_job *job);

/* The parts, for tests that plant faults. sl_check_operands looks at every op of every program, sl_check_memory at one
 * rank's programs, sl_check_meeting at how the ranks meet in the step program. */
enum sl_status sl_check_operands(const struct sl_job *job);
enum sl_status sl_check_memory(const struct sl_job *job, int rank);
/* Do the two ranks touch the same bytes in every op, so that the proof of one is the other's? */
bool sl_check_same_memory(const struct sl_job *job, int rank, int other);
enum sl_status sl_check_meeting(const struct sl_job *job, enum sl_program_kind kind);
