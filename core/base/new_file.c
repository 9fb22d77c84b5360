/* Writes files that appear complete or not at all; see new_file.h. */
#include "core/base/new_file.h"

#include "core/base/file.h"
#include "core/base/made.h"
#include "core/base/remove.h"
#include "core/base/was_read.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

static const char job_variable[] = "SHARDLAB_JOB";

/* ---- the name of the job ---- */

static uint64_t hash_word(uint64_t hash, const char *word) {
  for (; *word != '\0'; word++) hash = (hash ^ (unsigned char)*word) * UINT64_C(1099511628211); /* FNV-1a */
  return hash;
}

/* A value that a foreign launcher gives to all processes of a job, and to no others; 0 if there is none. */
static uint64_t launcher_word(void) {
  static const char *const variables[] = {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "PMI_ID_JOB",  "SLURM_JOB_ID",
                                          "SLURM_STEP_ID",  "TORCHELASTIC_RUN_ID",     "MASTER_PORT", "MASTER_ADDR"};
  uint64_t hash = UINT64_C(14695981039346656037);
  bool any = false;
  for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
    const char *word = getenv(variables[i]);
    if (word == NULL) continue;
    hash = hash_word(hash, word);
    any = true;
  }
  return any ? hash : 0;
}

void sl_new_file_name_job(char *out, size_t size) {
  const char *given = getenv(job_variable);
  if (given != NULL && given[0] != '\0' && strspn(given, "0123456789abcdef") == strlen(given) && strlen(given) <= 16) {
    snprintf(out, size, "%s", given);
    return;
  }
  uint64_t word = launcher_word();
  if (word == 0 && getrandom(&word, sizeof word, 0) != (ssize_t)sizeof word) word = (uint64_t)getpid();
  snprintf(out, size, "%016" PRIx64, word);
  (void)setenv(job_variable, out, 1);
}

char *sl_new_file_hidden(const char *path, int part) {
  char job[24];
  sl_new_file_name_job(job, sizeof job);
  const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
  const size_t size = strlen(path) + 64;
  char *hidden = malloc(size);
  if (hidden != NULL) snprintf(hidden, size, "%.*s.%.200s.%s.%d.tmp", (int)(name - path), path, name, job, part);
  return hidden;
}

void sl_new_file_sweep(const char *path, int parts) {
  for (int part = 0; part < parts && path != NULL; part++) {
    char *hidden = sl_new_file_hidden(path, part);
    if (hidden != NULL) sl_remove_unheld(hidden); /* its writer may still be alive and about to rename it */
    free(hidden);
  }
}

/* ---- hidden files of this process, removed if a signal ends it ---- */

enum { MOST_HIDDEN = 16 };
static _Atomic(char *) hidden_files[MOST_HIDDEN];

void sl_new_file_drop_all(void) {
  static char *taken[MOST_HIDDEN]; /* a signal handler must not free */
  for (int i = 0; i < MOST_HIDDEN; i++) {
    taken[i] = atomic_exchange(&hidden_files[i], NULL); /* from now on nobody can rename it */
    if (taken[i] != NULL) sl_remove(taken[i]);
  }
}

static void drop_and_die(int signal) {
  sl_new_file_drop_all();
  sl_made_remove();
  (void)raise(signal); /* SA_RESETHAND: this time with the default action */
}

void sl_new_file_watch(void) {
  static const int ends[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGXCPU};
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
    struct sigaction now;
    if (sigaction(ends[i], NULL, &now) != 0 || now.sa_handler != SIG_DFL) continue;
    const struct sigaction ours = {.sa_handler = drop_and_die, .sa_flags = SA_RESETHAND};
    (void)sigaction(ends[i], &ours, NULL);
  }
}

/* False: the table is full. */
static bool remember(const char *hidden) {
  char *copy = strdup(hidden);
  if (copy == NULL) return false;
  for (int i = 0; i < MOST_HIDDEN; i++) {
    char *none = NULL;
    if (!atomic_compare_exchange_strong(&hidden_files[i], &none, copy)) continue;
    sl_new_file_watch();
    return true;
  }
  free(copy);
  return false;
}

/* Threads forget one at a time, because they compare each other's names. A name is freed one call later, since a signal
 * handler takes no lock and may be reading it. False: a handler has taken it, to remove the file. */
