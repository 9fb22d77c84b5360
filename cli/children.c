/* Children, the signals to them, and the janitor; see children.h. */
#include "cli/children.h"

#include "cli/process.h"
#include "core/base/made.h"
#include "core/base/new_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 256, OUTPUTS = 8, GRACE_S = 5 };

static const char *const parent_variable = "SHARDLAB_PARENT"; /* the process of this program that started this one */

static struct {
  const char *path;
  int parts;
} outputs[OUTPUTS];
static int output_count;

static const char *const places[] = {"/dev/shm", "/tmp"}; /* of the folder */
enum { PLACES = sizeof places / sizeof *places };
static char folder_name[48], folder[64]; /* "": none yet */
static int to_janitor = -1;      /* pipe of pids: a positive one when a child begins, the negative one when it ends */
static pid_t janitor, opened_by; /* a forked child inherits the variables, but not the duties */

static volatile sig_atomic_t children[MOST]; /* pids; 0: unused */
static volatile sig_atomic_t received;

void sl_children_name_output(const char *path, int parts) {
  if (path == NULL || output_count == OUTPUTS) return;
  outputs[output_count].path = path;
  outputs[output_count++].parts = parts;
}

const char *sl_children_folder(void) {
  return folder;
}

bool sl_children_of_ours(void) {
  const char *parent = getenv(parent_variable);
  return parent != NULL && atol(parent) == (long)getppid();
}

int sl_children_signal(void) {
  return received;
}

/* ---- signals ---- */

static void to_all(int number, int groups) {
  for (int i = 0; i < MOST; i++)
    if (children[i] > 0) kill(groups ? -(pid_t)children[i] : (pid_t)children[i], number);
}

static void on_signal(int number) {
  const int error = errno;
  if (number == SIGALRM || received != 0) {
    to_all(SIGKILL, 1);
  } else {
    received = number;
    to_all(number, 0);
    alarm(GRACE_S);
  }
  errno = error;
}

static const int passed[] = {SIGINT, SIGTERM, SIGHUP, SIGALRM};
enum { PASSED = sizeof passed / sizeof *passed };

static void handle_signals(void (*handler)(int)) {
  for (int i = 0; i < PASSED; i++)
    (void)sigaction(passed[i], &(struct sigaction){.sa_handler = handler, .sa_flags = SA_RESTART}, NULL);
}

/* ---- strays ---- */

static void nap(void) {
  nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
}

/* Whether a process runs this program. One that is ending runs none any more, and might have run this one. */
static bool is_of_this_program(pid_t pid) {
  char path[48];
  struct stat ours, its;
  snprintf(path, sizeof path, "/proc/%ld/exe", (long)pid);
  if (stat(path, &its) != 0) return errno == ENOENT;
  return stat("/proc/self/exe", &ours) == 0 && ours.st_dev == its.st_dev && ours.st_ino == its.st_ino;
}

static bool is_listed(pid_t pid) {
  bool found = pid == janitor;
  for (int i = 0; i < MOST; i++) found = found || (pid_t)children[i] == pid;
  return found;
}

/* A stray is a process of this program that a child, such as mpirun, left behind when it ended. It became a child of
 * this process then (PR_SET_CHILD_SUBREAPER). Returns whether one still runs. */
static bool has_stray(bool kill_it) {
  pid_t found[MOST];
  bool left = false;
  const int count = sl_process_children(getpid(), found, MOST);
  for (int i = 0; i < count; i++) {
    if (is_listed(found[i]) || !is_of_this_program(found[i]) || waitpid(found[i], NULL, WNOHANG) != 0) continue;
    if (kill_it) kill(found[i], SIGKILL);
    left = true;
  }
  return left;
}

/* Strays end by themselves: a rank receives SIGKILL when its mpirun dies, and its guard sees the rank's end. */
static void wait_for_strays(void) {
  static const int patience = GRACE_S * 50, death = 50;
  for (int naps = 0; naps < patience + death && has_stray(naps >= patience); naps++) nap();
}

