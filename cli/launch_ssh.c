/* The ssh processes of a job; see launch_ssh.h. Messages of ssh itself go to one file per host, so that an unreachable
 * host gives one line of ours; output of ranks is forwarded unchanged. */
#include "cli/launch_ssh.h"

#include "cli/children.h"
#include "cli/leash.h"
#include "cli/mpirun.h"
#include "cli/relay.h"
#include "core/base/machine.h"
#include "core/base/printable.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { GRACE_S = 5, PATIENCE_S = 2, SSH_FAILED = 255, NOT_FOUND = 127 };

struct job;

struct node {
  struct job *job;
  const char *host;
  pid_t pid;              /* of its ssh; 0: ended */
  int leash;              /* the write end; -1: released */
  char log[160];          /* the file with its ssh's messages */
  struct sl_relay errors; /* standard error of its ranks */
};

struct job {
  struct node *nodes;
  size_t count;
  struct sl_ended *ended;
  double deadline; /* 0: nothing has failed yet */
  bool explained;  /* a line has explained why the job ended */
  char late[512];  /* the first message of a rank that missed another one; not printed if the cause is explained */
};

static enum sl_status need(const char *name, char *path, size_t size) {
  if (sl_find_program(path, size, name)) return SL_OK;
  return sl_fail(SL_ERR_ABSENT, "launcher '%s' not installed: it is not on PATH", name);
}

/* The last line of a file, without its line end; "" if there is none. */
static void last_line(const char *path, char *out, size_t size) {
  char line[512];
  FILE *in = fopen(path, "r");
  out[0] = '\0';
  while (in != NULL && fgets(line, sizeof line, in) != NULL) {
    line[strcspn(line, "\r\n")] = '\0';
    if (line[0] != '\0') snprintf(out, size, "%.*s", (int)size - 1, line);
  }
  if (in != NULL) fclose(in);
  sl_printable(out, size, false);
}

/* ---- the address of rank 0 ---- */

