/* The guard of a rank; see guard.h. It shares a pipe with the rank: one byte means that the work is done, the end of
 * the pipe that the rank is gone. Its clock counts its own sleeps, so that a job survives if all its processes, guards
 * included, are suspended for a while. */
#include "cli/guard.h"

#include "cli/children.h"
#include "cli/process.h"
#include "core/base/made.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

enum { NAP_MS = 200 };

static int to_guard = -1;

static void end_rank(pid_t rank_pid, int rank, double limit_s) {
  char text[160];
  const int length =
      snprintf(text, sizeof text,
               "shardlab: error: rank %d: was stopped for %g s and is ended (SHARDLAB_TIMEOUT_S sets the limit)\n",
               rank, limit_s);
  if (kill(rank_pid, SIGKILL) == 0 && write(STDERR_FILENO, text, (size_t)length) < 0) return;
}

static _Noreturn void keep_guard(int from_rank, pid_t rank_pid, int rank, double limit_s) {
  static const double others_first_s = 1.5; /* ranks that wait for it report first, as they know what they wait for */
  const double limit_naps = (limit_s + others_first_s) * 1000 / NAP_MS;
  bool done = false;
  double naps = 0;
  for (;;) {
    struct pollfd end = {.fd = from_rank, .events = POLLIN};
    char word;
    const int ready = poll(&end, 1, NAP_MS);
    if (ready < 0 && errno != EINTR) break;
    if (ready > 0 && read(from_rank, &word, 1) <= 0) break;
    if (ready > 0) done = true;
    naps = sl_process_is_stopped(rank_pid) ? naps + 1 : 0;
    if (naps > limit_naps) end_rank(rank_pid, rank, limit_s), naps = 0;
  }
  if (!done) {
    sl_children_sweep();
    sl_made_remove();
  }
  _exit(0);
}

/* A guard keeps only its end of the pipe and standard error of the rank's files. */
static void drop_handles(int kept) {
  struct rlimit most = {.rlim_cur = 1024};
  (void)getrlimit(RLIMIT_NOFILE, &most);
  for (int handle = 0; handle < 1024 && (rlim_t)handle < most.rlim_cur; handle++)
    if (handle != kept && handle != STDERR_FILENO) (void)close(handle);
}

void sl_guard_open(double limit_s, int rank) {
  int ends[2];
  const pid_t rank_pid = getpid();
  if (to_guard >= 0 || pipe2(ends, O_CLOEXEC) != 0) return;
  fflush(NULL);
  const pid_t guard = fork();
  if (guard == 0) {
    static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++) (void)signal(ignored[i], SIG_IGN);
    setpgid(0, 0);
    prctl(PR_SET_NAME, "shardlab-guard");
    drop_handles(ends[0]);
    keep_guard(ends[0], rank_pid, rank, limit_s);
  }
  close(ends[0]);
  if (guard < 0)
    close(ends[1]);
  else
    to_guard = ends[1];
}

void sl_guard_done(void) {
  if (to_guard >= 0 && write(to_guard, "d", 1) < 0) to_guard = -1;
}