/* Ends the children that an error left. */
static void end_listed(void) {
  to_all(SIGKILL, 1);
  for (int i = 0; i < MOST; i++) {
    for (int naps = 0; naps < 50 && children[i] > 0 && waitpid((pid_t)children[i], NULL, WNOHANG) == 0; naps++) nap();
    children[i] = 0;
  }
}

/* ---- temporary files ---- */

/* Removes everything below `path`; links are removed, not followed. */
static void remove_below(const char *path) {
  DIR *list = opendir(path);
  for (struct dirent *entry; list != NULL && (entry = readdir(list)) != NULL;) {
    char below[4200];
    struct stat info;
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    if (snprintf(below, sizeof below, "%s/%s", path, entry->d_name) >= (int)sizeof below) continue;
    if (lstat(below, &info) == 0 && S_ISDIR(info.st_mode)) {
      remove_below(below);
      (void)rmdir(below);
    } else {
      (void)unlink(below);
    }
  }
  if (list != NULL) closedir(list);
}

void sl_children_sweep(void) {
  for (int i = 0; i < output_count; i++) sl_new_file_sweep(outputs[i].path, outputs[i].parts);
}

static void remove_all(void) {
  sl_children_sweep();
  sl_made_remove();
  if (folder[0] == '\0') return;
  remove_below(folder);
  (void)rmdir(folder);
}

void sl_children_tidy(void) {
  wait_for_strays();
  sl_children_sweep();
  if (folder[0] != '\0') remove_below(folder);
}

/* ---- the janitor ---- */

/* They received their signal when this process's parent died. */
static void wait_for_orphans(const pid_t *alive) {
  for (int i = 0; i < MOST; i++) {
    if (alive[i] == 0) continue;
    for (int naps = 0; naps < GRACE_S * 50 && kill(alive[i], 0) == 0; naps++) nap();
    if (kill(-alive[i], SIGKILL) == 0) nap();
  }
}

/* Its name is unpredictable, and known before it exists, to the janitor too. */
static void name_folder(int place) {
  snprintf(folder, sizeof folder, "%s/%s", places[place], folder_name);
}

static _Noreturn void keep_watch(int from_parent) {
  pid_t alive[MOST] = {0}, word;
  setpgid(0, 0);
  handle_signals(SIG_IGN);
  prctl(PR_SET_NAME, "shardlab-clean");
  for (int handle = 0; handle < 1024; handle++) /* whoever reads our output must not wait for the janitor */
    if (handle != from_parent) (void)close(handle);
  while (read(from_parent, &word, sizeof word) == (ssize_t)sizeof word) {
    int i = 0;
    while (i < MOST && alive[i] != (word > 0 ? 0 : -word)) i++;
    if (i < MOST) alive[i] = word > 0 ? word : 0;
  }
  wait_for_orphans(alive);
  for (int i = 0; i < PLACES; i++) {
    name_folder(i);
    remove_all();
  }
  _exit(0);
}

static void tell_janitor(pid_t word) {
  if (to_janitor >= 0 && write(to_janitor, &word, sizeof word) < 0) to_janitor = -1;
}

static enum sl_status make_folder(void) {
  for (int i = 0; i < PLACES; i++) {
    name_folder(i);
    if (mkdir(folder, 0700) == 0) return SL_OK;
  }
  folder[0] = '\0';
  return sl_fail(SL_ERR_IO, "/tmp: no folder can be made in it: %s", strerror(errno));
}

static enum sl_status start_janitor(void) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return sl_fail(SL_ERR_IO, "a pipe: %s (ulimit -n)", strerror(errno));
  fflush(NULL);
  janitor = fork();
  if (janitor == 0) {
    close(ends[1]);
    keep_watch(ends[0]);
  }
  close(ends[0]);
  to_janitor = ends[1];
  if (janitor < 0) return sl_fail(SL_ERR_IO, "fork: %s", strerror(errno));
  /* the janitor does the same, but perhaps only after a signal to our group */
  (void)setpgid(janitor, janitor);
  return SL_OK;
}