static _Noreturn void ask(const char *ssh, char *const *words, int to) {
  static const char nothing[] = "/dev/null";
  const int in = open(nothing, O_RDONLY), err = open(nothing, O_WRONLY);
  dup2(in, STDIN_FILENO);
  dup2(to, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  sl_children_exec(ssh, words, 0);
}

enum sl_status sl_launch_ssh_address(const struct sl_remote *given, char **address) {
  struct sl_remote remote = *given;
  struct sl_words words = {0};
  char ssh[4096], log[128], text[256] = "", why[256];
  const char *host = remote.hosts->list[0].name;
  int ends[2], how;
  enum sl_status status;
  *address = NULL;
  SL_TRY(need("ssh", ssh, sizeof ssh));
  SL_TRY(sl_children_open());
  snprintf(log, sizeof log, "%s/ssh-address.log", sl_children_folder());
  remote.ssh_log = log;
  SL_GO(sl_remote_ssh_address(&remote, &words));
  status = SL_ERR_IO;
  if (pipe2(ends, O_CLOEXEC) != 0) SL_GO(sl_fail(SL_ERR_IO, "a pipe: %s (ulimit -n)", strerror(errno)));
  const pid_t pid = sl_children_fork(SIGTERM);
  if (pid == 0) ask(ssh, words.list, ends[1]);
  const int error = errno;
  close(ends[1]);
  FILE *in = fdopen(ends[0], "r");
  if (in != NULL && fgets(text, sizeof text, in) == NULL) text[0] = '\0';
  if (in != NULL)
    fclose(in);
  else
    close(ends[0]);
  if (pid < 0) SL_GO(sl_fail(SL_ERR_IO, "host %s: its ssh cannot be started: %s", host, strerror(error)));
  how = sl_children_wait(pid);
  last_line(log, why, sizeof why);
  text[strcspn(text, " \t\r\n")] = '\0';
  if (how != 0 || text[0] == '\0')
    SL_GO(sl_fail(SL_ERR_INPUT,
                  "host %s was not reachable via ssh%s%s%s; expected passwordless ssh, or --master-addr where it has "
                  "no 'hostname -I'",
                  host, why[0] != '\0' ? " (" : "", why, why[0] != '\0' ? ")" : ""));
  *address = strdup(text);
  status = *address != NULL ? SL_OK : sl_fail(SL_ERR_MEMORY, "out of memory: the master address");
done:
  sl_words_free(&words);
  return status;
}

/* ---- nodes ---- */

/* ssh ignores the signals that end the launcher: it ends when its node has ended, because the leash was released. */
static _Noreturn void become_ssh(const char *ssh, char *const *words, int leash, int errors) {
  static const int spared[] = {SIGINT, SIGTERM, SIGHUP};
  dup2(leash, STDIN_FILENO);
  dup2(errors, STDERR_FILENO);
  for (size_t i = 0; i < sizeof spared / sizeof *spared; i++) (void)signal(spared[i], SIG_IGN);
  (void)signal(SIGPIPE, SIG_DFL);
  sl_children_exec(ssh, words, 0);
}

/* Handles a line from a node. ssh writes one of its messages here even if it has a file for them; if this command is
 * ending the job, the message is dropped. */
static void pass(void *context, const char *line) {
  struct node *node = context;
  struct job *job = node->job;
  char own[300];
  snprintf(own, sizeof own, "Connection to %s closed by remote host.", node->host);
  if (strncmp(line, own, strlen(own)) == 0 || sl_children_signal() != 0) return;
  if (job->ended->watched && sl_ended_hear(job->ended, line)) {
    if (job->ended->cause == SL_CAUSE_DEATH) job->explained = true;
    return;
  }
  const bool of_rank = strncmp(line, "shardlab: rank ", 15) == 0 || strncmp(line, "shardlab: error: ", 17) == 0;
  if (of_rank && (strstr(line, "is gone: its connection") != NULL ||
                  strstr(line, "(SHARDLAB_TIMEOUT_S sets the limit)") != NULL)) {
    if (job->late[0] == '\0') snprintf(job->late, sizeof job->late, "%s", line);
    return;
  }
  if (of_rank) job->explained = true;
  fputs(line, stderr);
}

static enum sl_status start(const struct sl_remote *given, size_t i, const char *ssh, struct node *node) {
  struct sl_remote remote = *given;
  struct sl_words words = {0};
  int ends[4] = {-1, -1, -1, -1}, *const leash = ends, *const errors = ends + 2;
  enum sl_status status;
  snprintf(node->log, sizeof node->log, "%s/ssh-%zu.log", sl_children_folder(), i);
  remote.ssh_log = node->log;
  SL_GO(sl_remote_ssh(&remote, i, &words));
  if (pipe2(leash, O_CLOEXEC) != 0 || pipe2(errors, O_CLOEXEC) != 0)
    SL_GO(sl_fail(SL_ERR_IO, "a pipe: %s (ulimit -n)", strerror(errno)));
  (void)fcntl(leash[1], F_SETFL, O_NONBLOCK);
  const pid_t pid = sl_children_fork(SIGKILL);
  if (pid == 0) become_ssh(ssh, words.list, leash[0], errors[1]);
  if (pid < 0) SL_GO(sl_fail(SL_ERR_IO, "host %s: its ssh cannot be started: %s", node->host, strerror(errno)));
  node->pid = pid;
  node->leash = leash[1];
  node->errors = (struct sl_relay){.fd = errors[0], .line = pass, .context = node};
  leash[1] = errors[0] = -1; /* the node's from here on */
done:
  for (int end = 0; end < 4; end++)
    if (ends[end] >= 0) close(ends[end]);
  sl_words_free(&words);
  return status;
}

static void let_go(struct job *job) {
  for (size_t i = 0; i < job->count; i++) {
    if (job->nodes[i].leash >= 0) close(job->nodes[i].leash);
    job->nodes[i].leash = -1;
  }
}

static void kill_all(const struct job *job) {
  for (size_t i = 0; i < job->count; i++)
    if (job->nodes[i].pid > 0) kill(job->nodes[i].pid, SIGKILL);
}

/* Whether ssh had reached the host before it failed. */
static bool was_there(const char *line) {
  static const char *const starts[] = {"Timeout, server", "Connection to ",      "Connection closed by",
                                       "client_loop:",    "Connection reset by", "Read from remote host",
                                       "packet_write",    "Disconnected from"};
  for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
    if (strncmp(line, starts[i], strlen(starts[i])) == 0) return true;
  return line[0] == '\0';
}

/* Explains why a node's ssh ended, unless its ranks do. */
static bool explain(const struct node *node, int code, const char *program) {
  struct sl_ended *ended = node->job->ended;
  char line[300];
  last_line(node->log, line, sizeof line);
  if (code == NOT_FOUND)
    fprintf(stderr, "shardlab: error: host %s: has no program %s; expected it at the same path on every host\n",
            node->host, sl_printable_of(program).text);
  else if (code == SSH_FAILED && !was_there(line) && ended->again)
    sl_ended_tell(ended, SL_CAUSE_HOST, -1, node->host, "host %s was not reachable via ssh (%s)", node->host, line);
  else if (code == SSH_FAILED && !was_there(line))
    fprintf(stderr, "shardlab: error: host %s was not reachable via ssh (%s); expected passwordless ssh\n", node->host,
            line);
  else if (code == SSH_FAILED)
    sl_ended_tell(ended, SL_CAUSE_HOST, -1, node->host, "host %s is gone: %s", node->host,
                  line[0] != '\0' ? line : "what ssh had started there was killed, or the connection ended");
  return code == NOT_FOUND || code == SSH_FAILED;
}

/* An error is expected of a node that was let go. One whose ranks have only missed others explains nothing: a lost host
 * may end after it. */
static void end_node(struct job *job, struct node *node, int how, const char *program) {
  const int code = WIFEXITED(how) ? WEXITSTATUS(how) : SSH_FAILED;
  const bool released = node->leash < 0;
  node->pid = 0;
  /* reads to the end, unless a shared ssh connection keeps the pipe open */
  for (int naps = 0; naps < 20 && sl_relay_read(&node->errors, 50); naps++) continue;
  sl_relay_close(&node->errors);
  if (node->leash >= 0) close(node->leash);
  node->leash = -1;
  if (code == 0) return;
  if (!released && !job->explained && sl_children_signal() == 0) job->explained = explain(node, code, program);
  if (job->deadline == 0) job->deadline = sl_machine_clock() + GRACE_S;
  if (job->ended->code == 0) job->ended->code = code == SSH_FAILED || code == NOT_FOUND ? 1 : code;
}

static void watch(struct job *job, const char *program) {
  double pulled = 0;
  size_t left = job->count;
  while (left > 0) {
    int how;
    const double now = sl_machine_clock();
    const pid_t pid = waitpid(-1, &how, WNOHANG);
    if (pid < 0 && errno != EINTR) break;
    for (size_t i = 0; pid > 0 && i < job->count; i++) {
      if (job->nodes[i].pid != pid) continue;
      sl_children_forget(pid);
      end_node(job, &job->nodes[i], how, program);
      left--;
    }
    if (pid > 0) continue;
    for (size_t i = 0; i < job->count; i++) {
      struct sl_relay *errors = &job->nodes[i].errors;
      if (errors->fd >= 0 && !sl_relay_read(errors, 0)) sl_relay_close(errors);
    }
    if (sl_children_signal() != 0 && job->deadline == 0) job->ended->code = 1, job->deadline = now + GRACE_S;
    /* if a node has ended without an explanation, another one may give it, and gets a moment */
    const bool said = job->explained || sl_children_signal() != 0;
    if (job->deadline > 0 && (said || now > job->deadline - GRACE_S + PATIENCE_S)) let_go(job);
    if (job->deadline > 0 && now > job->deadline) kill_all(job);
    for (size_t i = 0; now - pulled >= 1 && i < job->count; i++)
      if (job->nodes[i].leash >= 0) sl_leash_pull(job->nodes[i].leash);
    if (now - pulled >= 1) pulled = now;
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
  }
}

enum sl_status sl_launch_ssh(const struct sl_remote *remote, struct sl_ended *ended) {
  struct job job = {.count = remote->hosts->count, .ended = ended};
  char ssh[4096];
  enum sl_status status = SL_OK;
  sl_ended_clear(ended);
  SL_TRY(need("ssh", ssh, sizeof ssh));
  SL_TRY(sl_children_open());
  SL_TRY(sl_calloc(&job.nodes, job.count, sizeof *job.nodes));
  (void)signal(SIGPIPE, SIG_IGN); /* a lost node is noticed by the end of its ssh */
  for (size_t i = 0; i < job.count; i++)
    job.nodes[i] = (struct node){.job = &job, .host = remote->hosts->list[i].name, .leash = -1, .errors = {.fd = -1}};
  size_t started = 0;
  while (status == SL_OK && started < job.count) {
    status = start(remote, started, ssh, &job.nodes[started]);
    if (status == SL_OK) started++;
  }
  job.count = started;
  if (status != SL_OK) ended->code = 1, job.deadline = sl_machine_clock() + GRACE_S;
  watch(&job, remote->program);
  if (!job.explained && sl_children_signal() == 0) fputs(job.late, stderr);
  let_go(&job);
  free(job.nodes);
  return status;
}

/* ---- srun ---- */

enum sl_status sl_launch_srun(const struct sl_remote *remote, struct sl_ended *ended) {
  struct sl_words words = {0};
  char srun[4096];
  enum sl_status status;
  sl_ended_clear(ended);
  SL_GO(sl_remote_srun(remote, &words));
  SL_GO(need("srun", srun, sizeof srun));
  SL_GO(sl_children_open());
  const pid_t pid = sl_children_fork(SIGTERM);
  if (pid == 0) sl_children_exec(srun, words.list, 0);
  if (pid < 0) SL_GO(sl_fail(SL_ERR_IO, "fork: %s", strerror(errno)));
  const int how = sl_children_wait(pid);
  ended->code = WIFEXITED(how) ? WEXITSTATUS(how) : 1;
  if (WIFSIGNALED(how)) status = sl_children_status(how, "srun");
done:
  sl_words_free(&words);
  return status;
}
