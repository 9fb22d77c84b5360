/* Runs ranks as child processes; see launch_ranks.h. They share standard output and standard error. A message that all
 * ranks of the cuda backend would print is printed by one of them. */
#include "cli/launch_ranks.h"

#include "core/base/machine.h"

#include "cli/children.h"
#include "cli/launch.h"
#include "cli/leash.h"
#include "cli/relay.h"
#include "core/base/launchers.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { GRACE_S = 5, LEASH_GRACE_S = 3 /* less than the launcher that holds the leash waits */ };

bool sl_launch_ranks_inside(void) {
  const struct sl_launcher *torchrun = &sl_launchers[SL_LAUNCHER_TORCHRUN];
  const char *rank = getenv(torchrun->rank), *world = getenv(torchrun->world);
  const bool started = rank != NULL && world != NULL && rank[0] >= '0' && rank[0] <= '9' && atoi(world) > 0;
  return started || sl_launch_inside();
}

/* Finds a port of this machine that is not in use. */
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

/* `errors`: where the process that watches the job reads standard error; -1: standard error is inherited. */
static _Noreturn void become_rank(const char *self, const struct sl_ranks *ranks, int local, int errors) {
  const struct sl_launcher *torchrun = &sl_launchers[SL_LAUNCHER_TORCHRUN];
  set_number(torchrun->rank, ranks->first + local);
  set_number(torchrun->local_rank, local);
  set_number(torchrun->world, ranks->world);
  set_number(torchrun->local_world, ranks->here);
  set_number("MASTER_PORT", ranks->master_port);
  setenv("MASTER_ADDR", ranks->master_addr, 1);
  if (ranks->devices != NULL) setenv("CUDA_VISIBLE_DEVICES", ranks->devices, 1);
  if (sl_leash_held()) sl_leash_drop_input();
  if (errors >= 0) dup2(errors, STDERR_FILENO);
  sl_launch_mark();
  sl_children_exec(self, ranks->argv, 0);
}

/* --- the job --- */

static int job_size, job_first; /* its first rank */
static pid_t *job;              /* pids; 0: ended */

static void send_all(int signal_number) {
  for (int i = 0; i < job_size; i++)
    if (job[i] > 0) kill(job[i], signal_number);
}

/* The exit code that a rank's end gives the job; reports a death. */
static int code_of(struct sl_ended *ended, int rank, int how, bool told) {
  if (WIFEXITED(how)) return WEXITSTATUS(how);
  const char *name = sigabbrev_np(WTERMSIG(how));
  if (!told && sl_children_signal() == 0)
    sl_ended_tell(ended, SL_CAUSE_DEATH, rank, NULL, "rank %d died (signal %d, SIG%s)", rank, WTERMSIG(how),
                  name ? name : "?");
  return 1;
}

static int place_of(pid_t pid) {
  int place = 0;
  while (place < job_size && job[place] != pid) place++;
  return place;
}

static void hear(void *context, const char *line) {
  if (sl_children_signal() == 0 && !sl_ended_hear(context, line)) fputs(line, stderr);
}

static void nap(struct sl_relay *errors) {
  if (errors->fd >= 0 && sl_relay_read(errors, 20)) return;
  sl_relay_close(errors);
  nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
}

/* Waits for all ranks. After the first failure, or when the leash is released, the others have GRACE_S before they are
 * killed. */
static int wait_for_all(struct sl_ended *ended, struct sl_relay *errors) {
  int left = job_size, code = 0;
  double deadline = 0;
  bool killed = false, died = false; /* some ranks by us, one by somebody else */
  while (left > 0) {
    int how;
    const pid_t pid = waitpid(-1, &how, code == 0 && !sl_leash_held() && errors->fd < 0 ? 0 : WNOHANG);
    if (pid < 0 && errno == EINTR) continue;
    if (pid < 0) break;
    if (pid == 0) {
      if (code == 0 && !sl_leash_holds())
        killed = true, code = 1, deadline = sl_machine_clock() + LEASH_GRACE_S, send_all(SIGTERM);
      if (code != 0 && sl_machine_clock() > deadline) killed = true, send_all(SIGKILL);
      nap(errors);
      continue;
    }
    const int place = place_of(pid);
    if (place == job_size) continue;
    job[place] = 0;
    sl_children_forget(pid);
    left--;
    /* a rank that missed a dead one may be reaped before it; the launcher of this node needs to know of the death */
    const bool missed_one = code == sl_exit_code(SL_ERR_PEER) && sl_leash_held() && !killed && !died;
    const int own = code_of(ended, job_first + place, how, code != 0 && !missed_one);
    died = died || WIFSIGNALED(how);
    if (code == 0 && own != 0) code = own, deadline = sl_machine_clock() + GRACE_S;
    if (own == sl_exit_code(SL_ERR_DEVICE)) code = own; /* the cause, even if another rank ended first because of it */
  }
  return code;
}

static enum sl_status start_all(const char *self, const struct sl_ranks *ranks, int errors) {
  for (int local = 0; local < ranks->here; local++) {
    const pid_t pid = sl_children_fork(SIGTERM);
    if (pid == 0) become_rank(self, ranks, local, errors);
    if (pid < 0) {
      const int why = errno;
      send_all(SIGKILL);
      return sl_fail(SL_ERR_IO, "rank %d cannot be started: %s", ranks->first + local, strerror(why));
    }
    job[local] = pid;
    job_size = local + 1;
  }
  return SL_OK;
}

enum sl_status sl_launch_ranks(const struct sl_ranks *given, struct sl_ended *ended) {
  struct sl_ranks ranks = *given;
  struct sl_relay errors = {.fd = -1, .line = hear, .context = ended};
  char self[4096];
  int ends[2] = {-1, -1};
  sl_ended_clear(ended);
  SL_TRY(sl_find_self(self, sizeof self));
  if (ranks.master_addr == NULL) ranks.master_addr = "127.0.0.1";
  if (ranks.master_port == 0) SL_TRY(free_port(&ranks.master_port));
  SL_TRY(sl_leash_take());
  SL_TRY(sl_children_open());
  if (ended->watched && pipe2(ends, O_CLOEXEC) != 0)
    return sl_fail(SL_ERR_IO, "a pipe: %s (ulimit -n)", strerror(errno));
  SL_TRY(sl_calloc(&job, (size_t)ranks.here, sizeof *job));
  job_first = ranks.first;
  errors.fd = ends[0];
  const enum sl_status status = start_all(self, &ranks, ends[1]);
  if (ends[1] >= 0) close(ends[1]);
  ended->code = wait_for_all(ended, &errors);
  /* guards keep it open, too, for a while */
  for (int naps = 0; naps < 20 && sl_relay_read(&errors, 50); naps++) continue;
  sl_relay_close(&errors);
  job_size = 0;
  free(job);
  return status;
}
