/* The dry run: proves without a clock that a job's programs are sound. The implementation is independent of
 * place/waits.c and place/arena.c: it reads only the issue lists, the waits and the arena offsets, as a backend
 * does. */
#pragma once

#include "core/base/status.h"
#include "core/program/program.h"

/* Fails, with the step x rank grid and the bad place marked in sl_error_message(), for
 *   - a send without its receive, or members of a group that disagree on the order, kind or size of its collectives;
 *   - a deadlock, if every send is a rendezvous and every rank's communication is in flight as its lanes allow;
 *   - a cycle in the union of all communicators' issue orders, on which NCCL may hang although lanes would not;
 *   - two accesses to the same arena bytes, at least one of them a write, that no wait orders;
 *   - a read of bytes that were never written, or that another buffer has overwritten (use after free);
 *   - an op whose operands do not match its rows (core/op/operands.h).
 * Errors: SL_ERR_CHECK. */
enum sl_status sl_check(const struct sl_job *job);

/* The parts of sl_check, for tests that plant faults. sl_check_operands checks every op of every program,
 * sl_check_memory the programs of one rank, sl_check_meeting the communication between ranks in the step program. */
enum sl_status sl_check_operands(const struct sl_job *job);
enum sl_status sl_check_memory(const struct sl_job *job, int rank);
/* Do the two ranks touch the same bytes in every op, so that checking one of them is enough? */
bool sl_check_same_memory(const struct sl_job *job, int rank, int other);
enum sl_status sl_check_meeting(const struct sl_job *job, enum sl_program_kind kind);
