/* Reads Open MPI's complaints in a child process; see hold.h. */
#include "backend/host/hold.h"

#include "core/base/mpi_gist.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Open MPI ends the process behind its last line. It waits for so many seconds if it is told to, in which the child
 * prints its line. */
static const char *const delay = "OMPI_MCA_opal_abort_delay";

static int error_kept = -1; /* standard error, while it is held back */
static pid_t reader;
static bool delays; /* the user has not set another delay */

/* Says nothing if the process ended otherwise, by a signal for example. */
static void say(const char *text) {
  char gist[SL_MPI_GIST_BYTES], line[SL_MPI_GIST_BYTES + 200];
  if (strstr(text, "abort") == NULL) return;
  sl_mpi_gist(text, gist);
  const int length =
      snprintf(line, sizeof line, "shardlab: error: MPI does not start%s%s\n", gist[0] != '\0' ? ": " : "", gist);
  if (write(STDERR_FILENO, line, (size_t)length) < 0) return;
}

/* Passes on a line of our own, such as that of a time limit; what else there is becomes one line. */
static _Noreturn void read_all(int from) {
  static const char last[] = " before aborting\n", ours[] = "shardlab: ";
  static char text[1 << 16], rest[1 << 12];
  size_t size = 0;
  ssize_t n;
  while (strstr(text, last) == NULL) {
    const bool full = size == sizeof text - 1;
    n = full ? read(from, rest, sizeof rest) : read(from, text + size, sizeof text - 1 - size);
    if (n <= 0) break;
    if (!full) size += (size_t)n;
  }
  const char *own = strstr(text, ours);
  if (own == NULL)
    say(text);
  else if (write(STDERR_FILENO, own, strlen(own)) < 0)
    _exit(1);
  _exit(0);
}

void sl_host_hold_begin(void) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return;
  reader = fork();
  if (reader == 0) {
    prctl(PR_SET_NAME, "shardlab-hold");
    static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++) (void)signal(ignored[i], SIG_IGN);
    close(ends[1]);
    read_all(ends[0]);
  }
  close(ends[0]);
  error_kept = reader > 0 ? fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1) : -1;
  if (error_kept >= 0) dup2(ends[1], STDERR_FILENO);
  close(ends[1]);
  delays = getenv(delay) == NULL;
  if (delays) setenv(delay, "1", 0);
}

void sl_host_hold_end(void) {
  if (error_kept >= 0) dup2(error_kept, STDERR_FILENO), close(error_kept);
  error_kept = -1;
  if (reader > 0) kill(reader, SIGKILL), waitpid(reader, NULL, 0);
  reader = 0;
  if (delays) unsetenv(delay);
}
