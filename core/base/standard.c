/* Standard streams and limits of a program; see standard.h. */
#include "core/base/standard.h"

#include "core/base/piped.h"
#include "core/base/was_read.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* A new descriptor is the lowest that is free, here the one that is missing. */
static void open_streams(void) {
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++)
    if (fcntl(stream, F_GETFD) < 0) (void)open("/dev/null", stream == STDOUT_FILENO ? O_RDONLY : O_RDWR);
}

/* The kernel lets the stack grow up to its current limit. */
static enum sl_status check_stack(void) {
  static const rlim_t least = 256 << 10; /* three times the largest stack use of a command that was measured */
  struct rlimit stack;
  if (getrlimit(RLIMIT_STACK, &stack) != 0 || stack.rlim_cur >= least) return SL_OK;
  const rlim_t found = stack.rlim_cur;
  stack.rlim_cur = stack.rlim_max < least ? stack.rlim_max : least;
  if (stack.rlim_cur >= least && setrlimit(RLIMIT_STACK, &stack) == 0) return SL_OK;
  return sl_fail(SL_ERR_MEMORY, "a stack of %llu KiB (ulimit -s); expected at least %llu",
                 (unsigned long long)(found >> 10), (unsigned long long)(least >> 10));
}

enum sl_status sl_standard_begin(void) {
  open_streams();
  (void)signal(SIGXFSZ, SIG_IGN);
  (void)signal(SIGPIPE, SIG_IGN);
  sl_was_read_begin();
  sl_piped_begin();
  return check_stack();
}

enum sl_status sl_standard_check(void) {
  const int flags = fcntl(STDOUT_FILENO, F_GETFL);
  if (flags >= 0 && (flags & O_ACCMODE) != O_RDONLY) return SL_OK;
  return sl_fail(SL_ERR_IO, "standard output: %s", strerror(EBADF));
}

static bool nobody_reads(int handle) {
  struct pollfd end = {.fd = handle, .events = POLLOUT};
  return poll(&end, 1, 0) == 1 && (end.revents & (POLLERR | POLLHUP)) != 0;
}

enum sl_status sl_standard_flush(void) {
  errno = EIO; /* the error of an earlier write */
  if (fflush(stdout) == 0 && !ferror(stdout)) return SL_OK;
  const int error = errno;
  if (nobody_reads(STDOUT_FILENO)) return SL_OK;
  return sl_fail(SL_ERR_IO, "standard output: %s", strerror(error));
}