static bool forget(const char *hidden) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static char *retired[MOST_HIDDEN];
  bool found = false;
  pthread_mutex_lock(&lock);
  for (int i = 0; i < MOST_HIDDEN; i++) {
    char *copy = atomic_load(&hidden_files[i]);
    if (copy == NULL || strcmp(copy, hidden) != 0) continue;
    if (!atomic_compare_exchange_strong(&hidden_files[i], &copy, NULL)) continue;
    free(retired[i]);
    retired[i] = copy;
    found = true;
  }
  pthread_mutex_unlock(&lock);
  return found;
}

void sl_new_file_drop(const char *hidden) {
  if (hidden == NULL) return;
  sl_remove(hidden);
  forget(hidden);
}

/* ---- files ---- */

enum sl_status sl_new_file_fail(const char *path, const char *what) {
  return sl_fail(SL_ERR_IO, "%s: cannot %s: %s", path, what, strerror(errno));
}

/* The folder of `path`, to be freed; NULL if out of memory. */
static char *folder_of(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash != NULL ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
}

/* Never one of the standard streams, even if they were closed when this program began. */
static int above_standard(int handle) {
  if (handle < 0 || handle > STDERR_FILENO) return handle;
  const int moved = fcntl(handle, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int error = errno;
  close(handle);
  errno = error;
  return moved;
}

/* Hidden files are recorded before they exist, as a signal may arrive in between. */
int sl_new_file_create(const char *hidden) {
  (void)unlink(hidden);
  const bool known = remember(hidden);
  const int handle = above_standard(open(hidden, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
  const int error = errno;
  if (handle < 0 && known) forget(hidden);
  errno = error;
  return handle;
}

enum sl_status sl_new_folder_create(const char *hidden) {
  sl_remove(hidden);
  if (!remember(hidden)) return sl_fail(SL_ERR_MEMORY, "%s: cannot be created: out of memory", hidden);
  if (mkdir(hidden, 0777) == 0) return SL_OK;
  const enum sl_status status = sl_new_file_fail(hidden, "be created");
  forget(hidden);
  return status;
}

/* A rename is durable once its folder is synced. Where a folder cannot be opened or synced at all (EINVAL), only that
 * guarantee is lost; a failing disk reports its error here for the last time. */
static enum sl_status sync_folder(const char *path) {
  char *folder = folder_of(path);
  const int handle = folder != NULL ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
  free(folder);
  if (handle < 0) return SL_OK;
  const enum sl_status status =
      fsync(handle) == 0 || errno == EINVAL || errno == ENOTSUP ? SL_OK : sl_new_file_fail(path, "reach the disk");
  close(handle);
  return status;
}

enum sl_status sl_new_file_check(const char *flag, const char *path) {
  struct stat info;
  if (path == NULL || stat(path, &info) != 0 || S_ISREG(info.st_mode)) return SL_OK;
  return sl_fail(SL_ERR_INPUT, "%s%s%s: is not a plain file; expected a file to write", flag != NULL ? flag : "",
                 flag != NULL ? ": " : "", path);
}

enum sl_status sl_new_file_rename(const char *hidden, const char *path) {
  SL_TRY(sl_new_file_check(NULL, path)); /* it may have come since the file was begun */
  if (rename(hidden, path) != 0) return sl_new_file_fail(path, "be put in place");
  forget(hidden);
  return sync_folder(path);
}

/* A folder can replace one that has files only by exchanging their names, which not every file system supports
 * (EINVAL). */
static int put_in_place(const char *hidden, const char *path) {
  if (renameat2(AT_FDCWD, hidden, AT_FDCWD, path, RENAME_NOREPLACE) == 0) return 0;
  if (errno == EEXIST && renameat2(AT_FDCWD, hidden, AT_FDCWD, path, RENAME_EXCHANGE) == 0) return 0;
  return errno == EINVAL || errno == ENOSYS ? rename(hidden, path) : -1;
}

enum sl_status sl_new_folder_finish(const char *hidden, const char *path) {
  char *inside;
  SL_TRY(sl_file_join(&inside, hidden, ""));
  enum sl_status status = sync_folder(inside);
  free(inside);
  SL_TRY(status);
  /* A signal handler that removed the folder during the rename would delete the contents of `path`: from here on it is
   * not ours to remove. */
  if (!forget(hidden)) return sl_fail(SL_ERR_IO, "%s: cannot be put in place: the process is ended", path);
  if (put_in_place(hidden, path) != 0) {
    status = sl_new_file_fail(path, "be put in place");
    sl_remove(hidden);
    return status;
  }
  status = sync_folder(path);
  sl_remove(hidden); /* the folder that had the name before */
  return status;
}

/* The file gets its name through /proc, which a minimal root may lack. */
static int create_nameless(const char *path) {
  if (access("/proc/self/fd", X_OK) != 0) return -1;
  char *folder = folder_of(path);
  const int handle = folder != NULL ? open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0666) : -1;
  free(folder);
  return above_standard(handle);
}

static enum sl_status start_named(struct sl_new_file *file, int *handle) {
  file->temporary = sl_new_file_hidden(file->path, 0);
  if (file->temporary == NULL) return sl_fail(SL_ERR_MEMORY, "out of memory: the name of a file");
  *handle = sl_new_file_create(file->temporary);
  return *handle >= 0 ? SL_OK : sl_new_file_fail(file->path, "be created");
}

enum sl_status sl_new_file_open(struct sl_new_file *file, const char *path) {
  enum sl_status status = SL_OK;
  int handle = -1;
  *file = (struct sl_new_file){0};
  SL_TRY(sl_was_read_check(NULL, path));
  SL_TRY(sl_new_file_check(NULL, path));
  file->path = strdup(path);
  if (file->path == NULL) return sl_fail(SL_ERR_MEMORY, "out of memory: the name of a file");
  handle = create_nameless(path);
  if (handle < 0) SL_GO_FAIL(start_named(file, &handle));
  (void)flock(handle, LOCK_EX | LOCK_NB); /* so that a sweep sees that the writer is alive */
  file->stream = fdopen(handle, "w");
  if (file->stream == NULL) SL_GO_FAIL(sl_new_file_fail(path, "be created"));
  return SL_OK;
fail:
  if (handle >= 0) close(handle);
  sl_new_file_discard(file);
  return status;
}

/* Gives a nameless file its hidden name: a link cannot replace a file, a rename can. */
static enum sl_status give_name(struct sl_new_file *file) {
  char open_file[64];
  file->temporary = sl_new_file_hidden(file->path, 0);
  if (file->temporary == NULL) return sl_fail(SL_ERR_MEMORY, "out of memory: the name of a file");
  snprintf(open_file, sizeof open_file, "/proc/self/fd/%d", fileno(file->stream));
  (void)unlink(file->temporary);
  (void)remember(file->temporary);
  if (linkat(AT_FDCWD, open_file, AT_FDCWD, file->temporary, AT_SYMLINK_FOLLOW) == 0) return SL_OK;
  return sl_new_file_fail(file->path, "be put in place");
}

static enum sl_status complete(struct sl_new_file *file) {
  if (ferror(file->stream) || fflush(file->stream) != 0) return sl_new_file_fail(file->path, "be written");
  /* On a file system without fsync (EINVAL) only durability is lost. */
  if (fsync(fileno(file->stream)) != 0 && errno != EINVAL) return sl_new_file_fail(file->path, "reach the disk");
  if (file->temporary == NULL) SL_TRY(give_name(file));
  SL_TRY(sl_new_file_rename(file->temporary, file->path));
  FILE *stream = file->stream; /* and its lock, until the hidden name is gone */
  file->stream = NULL;
  return fclose(stream) == 0 ? SL_OK : sl_new_file_fail(file->path, "be written");
}

enum sl_status sl_new_file_finish(struct sl_new_file *file) {
  const enum sl_status status = complete(file);
  if (status == SL_OK) {
    free(file->temporary);
    file->temporary = NULL;
  }
  sl_new_file_discard(file);
  return status;
}

void sl_new_file_discard(struct sl_new_file *file) {
  if (file->stream != NULL) fclose(file->stream);
  sl_new_file_drop(file->temporary);
  free(file->temporary);
  free(file->path);
  *file = (struct sl_new_file){0};
}
