/* A list of inodes, each with the name it was opened under; see was_read.h. */
#include "core/base/was_read.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static struct kept {
  dev_t device;
  ino_t inode;
  char *path; /* owned */
} * list;
static size_t count, capacity;
static bool keeping;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Searches the newest first, so that a file read repeatedly is found at once. NULL: not there. The caller holds the
 * lock. */
static struct kept *find(const struct stat *info) {
  for (size_t i = count; i > 0; i--)
    if (list[i - 1].device == info->st_dev && list[i - 1].inode == info->st_ino) return &list[i - 1];
  return NULL;
}

void sl_was_read_begin(void) {
  keeping = true;
}

void sl_was_read_add(int handle, const char *path) {
  struct stat info;
  if (!keeping || fstat(handle, &info) != 0 || !S_ISREG(info.st_mode)) return;
  pthread_mutex_lock(&lock);
  if (find(&info) == NULL && sl_grow(&list, &capacity, count + 1, sizeof *list) == SL_OK) {
    char *copy = strdup(path);
    if (copy != NULL) list[count++] = (struct kept){info.st_dev, info.st_ino, copy};
  }
  pthread_mutex_unlock(&lock);
}

void sl_was_read_forget(const char *path) {
  struct stat info;
  if (!keeping || stat(path, &info) != 0) return;
  pthread_mutex_lock(&lock);
  struct kept *kept = find(&info);
  if (kept != NULL) {
    free(kept->path);
    *kept = list[--count];
  }
  pthread_mutex_unlock(&lock);
}

enum sl_status sl_was_read_check(const char *flag, const char *path) {
  struct stat info;
  enum sl_status status = SL_OK;
  if (!keeping || path == NULL || stat(path, &info) != 0) return SL_OK;
  pthread_mutex_lock(&lock);
  const struct kept *kept = find(&info);
  if (kept != NULL)
    status = sl_fail(SL_ERR_INPUT, "%s%s%s: is a file that is read, too, as %s; expected another",
                     flag != NULL ? flag : "", flag != NULL ? ": " : "", path, kept->path);
  pthread_mutex_unlock(&lock);
  return status;
}
