/* See remove.h. opendir allocates memory, which a signal handler must not do, so the system call fills a buffer on the
 * stack. */
#include "core/base/remove.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* getdents64(2): 8 bytes inode, 8 bytes offset, 2 bytes length of the record, 1 byte type, then the name. */
enum { LENGTH_AT = 16, NAME_AT = 19 };

static void empty(int folder) {
  char records[2048] __attribute__((aligned(8)));
  for (;;) {
    const long n = syscall(SYS_getdents64, folder, records, sizeof records);
    if (n <= 0) return;
    for (long at = 0; at < n;) {
      uint16_t length;
      memcpy(&length, records + at + LENGTH_AT, sizeof length);
      (void)unlinkat(folder, records + at + NAME_AT, 0); /* fails for "." and ".." */
      at += length;
    }
  }
}

/* Another thread may still create some files in the folder: it is emptied again until it is gone, or for 0.5 s. */
static void remove_folder(const char *path, int folder) {
  for (int i = 0; i < 250; i++) {
    (void)lseek(folder, 0, SEEK_SET);
    empty(folder);
    if (rmdir(path) == 0 || (errno != ENOTEMPTY && errno != EEXIST)) return;
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
  }
}

static void remove_path(const char *path, bool held_too) {
  const int error = errno;
  if (unlink(path) != 0 && (errno == EISDIR || errno == EPERM)) {
    const int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder >= 0 && (held_too || flock(folder, LOCK_EX | LOCK_NB) == 0)) remove_folder(path, folder);
    if (folder >= 0) close(folder);
  }
  errno = error;
}

void sl_remove(const char *path) {
  remove_path(path, true);
}

void sl_remove_unheld(const char *path) {
  remove_path(path, false);
}
