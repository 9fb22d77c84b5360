/* A process-wide timer; see watch.h. */
#include "backend/host/watch.h"

#include "core/base/launchers.h"
#include "core/base/new_file.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static char message[256];

/* Only calls what a signal handler may call. */
static void give_up(int number) {
  (void)number;
  sl_new_file_drop_all();
  const ssize_t wrote = write(STDERR_FILENO, message, strlen(message));
  _exit(wrote < 0 ? 2 : 1);
}

static int rank_by_launcher(void) {
  for (int i = 0; i < SL_LAUNCHER_COUNT; i++) {
    const char *text = sl_launcher_rank(i);
    if (text != NULL) return atoi(text);
  }
  return 0;
}

static void set_timer(double seconds) {
  struct itimerval timer = {.it_value = {.tv_sec = (time_t)seconds}};
  timer.it_value.tv_usec = (suseconds_t)((seconds - (double)timer.it_value.tv_sec) * 1e6);
  (void)setitimer(ITIMER_REAL, &timer, NULL);
}

void sl_host_watch_begin(double seconds, int rank, const char *what) {
  static const double apart_s = 0.3;
  enum { LATEST = 8 };
  if (rank < 0) rank = rank_by_launcher();
  snprintf(message, sizeof message,
           "shardlab: error: rank %d: no progress for %g s in %s (SHARDLAB_TIMEOUT_S sets the limit)\n", rank, seconds,
           what);
  (void)sigaction(SIGALRM, &(struct sigaction){.sa_handler = give_up}, NULL);
  set_timer(seconds + apart_s * (rank < LATEST ? rank : LATEST));
}

void sl_host_watch_end(void) {
  set_timer(0);
}
