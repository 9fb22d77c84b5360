/* Runs mpirun as a child process and reads its stderr line by line. Lines of ranks are forwarded; mpirun's own notices
 * (framed by lines of dashes) are held back, and one that names a rank killed by a signal is replaced by a line of
 * ours. */
#include "cli/launch.h"

#include "cli/children.h"
#include "cli/process.h"
#include "cli/relay.h"
#include "core/base/launchers.h"
#include "core/base/machine.h"
#include "core/base/mpi_gist.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static bool is_set(const char *name) {
  const char *value = getenv(name);
  return value && *value;
}

bool sl_launch_ours(void) {
  return is_set(SL_LAUNCH_MARK);
}

void sl_launch_mark(void) {
  setenv(SL_LAUNCH_MARK, "1", 1);
}

bool sl_launch_inside(void) {
  const char *tasks = getenv(sl_launchers[SL_LAUNCHER_SLURM].world);
  return is_set(SL_LAUNCH_MARK) || is_set(sl_launchers[SL_LAUNCHER_OPEN_MPI].world) ||
         is_set(sl_launchers[SL_LAUNCHER_PMI].rank) || is_set("PMIX_RANK") ||
         (sl_launcher_rank(SL_LAUNCHER_SLURM) != NULL && tasks && atoi(tasks) > 1);
}

/* --- the child --- */

/* Sets the threads per rank for `ranks` ranks on a host, unless the user has set them. */
static void set_environment(int ranks) {
  char threads[16];
  int cores = sl_machine_cores();
  snprintf(threads, sizeof threads, "%d", cores > ranks ? cores / ranks : 1);
  setenv("OMP_NUM_THREADS", threads, 0);
  setenv("OPENBLAS_NUM_THREADS", getenv("OMP_NUM_THREADS"), 0);
  sl_launch_mark();
}

static void run_child(char *const *arguments, int ranks, int error_pipe[2]) {
  /* mpirun reads standard input for the first rank, which reads none: from a terminal it would be stopped, as it is in
   * the background, and from a pipe or device that says nothing it would not end */
  const int nothing = open("/dev/null", O_RDONLY);
  if (nothing >= 0) dup2(nothing, STDIN_FILENO);
  dup2(error_pipe[1], STDERR_FILENO);
  close(error_pipe[0]);
  close(error_pipe[1]);
  set_environment(ranks);
  sl_children_exec(arguments[0], arguments, 0);
}

/* --- mpirun's stderr --- */

struct notices {
  bool inside, framed; /* between two lines of dashes; the line before this one was such a line */
  char *kept;          /* mpirun's notices, printed if nothing else explains its end; owned */
  size_t kept_bytes;
  bool passed;    /* a rank has printed something */
  bool explained; /* a rank has reported an error, so mpirun's exit status needs no explanation */
  bool over;      /* a rank has reported why it ends, in whatever words, and the job ends with it */
  bool late;      /* a rank has reported a timeout */
  bool here;      /* given: all ranks run on this machine, as children of mpirun */
  bool busy;      /* mpirun has started one of those */
  bool lingered;  /* mpirun had nothing to wait for, yet had to be ended */
  char *said;     /* the first error that a rank reported, without its number, so that it is printed once; owned */
  int rank, signal;
  char host[256], ssh[256]; /* a lost host; ssh's first message about a host that it could not reach */
  struct sl_ended *ended;
};

static bool is_frame(const char *line) {
  return strspn(line, "-") >= 70;
}

/* Whether a notice of Open MPI begins with this line: a frame is missing where the end of a rank cut a notice short. */
static bool begins_notice(const char *line) {
  static const char *const starts[] = {"An MPI communication peer process ", "WARNING: Open MPI ", "ORTE has lost ",
                                       "mpirun noticed that process rank ", "MPI_ABORT was invoked on rank "};
  for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
    if (strncmp(line, starts[i], strlen(starts[i])) == 0) return true;
  return false;
}

/* What mpirun itself says behind its name or path, as in "/usr/bin/mpirun: Error: unknown option"; NULL for other
 * lines. */
static const char *said_by_mpirun(const char *line) {
  static const char name[] = "mpirun: ";
  const char *at = strstr(line, name);
  const bool begins = at == line || (at != NULL && line[0] == '/' && at[-1] == '/');
  return begins ? at + strlen(name) : NULL;
}

