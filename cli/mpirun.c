/* The command line of mpirun; see mpirun.h. */
#include "cli/mpirun.h"

#include "cli/launch.h"
#include "core/launch/remote.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static bool is_set(const char *name) {
  const char *value = getenv(name);
  return value && *value;
}

bool sl_find_program(char *out, size_t size, const char *name) {
  const char *path = getenv("PATH");
  while (path && *path) {
    size_t length = strcspn(path, ":");
    int wrote = snprintf(out, size, "%.*s/%s", (int)length, path, name);
    if (wrote > 0 && (size_t)wrote < size && access(out, X_OK) == 0) return true;
    path += length + (path[length] == ':');
  }
  return false;
}

enum sl_status sl_find_self(char *out, size_t size) {
  const ssize_t length = readlink("/proc/self/exe", out, size - 1);
  if (length < 0) return sl_fail(SL_ERR_IO, "/proc/self/exe: %s", strerror(errno));
  out[length] = '\0';
  return SL_OK;
}

/* --- whether one process may read another's memory --- */

static volatile int probe_word = 4711;

static pid_t fork_holder(void) {
  pid_t pid = fork();
  if (pid != 0) return pid;
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY); /* as Open MPI does */
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (;;) pause();
}

/* Open MPI copies large messages from process to process (CMA) and aborts if a container forbids that, so this tries it
 * first, between siblings, as ranks are. */
static bool may_read_siblings(void) {
  pid_t holder = fork_holder();
  if (holder < 0) return false;
  usleep(2000); /* time for the holder to declare itself */
  pid_t reader = fork();
  if (reader == 0) {
    int got = 0;
    struct iovec here = {&got, sizeof got}, there = {(void *)(size_t)&probe_word, sizeof probe_word};
    bool read = process_vm_readv(holder, &here, 1, &there, 1, 0) == (ssize_t)sizeof got && got == probe_word;
    _exit(read ? 0 : 1);
  }
  int how = 1;
  if (reader > 0) waitpid(reader, &how, 0);
  kill(holder, SIGKILL);
  waitpid(holder, NULL, 0);
  return reader > 0 && WIFEXITED(how) && WEXITSTATUS(how) == 0;
}

/* --- the command line --- */

static void add_mca(struct sl_words *words, const char *name, const char *value) {
  char variable[128];
  snprintf(variable, sizeof variable, "OMPI_MCA_%s", name);
  if (is_set(variable)) return; /* the user's own setting */
  sl_words_add(words, "--mca");
  sl_words_add(words, name);
  sl_words_add(words, value);
}

/* Transports that none of our messages use. If they are installed, Open MPI opens them all the same, and libfabric
 * reads the kernel's symbol list in every rank: half of the time in which a job starts. */
#define NO_MESSAGES "openib,usnic,ofi"

/* Options for ranks on this machine, which talk through its memory. */
static void add_here(const char *folder, struct sl_words *words) {
  static const char *const forward[] = {"-x", "OMP_NUM_THREADS", "-x", "OPENBLAS_NUM_THREADS",
                                        "-x", SL_LAUNCH_MARK,    NULL};
  sl_words_add_all(words, forward);
  add_mca(words, "pml", "ob1");               /* what passes messages on by btl; others would be opened and asked */
  add_mca(words, "btl", "^tcp," NO_MESSAGES); /* sockets are not needed and take time */
  if (!is_set("OMPI_MCA_btl_vader_single_copy_mechanism") && !may_read_siblings())
    add_mca(words, "btl_vader_single_copy_mechanism", "none");
  if (folder == NULL) return;
  /* where Open MPI keeps sockets and shared memory, which are removed with the folder */
  const char *const places[] = {"--mca", "orte_tmpdir_base", folder, "--mca", "btl_vader_backing_directory", folder,
                                NULL};
  sl_words_add_all(words, places);
}

/* Options for other hosts: slots as ranks, host after host. A lost host is noticed within 15 s, by mpirun and by its
 * daemons, which end their ranks. */
static void add_hosts(const struct sl_mpi_job *job, struct sl_words *words) {
  struct sl_words ssh = {0};
  const struct sl_remote remote = {.hosts = job->hosts, .ssh_port = job->ssh_port};
  char *list = NULL;
  size_t size;
  FILE *out = open_memstream(&list, &size);
  for (size_t i = 0; out != NULL && i < job->hosts->count; i++)
    fprintf(out, "%s%s:%d", i > 0 ? "," : "", job->hosts->list[i].name, job->hosts->list[i].count);
  if (out != NULL) fclose(out);
  sl_words_add(words, "--host");
  sl_words_add(words, list != NULL ? list : "");
  free(list);
  sl_words_add(words, "--map-by");
  sl_words_add(words, "slot");
  static const char *const forward[] = {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", SL_LAUNCH_MARK};
  for (size_t i = 0; i < sizeof forward / sizeof *forward; i++)
    sl_words_add(words, "-x"), sl_words_add(words, forward[i]);
  for (char *const *pair = job->environment; *pair != NULL; pair++) {
    sl_words_add(words, "-x");
    sl_words_addf(words, "%.*s", (int)strcspn(*pair, "="), *pair); /* only the name: the value is in our environment */
  }
  sl_remote_ssh_options(&remote, &ssh);
  char *line = ssh.list != NULL ? sl_words_line(ssh.list) : NULL;
  add_mca(words, "plm_rsh_agent", "ssh");
  add_mca(words, "plm_rsh_args", line != NULL ? line : "");
  add_mca(words, "plm_rsh_no_tree_spawn", "1"); /* then only this machine needs to reach the others by ssh */
  add_mca(words, "btl", "^" NO_MESSAGES);
  add_mca(words, "oob_tcp_keepalive_time", "5");
  add_mca(words, "oob_tcp_keepalive_intvl", "3");
  add_mca(words, "oob_tcp_keepalive_probes", "3");
  if (line == NULL) words->short_of_memory = 1;
  free(line);
  sl_words_free(&ssh);
}

enum sl_status sl_mpirun_words(const struct sl_mpi_job *job, const char *folder, struct sl_words *words) {
  char mpirun[4096], self[4096];
  if (!sl_find_program(mpirun, sizeof mpirun, "mpirun"))
    return sl_fail(SL_ERR_ABSENT,
                   "%d ranks need mpirun, which is not on PATH: install Open MPI (Debian and Ubuntu: "
                   "apt install openmpi-bin), or use --world 1",
                   job->world);
  SL_TRY(sl_find_self(self, sizeof self));
  sl_words_add(words, mpirun);
  sl_words_add(words, "-np");
  sl_words_addf(words, "%d", job->world);
  static const char *const always[] = {"--bind-to", "none", /* ranks have several threads, so binding each to one core
                                                             * would be wrong */
                                       "--oversubscribe", NULL};
  sl_words_add_all(words, always);
  if (geteuid() == 0) sl_words_add(words, "--allow-run-as-root");
  if (job->hosts != NULL)
    add_hosts(job, words);
  else
    add_here(folder, words);
  static const char *const last[] = {"--mca", "opal_signal", "", NULL}; /* a rank that crashes prints no stack trace */
  sl_words_add_all(words, last);
  sl_words_add(words, self);
  for (char *const *word = job->arguments; *word != NULL; word++)
    sl_words_add(words, strcmp(*word, ":") == 0 ? "./:" : *word); /* mpirun takes a lone colon as the end of a
                                                                   * command */
  return sl_words_check(words);
}
