/* Creates a path from its front; checks it from its end; see folders.h. */
#include "core/base/folders.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int make(const char *path) {
  struct stat info;
  if (mkdir(path, 0777) == 0) return 0;
  const int why = errno;
  if (stat(path, &info) != 0) return why;
  return S_ISDIR(info.st_mode) ? 0 : ENOTDIR;
}

int sl_folders_make(const char *path) {
  char *own = strdup(path);
  int why = own == NULL ? ENOMEM : 0;
  for (char *slash = own; why == 0 && slash != NULL;) {
    slash = strchr(slash + 1, '/');
    if (slash != NULL) *slash = '\0';
    if (own[0] != '\0') why = make(own);
    if (slash != NULL) *slash = '/';
  }
  free(own);
  return why;
}

/* Shortens a path to its parent; "." has none. */
static const char *cut(char *path) {
  size_t length = strlen(path);
  while (length > 1 && path[length - 1] == '/') path[--length] = '\0';
  char *slash = strrchr(path, '/');
  if (slash == NULL) return ".";
  slash[slash == path] = '\0';
  return path;
}

/* Where a file system has no nameless files, a file with a name is there for a moment, in which no signal arrives. */
static int try_named(const char *folder) {
  static const char name[] = "/.shardlab.XXXXXX";
  char *path = malloc(strlen(folder) + sizeof name);
  sigset_t all, before;
  if (path == NULL) return ENOMEM;
  stpcpy(stpcpy(path, folder), name);
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int handle = mkostemp(path, O_CLOEXEC), why = handle < 0 ? errno : 0;
  if (handle >= 0) {
    close(handle);
    (void)unlink(path);
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  free(path);
  return why;
}

int sl_folders_try(const char *folder) {
  if (access(folder, W_OK | X_OK) != 0) return errno;
  const int handle = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
  if (handle < 0) return try_named(folder);
  close(handle);
  return 0;
}

int sl_folders_check(const char *path) {
  struct stat info;
  char *own = strdup(path);
  if (own == NULL) return ENOMEM;
  const char *there = own;
  while (stat(there, &info) != 0 && errno == ENOENT && strcmp(there, ".") != 0) there = cut(own);
  int why = stat(there, &info) != 0 ? errno : S_ISDIR(info.st_mode) ? 0 : ENOTDIR;
  if (why == 0) why = sl_folders_try(there);
  free(own);
  return why;
}