static void keep(struct notices *n, const char *line) {
  size_t length = strlen(line);
  char *grown = realloc(n->kept, n->kept_bytes + length + 1);
  if (!grown) return;
  memcpy(grown + n->kept_bytes, line, length + 1);
  n->kept = grown;
  n->kept_bytes += length;
}

/* Whether Open MPI's libraries wrote this line: "[host:pid] ...". */
static bool is_of_mpi(const char *line) {
  static const char *const starts[] = {"[warn] ", "[err] ", /* from libevent, which it contains */
                                       "*** ", "Type '/"};  /* how mpirun's flags are listed */
  for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
    if (strncmp(line, starts[i], strlen(starts[i])) == 0) return true;
  if (line[0] == '[' && strstr(line, "][[") != NULL) return true; /* [host][[job,1],rank][file:line:function] */
  const char *colon = line[0] == '[' ? strchr(line, ':') : NULL;
  return colon != NULL && strspn(colon + 1, "0123456789") > 0 && colon[1 + strspn(colon + 1, "0123456789")] == ']';
}

/* What ranks report after one of them has given up waiting: that they gave up, too, or, from the rank that was waited
 * for and goes on, that files of the others are gone. */
static bool follows_timeout(struct notices *n, const char *line) {
  if (n->late) return strncmp(line, "shardlab: ", 10) == 0;
  n->late = strstr(line, "(SHARDLAB_TIMEOUT_S sets the limit)") != NULL;
  return false;
}

/* For "shardlab: error: rank 2: X" and "shardlab: rank 2: X" the X; NULL for other lines. */
static const char *said_by_rank(const char *line) {
  if (strncmp(line, "shardlab: ", 10) != 0) return NULL;
  line += 10;
  if (strncmp(line, "error: ", 7) == 0) line += 7;
  if (strncmp(line, "rank ", 5) != 0) return line;
  const char *end = line + 5 + strspn(line + 5, "0123456789");
  return strncmp(end, ": ", 2) == 0 ? end + 2 : line;
}

/* An error that all ranks have, such as a truncated file, is printed once. */
static bool is_said_again(struct notices *n, const char *line) {
  const char *what = said_by_rank(line);
  if (what == NULL) return false;
  if (n->said != NULL) return strcmp(n->said, what) == 0;
  n->said = strdup(what);
  return false;
}

/* Whether ssh wrote this line because it could not reach a host. */
static bool is_of_ssh(const char *line) {
  static const char *const starts[] = {"ssh: ", "Host key verification failed",
                                       "kex_exchange_identification: ", "Connection closed by ",
                                       "Connection reset by "};
  for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
    if (strncmp(line, starts[i], strlen(starts[i])) == 0) return true;
  return strstr(line, ": Permission denied (") != NULL && strcspn(line, " ") > strcspn(line, "@");
}

/* Notes the lost host that a line of mpirun, which has lost its daemon there, or of ssh names. False for other
 * lines. */
static bool names_lost_host(struct notices *n, const char *line) {
  static const char *const before[] = {" on node ", "Connection to ", "Timeout, server "};
  for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
    const char *name = strstr(line, before[i]);
    if (name == NULL || (i == 0 ? strstr(line, "Remote daemon: ") == NULL : name != line)) continue;
    name += strlen(before[i]);
    if (n->host[0] == '\0') snprintf(n->host, sizeof n->host, "%.*s", (int)strcspn(name, " \r\n"), name);
    return true;
  }
  return false;
}

static void read_line(void *context, const char *line) {
  struct notices *n = context;
  const char *died = strstr(line, "noticed that process rank "), *by = strstr(line, "exited on signal ");
  if (died && by && n->rank < 0) {
    n->rank = atoi(died + strlen("noticed that process rank "));
    n->signal = atoi(by + strlen("exited on signal "));
  }
  if (names_lost_host(n, line)) return;
  const bool framed = n->framed;
  n->framed = is_frame(line);
  if (n->framed) {
    keep(n, line);
    n->inside = framed || !n->inside; /* of two frames in succession the second begins a notice */
    return;
  }
  n->inside = n->inside || begins_notice(line);
  if (is_of_ssh(line)) { /* about one host; the messages about others are the same */
    if (n->ssh[0] == '\0') snprintf(n->ssh, sizeof n->ssh, "%.*s", (int)strcspn(line, "\r\n"), line);
  } else if (n->inside || is_of_mpi(line) || strstr(line, "sent help message") ||
             strstr(line, "orte_base_help_aggregate")) {
    keep(n, line);
  } else if (said_by_mpirun(line) != NULL) {
    keep(n, said_by_mpirun(line));
    keep(n, "\n"); /* a sentence, whatever follows */
  } else if (sl_children_signal() == 0 && !follows_timeout(n, line) &&
             !is_said_again(n, line)) { /* drops lines about the end of ranks that a signal ends, and repetitions */
    if (n->ended->watched && sl_ended_hear(n->ended, line)) {
      if (n->ended->cause != SL_CAUSE_NONE) n->over = true;
      return;
    }
    fputs(line, stderr);
    if (*line != '\n') n->passed = true;
    if (strncmp(line, "shardlab: error: ", 17) == 0) n->explained = true;
    if (n->explained || strncmp(line, "shardlab: rank ", 15) == 0) n->over = true;
  }
}

