/* Many predictions over several processes. Processes and not threads: a piece that a bug or the lack of memory kills takes no other along,
 * and nothing is shared but the results. */
#pragma once

#include "core/base/status.h"

#include <stdbool.h>
#include <sys/types.h>

struct sl_workers {
  /* what is to be done: piece i of `count`, in a process of its own; *result has result_bytes zeroed bytes, without pointers. Where it fails
   * the message is kept. Its warnings are not heard. */
  enum sl_status (*run)(void *context, size_t i, void *result);
  void *context;
  size_t count, result_bytes;
  int jobs; /* processes, at least 1 */
  /* internal */
  struct sl_board *board; /* NULL before it is mapped */
  size_t bytes;
  pid_t *workers; /* (jobs), 0 once it has ended */
  double began_s;
};

/* Do all pieces; `terminal`: show progress on standard error. Errors: of the system alone, not those of pieces. */
enum sl_status sl_workers_run(struct sl_workers *workers, bool terminal);
/* Of a piece: its result, and why it has none ("": it has one). */
void *sl_workers_result(const struct sl_workers *workers, size_t i);
const char *sl_workers_error(const struct sl_workers *workers, size_t i);
/* Since it began. */
double sl_workers_seconds(const struct sl_workers *workers);
/* End what still runs, and free the results. A zeroed one is fine. */
void sl_workers_close(struct sl_workers *workers);
