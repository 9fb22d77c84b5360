/* A call to the file system that goes wrong at a chosen place: what full disks, worn disks and sudden ends do once in many runs, every
 * time.
 *
 *   LD_PRELOAD=libshardlab_fail_at.so FAIL_HOW=eio FAIL_AT=7 FAIL_PATH=/tmp/ck/ FAIL_TOLD=FILE shardlab measure ...
 *
 * Counted are the calls on files whose path contains FAIL_PATH: those that write (FAIL_ON=save: write, pwrite, ftruncate, fflush, fsync,
 * rename, linkat, mkdir), fsync alone (FAIL_ON=sync), those that read (FAIL_ON=read: pread), or the blocks handed to io_uring (FAIL_ON=nvme);
 * of a process that is rank FAIL_RANK of its job, where that is given. The FAIL_AT-th, from 1 on, goes wrong, and FAIL_TOLD then says which
 * it was:
 *
 *   eio     it fails with EIO           enospc   it fails with ENOSPC, and all that follow do
 *   short   the next of them that moves bytes, FAIL_LEAST or more, moves about half of them, and says so
 *   kill    the process is killed before it     count    nothing; at its end each process adds a line to FAIL_TOLD: how many there were
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

enum how { NOTHING, EIO_ONCE, FULL, SHORT, KILLED, COUNTED };
enum { BLOCK = 4096 }; /* direct writes are of whole ones */

static struct {
  enum how how;
  long at;
  size_t least;
  const char *path, *told, *on;
  atomic_long calls;
  atomic_bool cut; /* SHORT has happened */
} chosen;

#define REAL(name) (__extension__(__typeof__(&name)) dlsym(RTLD_NEXT, #name))

static bool is(const char *variable, const char *value) {
  const char *found = getenv(variable);
  return found != NULL && strcmp(found, value) == 0;
}

__attribute__((constructor)) static void begin(void) {
  static const char *const names[] = {"", "eio", "enospc", "short", "kill", "count"};
  const char *rank = getenv("FAIL_RANK"), *own = getenv("OMPI_COMM_WORLD_RANK"), *at = getenv("FAIL_AT");
  chosen.path = getenv("FAIL_PATH");
  chosen.told = getenv("FAIL_TOLD");
  chosen.on = getenv("FAIL_ON");
  chosen.at = at != NULL ? atol(at) : 0;
  const char *least = getenv("FAIL_LEAST");
  chosen.least = least != NULL ? (size_t)atol(least) : 2;
  if (chosen.path == NULL || chosen.told == NULL || chosen.on == NULL) return;
  if (rank != NULL && (own == NULL || strcmp(rank, own) != 0)) return;
  for (size_t i = 1; i < sizeof names / sizeof *names; i++)
    if (is("FAIL_HOW", names[i])) chosen.how = (enum how)i;
}