/* For how many seconds more mpirun may run: while its job goes on, for ever. When a rank's error, a rank's death or the
 * loss of a host ends the job, mpirun may wait long for a daemon on a lost host. When none of its ranks on this machine
 * runs any more, it may, once in some hundred ranks that die as they start, wait for ever for a lock of its own
 * (PMIx_server_finalize of Open MPI 4.1). Its daemons on hosts are not its children: ssh ends when they have
 * started. */
static double patience_s(struct notices *n, pid_t mpirun) {
  static const double ending = 10, alone = 5;
  const bool busy = n->here && sl_process_has_child(mpirun);
  n->busy = n->busy || busy;
  if (n->busy && !busy) return alone;
  return n->over || n->rank >= 0 || n->host[0] != '\0' ? ending : INFINITY;
}

/* Reads until mpirun closes its stderr; ends an mpirun that has had its time. */
static void read_errors(struct notices *n, int fd, pid_t mpirun) {
  enum { NAP_MS = 500 };
  struct sl_relay relay = {.fd = fd, .line = read_line, .context = n};
  double since = sl_machine_clock(), asked = since;
  while (sl_relay_read(&relay, NAP_MS)) {
    const double now = sl_machine_clock();
    if ((now - asked) * 1000 < NAP_MS) continue; /* text has come */
    asked = now;
    const double patience = patience_s(n, mpirun);
    if (isinf(patience)) since = now;
    if (now - since > patience) n->lingered = kill(-mpirun, SIGKILL) == 0 || n->lingered;
  }
  sl_relay_close(&relay);
}

/* --- the job --- */

/* Has the reader of our standard output, which is mpirun's, ended? Open MPI's mpirun dies of SIGSEGV then, or of an
 * abort that it tells nothing of, or stays, or does not notice. */
static bool nobody_reads(void) {
  struct pollfd output = {.fd = STDOUT_FILENO, .events = POLLOUT};
  return poll(&output, 1, 0) > 0 && (output.revents & POLLERR) != 0;
}

static int conclude(struct notices *n, int how) {
  int code = WIFEXITED(how) ? WEXITSTATUS(how) : 1;
  if (sl_children_signal() != 0) {
    code = 1; /* the user who ended it knows why */
  } else if (n->host[0] != '\0' && !n->explained) {
    sl_ended_tell(n->ended, SL_CAUSE_HOST, -1, n->host, "host %s is gone: it does not answer mpirun any more", n->host);
  } else if (n->ssh[0] != '\0' && code != 0 && !n->explained && n->ended->again) {
    sl_ended_tell(n->ended, SL_CAUSE_HOST, -1, NULL, "a host was not reachable via ssh (%s)", n->ssh);
  } else if (n->ssh[0] != '\0' && code != 0 && !n->explained) {
    fprintf(stderr, "shardlab: error: a host was not reachable via ssh (%s); expected passwordless ssh\n", n->ssh);
  } else if (n->explained) {
    if (code == 0) code = 1;
  } else if (n->rank >= 0) {
    const char *name = sigabbrev_np(n->signal);
    sl_ended_tell(n->ended, SL_CAUSE_DEATH, n->rank, NULL, "rank %d died (signal %d, SIG%s)", n->rank, n->signal,
                  name ? name : "?");
    code = 1;
  } else if (code != 0 && nobody_reads()) {
    fprintf(stderr, "shardlab: error: standard output: %s\n", strerror(EPIPE));
  } else if (n->lingered && n->ended->cause == SL_CAUSE_NONE) {
    sl_ended_tell(n->ended, SL_CAUSE_DEATH, -1, NULL, "mpirun stayed after its ranks had ended");
  } else if (WIFSIGNALED(how) && n->ended->cause == SL_CAUSE_NONE) {
    const char *name = sigabbrev_np(WTERMSIG(how));
    sl_ended_tell(n->ended, SL_CAUSE_DEATH, -1, NULL, "mpirun was ended by signal %d, SIG%s", WTERMSIG(how),
                  name ? name : "?");
  } else if (code != 0 && !n->passed && n->ended->cause == SL_CAUSE_NONE) {
    char gist[SL_MPI_GIST_BYTES];
    sl_mpi_gist(n->kept != NULL ? n->kept : "", gist);
    fprintf(stderr, "shardlab: error: mpirun could not run the job%s%s\n", gist[0] != '\0' ? ": " : "", gist);
  }
  free(n->kept);
  free(n->said);
  return code;
}

