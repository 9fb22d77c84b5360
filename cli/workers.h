/* Distributes many predictions over several processes. They are processes, not threads, so that a piece that dies of a
 * bug or lack of memory takes no other piece with it; only the results are shared. */
#pragma once

#include "core/base/status.h"

#include <stdbool.h>
#include <sys/types.h>

struct sl_workers {
  /* The work: piece i of `count`, in another process; *result has result_bytes zeroed bytes and must not contain
   * pointers. If it fails, its message is kept. Its warnings are suppressed. */
  enum sl_status (*run)(void *context, size_t i, void *result);
  void *context;
  size_t count, result_bytes;
  int jobs; /* processes, at least 1 */
  /* internal: */
  struct sl_board *board; /* NULL before it is mapped */
  size_t bytes;
  pid_t *workers; /* (jobs), 0 once it has ended */
  double began_s;
};

/* Runs all pieces; `terminal`: show progress on standard error. Errors: only those of the system, not those of
 * pieces. */
enum sl_status sl_workers_run(struct sl_workers *workers, bool terminal);
/* The result of a piece, and why it has none ("" if it has one). */
void *sl_workers_result(const struct sl_workers *workers, size_t i);
const char *sl_workers_error(const struct sl_workers *workers, size_t i);
/* Seconds since it began. */
double sl_workers_seconds(const struct sl_workers *workers);
/* Ends processes that still run, and frees the results. Accepts a zeroed struct. */
void sl_workers_close(struct sl_workers *workers);