/* The janitor is there before the folder, so that no moment of death leaves one. */
enum sl_status sl_children_open(void) {
  enum sl_status status;
  char job[24];
  uint32_t word = 0;
  if (opened_by == getpid()) return SL_OK;
  sl_new_file_name_job(job, sizeof job);
  if (getrandom(&word, sizeof word, 0) != (ssize_t)sizeof word) word = (uint32_t)getpid();
  snprintf(folder_name, sizeof folder_name, "shardlab-%s-%08" PRIx32, job, word);
  opened_by = getpid();
  (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
  memset((void *)(size_t)children, 0, sizeof children);
  SL_GO_FAIL(start_janitor());
  SL_GO_FAIL(make_folder());
  (void)setenv("TMPDIR", folder, 1);
  handle_signals(on_signal);
  return SL_OK;
fail:
  sl_children_close();
  return status;
}

void sl_children_close(void) {
  sl_made_remove();
  if (opened_by != getpid()) return;
  opened_by = 0;
  end_listed();
  wait_for_strays();
  remove_all();
  if (janitor > 0) kill(janitor, SIGKILL); /* nothing is left for it to do */
  if (to_janitor >= 0) close(to_janitor);
  to_janitor = -1;
  if (janitor > 0)
    while (waitpid(janitor, NULL, 0) < 0 && errno == EINTR) continue;
  folder[0] = '\0';
  alarm(0);
  handle_signals(SIG_DFL);
  if (received != 0) raise(received);
}

/* ---- children ---- */

static void enter(int death_signal, pid_t parent, const sigset_t *mask) {
  setpgid(0, 0);
  handle_signals(SIG_DFL);
  (void)signal(SIGPIPE, SIG_DFL); /* programs that are not ours may rely on it */
  opened_by = 0;
  prctl(PR_SET_PDEATHSIG, death_signal);
  if (getppid() != parent) _exit(1); /* the parent died before the death signal was set */
  sigprocmask(SIG_SETMASK, mask, NULL);
}

pid_t sl_children_fork(int death_signal) {
  sigset_t all, before;
  int place = 0;
  const pid_t parent = getpid();
  while (place < MOST && children[place] != 0) place++;
  if (place == MOST) {
    errno = EAGAIN;
    return -1;
  }
  fflush(NULL);
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before); /* no signal may arrive between fork and the entry in the list */
  const pid_t child = fork();
  if (child == 0) enter(death_signal, parent, &before);
  if (child > 0) {
    setpgid(child, child);
    children[place] = child;
    tell_janitor(child);
  }
  const int error = errno;
  sigprocmask(SIG_SETMASK, &before, NULL);
  if (child > 0 && received != 0) kill(child, received); /* a signal arrived when this child was not in the list yet */
  errno = error;
  return child;
}

_Noreturn void sl_children_exec(const char *program, char *const *arguments, int aside) {
  char parent[24];
  snprintf(parent, sizeof parent, "%ld", (long)getppid());
  (void)setenv(parent_variable, parent, 1);
  if (aside) dup2(STDERR_FILENO, STDOUT_FILENO);
  execv(program, arguments);
  _exit(127);
}

void sl_children_forget(pid_t child) {
  for (int i = 0; i < MOST; i++)
    if (children[i] == child) children[i] = 0;
  tell_janitor(-child);
}

int sl_children_wait(pid_t child) {
  int how = 0;
  while (waitpid(child, &how, 0) < 0 && errno == EINTR) continue;
  sl_children_forget(child);
  return how;
}

enum sl_status sl_children_status(int how, const char *what) {
  if (WIFEXITED(how) && WEXITSTATUS(how) == 0) return SL_OK;
  if (WIFEXITED(how) && WEXITSTATUS(how) == 127) return sl_fail(SL_ERR_ABSENT, "%s is not there", what);
  if (WIFSIGNALED(how) && received == 0) {
    const char *name = sigabbrev_np(WTERMSIG(how));
    return sl_fail(SL_ERR_PEER, "%s was ended by signal %d, SIG%s", what, WTERMSIG(how), name != NULL ? name : "?");
  }
  return WIFEXITED(how) && WEXITSTATUS(how) == 2 ? SL_ERR_INPUT : SL_ERR_PEER; /* the child has printed the reason */
}