static void tell(const char *what, long number) {
  char line[64];
  const int handle = open(chosen.told, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  snprintf(line, sizeof line, "%s %ld\n", what, number);
  if (handle < 0) return;
  if (REAL(write)(handle, line, strlen(line)) < 0) abort();
  close(handle);
}

__attribute__((destructor)) static void end(void) {
  if (chosen.how == COUNTED && chosen.calls > 0) tell("calls", chosen.calls);
}

static bool is_chosen(int handle, const char *path) {
  char link[64], name[4096];
  if (path == NULL) {
    snprintf(link, sizeof link, "/proc/self/fd/%d", handle);
    const ssize_t length = readlink(link, name, sizeof name - 1);
    if (length < 0) return false;
    name[length] = '\0';
    path = name;
  }
  return strstr(path, chosen.path) != NULL;
}

/* What is to become of this call. */
static enum how meet(const char *on, int handle, const char *path, const char *what) {
  if (chosen.how == NOTHING || strcmp(on, chosen.on) != 0 || !is_chosen(handle, path)) return NOTHING;
  const long call = atomic_fetch_add(&chosen.calls, 1) + 1;
  if (chosen.how == COUNTED || call < chosen.at) return NOTHING;
  if (chosen.how == SHORT) return atomic_load(&chosen.cut) ? NOTHING : SHORT;
  if (call > chosen.at) return chosen.how == FULL ? FULL : NOTHING;
  tell(what, call);
  if (chosen.how == KILLED) (void)raise(SIGKILL);
  return chosen.how;
}

/* Has it failed, with errno set? */
static bool fails(const char *on, int handle, const char *path, const char *what) {
  const enum how how = meet(on, handle, path, what);
  if (how == EIO_ONCE) errno = EIO;
  if (how == FULL) errno = ENOSPC;
  return how == EIO_ONCE || how == FULL;
}

/* How many of `size` bytes are moved; -1: none, and errno says why. */
static ssize_t allowed(const char *on, int handle, const char *what, size_t size) {
  const enum how how = meet(on, handle, NULL, what);
  if (how == EIO_ONCE || how == FULL) {
    errno = how == EIO_ONCE ? EIO : ENOSPC;
    return -1;
  }
  if (how != SHORT || size < chosen.least || atomic_exchange(&chosen.cut, true)) return (ssize_t)size;
  tell(what, chosen.calls);
  return (ssize_t)(size >= (size_t)2 * BLOCK ? size / 2 / BLOCK * BLOCK : size / 2);
}

ssize_t write(int handle, const void *bytes, size_t size) {
  const ssize_t now = allowed("save", handle, "write", size);
  return now < 0 ? -1 : REAL(write)(handle, bytes, (size_t)now);
}

ssize_t pwrite(int handle, const void *bytes, size_t size, off_t offset) {
  const ssize_t now = allowed("save", handle, "pwrite", size);
  return now < 0 ? -1 : REAL(pwrite)(handle, bytes, (size_t)now, offset);
}

ssize_t pread(int handle, void *bytes, size_t size, off_t offset) {
  const ssize_t now = allowed("read", handle, "pread", size);
  return now < 0 ? -1 : REAL(pread)(handle, bytes, (size_t)now, offset);
}

int ftruncate(int handle, off_t size) {
  return fails("save", handle, NULL, "ftruncate") ? -1 : REAL(ftruncate)(handle, size);
}

int fsync(int handle) {
  const bool alone = chosen.on != NULL && strcmp(chosen.on, "sync") == 0;
  return fails(alone ? "sync" : "save", handle, NULL, "fsync") ? -1 : REAL(fsync)(handle);
}

int fflush(FILE *stream) {
  return stream != NULL && fails("save", fileno(stream), NULL, "fflush") ? EOF : REAL(fflush)(stream);
}

int mkdir(const char *path, mode_t mode) {
  return fails("save", -1, path, "mkdir") ? -1 : REAL(mkdir)(path, mode);
}

int rename(const char *from, const char *to) {
  return fails("save", -1, to, "rename") ? -1 : REAL(rename)(from, to);
}

int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags) {
  return fails("save", -1, to, "renameat2") ? -1 : REAL(renameat2)(from_folder, from, to_folder, to, flags);
}

int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags) {
  return fails("save", -1, to, "linkat") ? -1 : REAL(linkat)(from_folder, from, to_folder, to, flags);
}

/* Blocks are sent to files that answer with the error. */
int io_uring_submit(struct io_uring *ring) {
  for (unsigned i = ring->sq.sqe_head; chosen.how != NOTHING && i != ring->sq.sqe_tail; i++) {
    struct io_uring_sqe *sqe = &ring->sq.sqes[i & *ring->sq.kring_mask];
    if (chosen.how == FULL && sqe->opcode != IORING_OP_WRITE) continue; /* a full disk can be read */
    const enum how how = meet("nvme", sqe->fd, NULL, "io_uring");
    if (how == EIO_ONCE) sqe->fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC), sqe->off = 0; /* where nothing is */
    if (how == FULL) sqe->fd = open("/dev/full", O_RDWR | O_CLOEXEC);
    if (how == SHORT && sqe->len >= 2 * BLOCK && !atomic_exchange(&chosen.cut, true)) {
      tell("io_uring", chosen.calls);
      sqe->len = sqe->len / 2 / BLOCK * BLOCK;
    }
  }
  return REAL(io_uring_submit)(ring);
}
