/* How a rank waits for other ranks, and for how long. */
#include "backend/host/host.h"

#include "core/base/machine.h"

#include <math.h>
#include <sched.h>
#include <time.h>

double sl_host_patience(const struct sl_host *host) {
  return host->timeout_s + 0.25 * (host->rank < 16 ? host->rank : 16);
}

void sl_host_wait_a_little(const struct sl_host *host, int waits, double still_s) {
  enum { YIELDS = 20, LEAST_NS = 20000, MOST_NS = 1000000 };
  const double long_s = 0.05, a_thousandth_ns = fmin(still_s * 1e6, MOST_NS);
  if ((host->sleeps_early && waits >= YIELDS) || still_s > long_s)
    nanosleep(&(struct timespec){.tv_nsec = (long)fmax(a_thousandth_ns, LEAST_NS)}, NULL);
  else
    sched_yield();
}

enum sl_status sl_host_meet(struct sl_host *host, MPI_Request *request, const char *what) {
  const double begun_s = sl_machine_clock();
  for (int waits = 0, done = 0;; waits++) {
    if (MPI_Test(request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
      return sl_fail(SL_ERR_PEER, "%s failed in MPI", what);
    if (done) return SL_OK;
    const double now_s = sl_machine_clock();
    sl_host_board_beat(host, now_s);
    if (now_s - begun_s > sl_host_patience(host)) break;
    sl_host_wait_a_little(host, waits, now_s - begun_s);
  }
  char others[1024];
  sl_host_board_tell(host, NULL, false, others, sizeof others);
  return sl_fail(SL_ERR_PEER, "no progress for %g s in %s%s (SHARDLAB_TIMEOUT_S sets the limit)", host->timeout_s, what,
                 others);
}
