/* See direct.h. */
#include "core/io/direct.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

enum {
  BLOCK = SL_DIRECT_BLOCK,
  ROOM = 4 << 20,      /* at a time: larger ones are not faster */
  LONG_RANGE = 1 << 20 /* shorter ranges are not worth the switch */
};

/* Writes through the page cache. */
static int write_cached(int handle, const char *bytes, size_t size, int64_t offset) {
  while (size > 0) {
    const ssize_t done = pwrite(handle, bytes, size, (off_t)offset);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return -1;
    bytes += done, offset += done, size -= (size_t)done;
  }
  return 0;
}

static bool is_aligned(const char *bytes) {
  return (uintptr_t)bytes % BLOCK == 0;
}

/* Writes whole blocks; `size` and `offset` are multiples of a block. *done: bytes written, in whole blocks. Where the
 * disk takes fewer, or refuses a range for its alignment, the rest is left to the page cache. */
static int write_blocks(struct sl_direct *direct, int handle, const char *bytes, size_t size, int64_t offset,
                        size_t *done) {
  for (*done = 0; *done < size;) {
    const size_t now = size - *done < ROOM ? size - *done : ROOM;
    const char *from = bytes + *done;
    if (!is_aligned(from)) from = memcpy(direct->room, from, now);
    const ssize_t wrote = pwrite(handle, from, now, (off_t)(offset + (int64_t)*done));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0 && errno != EINVAL) return -1;
    direct->refused = wrote < 0;
    if (wrote < BLOCK) return 0;
    *done += (size_t)wrote / BLOCK * BLOCK;
  }
  return 0;
}

/* Could O_DIRECT be switched on or off for the descriptor? */
static bool switched(int handle, bool on) {
  const int flags = fcntl(handle, F_GETFL);
  return flags >= 0 && fcntl(handle, F_SETFL, on ? flags | O_DIRECT : flags & ~O_DIRECT) == 0;
}

static bool prepared(struct sl_direct *direct, int handle, const char *bytes) {
  if (direct->refused) return false;
  if (!is_aligned(bytes) && direct->room == NULL) direct->room = sl_machine_huge(ROOM);
  if (!is_aligned(bytes) && direct->room == NULL) return false;
  direct->refused = !switched(handle, true);
  return !direct->refused;
}

int sl_direct_write(struct sl_direct *direct, int handle, const void *bytes, size_t size, int64_t offset) {
  const char *at = bytes;
  if (size >= LONG_RANGE) {
    const size_t head = (size_t)((BLOCK - offset % BLOCK) % BLOCK), whole = (size - head) / BLOCK * BLOCK;
    if (write_cached(handle, at, head, offset) != 0) return -1;
    size_t done = 0;
    if (prepared(direct, handle, at + head)) {
      const int failed = write_blocks(direct, handle, at + head, whole, offset + (int64_t)head, &done), why = errno;
      if (!switched(handle, false)) return -1;
      errno = why;
      if (failed != 0) return -1;
    }
    at += head + done, offset += (int64_t)(head + done), size -= head + done;
  }
  return write_cached(handle, at, size, offset);
}

size_t sl_direct_room(size_t size) {
  return size + (size_t)2 * BLOCK;
}

/* Reads bytes [lo, hi) of the file, whole blocks; those after `need` may be beyond its end. Returns false with *why 0
 * if O_DIRECT is refused, otherwise with an error. */
static bool read_blocks(int handle, int64_t lo, int64_t hi, int64_t need, char *room, int *why) {
  *why = 0;
  for (int64_t at = lo; at < need;) {
    const ssize_t got = pread(handle, room + (at - lo), (size_t)(hi - at), (off_t)at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno != EINVAL) *why = errno;
    if (got <= 0) return false; /* 0: the reader through the cache reports what happened to the file */
    at += got;
    if (at < need && got % BLOCK != 0) return false;
  }
  return true;
}

/* A separate descriptor, since threads may read the file through the cache meanwhile. -1: not possible. */
static int open_past_the_cache(const struct sl_file *file) {
  char path[64];
  /* the same file, even if its name now belongs to another */
  snprintf(path, sizeof path, "/proc/self/fd/%d", file->handle);
  return open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
}

enum sl_status sl_direct_read(const struct sl_file *file, uint64_t offset, char *room, size_t size, void **out) {
  const int64_t lo = (int64_t)offset / BLOCK * BLOCK, need = (int64_t)(offset + size);
  const int64_t hi = (need + BLOCK - 1) / BLOCK * BLOCK;
  *out = room + ((int64_t)offset - lo);
  const int handle = size >= LONG_RANGE && file->bytes == NULL ? open_past_the_cache(file) : -1;
  if (handle >= 0) {
    int why;
    const bool read = read_blocks(handle, lo, hi, need, room, &why);
    close(handle);
    if (why != 0) return sl_fail(SL_ERR_IO, "%s: cannot be read: %s", file->name, strerror(why));
    if (read) return SL_OK;
  }
  return sl_file_read(file, offset, *out, size);
}

void sl_direct_free(struct sl_direct *direct) {
  free(direct->room);
  *direct = (struct sl_direct){0};
}
