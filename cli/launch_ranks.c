/* Ranks as child processes; see launch_ranks.h. They share standard output and standard error: of what all the
 * cuda backend's ranks would print, one prints it. */
#include "cli/launch_ranks.h"

#include "core/base/machine.h"

#include "cli/children.h"
#include "cli/launch.h"
#include "core/base/launchers.h"

#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { GRACE_S = 5 };

bool sl_launch_ranks_inside(void) {
  const struct sl_launcher *torchrun = &sl_launchers[SL_LAUNCHER_TORCHRUN];
  const char *rank = getenv(torchrun->rank), *world = getenv(torchrun->world);
  const bool started = rank != NULL && world != NULL && rank[0] >= '0' && rank[0] <= '9' && atoi(world) > 0;
  return started || sl_launch_inside();
}

/* A port of this machine that nobody uses now. */
static enum sl_status free_port(int *port) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof at;
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  const bool found = fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof at) == 0 &&
                     getsockname(fd, (struct sockaddr *)&at, &size) == 0;
  const int why = errno;
  if (fd >= 0) close(fd);
  if (!found) return sl_fail(SL_ERR_IO, "no free port for the ranks to meet: %s", strerror(why));
  *port = ntohs(at.sin_port);
  return SL_OK;
}

static void set_number(const char *name, int value) {
  char text[16];
  snprintf(text, sizeof text, "%d", value);
  setenv(name, text, 1);
}

static _Noreturn void become_rank(const char *self, char **argv, int rank, int world, int port) {
  const struct sl_launcher *torchrun = &sl_launchers[SL_LAUNCHER_TORCHRUN];
  set_number(torchrun->rank, rank);
  set_number(torchrun->local_rank, rank);
  set_number(torchrun->world, world);
  set_number(torchrun->local_world, world);
  set_number("MASTER_PORT", port);
  setenv("MASTER_ADDR", "127.0.0.1", 1);
  sl_launch_mark();
  sl_children_exec(self, argv, 0);
}

/* --- the job --- */

static int job_size;
static pid_t *job; /* 0: over */

static void send_all(int signal_number) {
  for (int i = 0; i < job_size; i++)
    if (job[i] > 0) kill(job[i], signal_number);
}

/* What a rank's end means for the job. */
static int code_of(int rank, int how, bool told) {
  if (WIFEXITED(how)) return WEXITSTATUS(how);
  const char *name = sigabbrev_np(WTERMSIG(how));
  if (!told && sl_children_signal() == 0)
    fprintf(stderr, "shardlab: rank %d died (signal %d, SIG%s); the job was ended\n", rank, WTERMSIG(how),
            name ? name : "?");
  return 1;
}

/* Wait for all. After the first failure the others have GRACE_S, then they are killed. */
static int wait_for_all(int world) {
  int left = world, code = 0;
  double deadline = 0;
  while (left > 0) {
    int how, rank = 0;
    const pid_t pid = waitpid(-1, &how, code == 0 ? 0 : WNOHANG);
    if (pid < 0 && errno == EINTR) continue;
    if (pid < 0) break;
    if (pid == 0) {
      if (sl_machine_clock() > deadline) send_all(SIGKILL);
      nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
      continue;
    }
    while (rank < world && job[rank] != pid) rank++;
    if (rank == world) continue;
    job[rank] = 0;
    sl_children_forget(pid);
    left--;
    const int ended = code_of(rank, how, code != 0);
    if (code == 0 && ended != 0) code = ended, deadline = sl_machine_clock() + GRACE_S;
    if (ended == sl_exit_code(SL_ERR_DEVICE)) code = ended; /* the cause, whoever ended first because of it */
  }
  return code;
}

static enum sl_status start_all(const char *self, char **argv, int world, int port) {
  for (int rank = 0; rank < world; rank++) {
    const pid_t pid = sl_children_fork(SIGTERM);
    if (pid == 0) become_rank(self, argv, rank, world, port);
    if (pid < 0) {
      const int why = errno;
      send_all(SIGKILL);
      return sl_fail(SL_ERR_IO, "rank %d cannot be started: %s", rank, strerror(why));
    }
    job[rank] = pid;
    job_size = rank + 1;
  }
  return SL_OK;
}

enum sl_status sl_launch_ranks(int argc, char **argv, int world, int *exit_code) {
  char self[4096];
  int port = 0;
  (void)argc;
  const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  if (length < 0) return sl_fail(SL_ERR_IO, "/proc/self/exe: %s", strerror(errno));
  self[length] = '\0';
  SL_TRY(free_port(&port));
  SL_TRY(sl_children_open());
  SL_TRY(sl_calloc(&job, (size_t)world, sizeof *job));
  const enum sl_status status = start_all(self, argv, world, port);
  *exit_code = wait_for_all(job_size);
  job_size = 0;
  free(job);
  return status;
}