static enum sl_status run_job(char *const *arguments, int ranks, bool here, struct sl_ended *ended) {
  int error_pipe[2];
  if (pipe(error_pipe) != 0) return sl_fail(SL_ERR_IO, "a pipe: %s (ulimit -n)", strerror(errno));
  const pid_t pid = sl_children_fork(SIGTERM);
  if (pid < 0) {
    close(error_pipe[0]);
    close(error_pipe[1]);
    return sl_fail(SL_ERR_IO, "fork: %s", strerror(errno));
  }
  if (pid == 0) run_child(arguments, ranks, error_pipe);
  close(error_pipe[1]);
  struct notices notices = {.here = here, .rank = -1, .ended = ended};
  read_errors(&notices, error_pipe[0], pid);
  ended->code = conclude(&notices, sl_children_wait(pid));
  return SL_OK;
}

/* If one of these limits is too low, Open MPI does not fail: mpirun or a rank retries forever. Measured with Open MPI
 * 4.1: shared memory segments are files of 4 MiB and a few pages; mpirun opens 32 files and 4 per rank. */
static enum sl_status check_limits(int world) {
  static const rlim_t segment = 5 << 20, own = 32, each = 4;
  const rlim_t files = own + each * (rlim_t)world;
  struct rlimit size, open_files;
  if (getrlimit(RLIMIT_FSIZE, &size) == 0 && size.rlim_cur < segment)
    return sl_fail(SL_ERR_MEMORY, "files of at most %llu bytes (ulimit -f): MPI's shared memory takes files of %llu",
                   (unsigned long long)size.rlim_cur, (unsigned long long)segment);
  if (getrlimit(RLIMIT_NOFILE, &open_files) != 0 || open_files.rlim_cur >= files) return SL_OK;
  if (open_files.rlim_max < files)
    return sl_fail(SL_ERR_MEMORY, "at most %llu open files (ulimit -n): mpirun takes %llu for %d ranks",
                   (unsigned long long)open_files.rlim_max, (unsigned long long)files, world);
  open_files.rlim_cur = files;
  (void)setrlimit(RLIMIT_NOFILE, &open_files);
  return SL_OK;
}

/* The largest number of ranks on one host. */
static int most_of_a_host(const struct sl_mpi_job *job) {
  int most = job->hosts != NULL ? 1 : job->world;
  for (size_t i = 0; job->hosts != NULL && i < job->hosts->count; i++)
    if (job->hosts->list[i].count > most) most = job->hosts->list[i].count;
  return most;
}

enum sl_status sl_launch_mpi_words(const struct sl_mpi_job *job, struct sl_words *words) {
  static const char *const set[] = {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", SL_LAUNCH_MARK};
  set_environment(most_of_a_host(job));
  sl_words_add(words, "env");
  for (char *const *pair = job->environment; job->hosts != NULL && *pair != NULL; pair++) sl_words_add(words, *pair);
  for (size_t i = 0; i < sizeof set / sizeof *set; i++) sl_words_addf(words, "%s=%s", set[i], getenv(set[i]));
  return sl_mpirun_words(job, NULL, words);
}

enum sl_status sl_launch_mpi(const struct sl_mpi_job *job, struct sl_ended *ended) {
  struct sl_words words = {0};
  enum sl_status status;
  sl_ended_clear(ended);
  if ((job->world <= 1 && job->hosts == NULL && !ended->watched) || sl_launch_inside()) return SL_DONE;
  SL_TRY(check_limits(job->world));
  SL_TRY(sl_children_open());
  SL_GO(sl_mpirun_words(job, sl_children_folder(), &words));
  SL_GO(run_job(words.list, most_of_a_host(job), job->hosts == NULL, ended));
done:
  sl_words_free(&words);
  return status;
}
