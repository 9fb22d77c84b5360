/* Files as memory, by mmap: the page cache is shared by all ranks of a node, and only what is touched is read. */
#include "core/base/file_map.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static enum sl_status map_descriptor(struct sl_map *map, int fd, const char *path) {
  struct stat info;
  if (fstat(fd, &info) != 0) return sl_fail(SL_ERR_IO, "%s: %s", path, strerror(errno));
  if (!S_ISREG(info.st_mode))
    return sl_fail(SL_ERR_INPUT, "%s: is a folder, a pipe or a device; expected a plain file", path);
  map->owned = true;
  map->bytes = (const unsigned char *)"";
  map->size = (size_t)info.st_size;
  if (map->size == 0) return SL_OK; /* mmap refuses an empty range */
  void *block = mmap(NULL, map->size, PROT_READ, MAP_SHARED, fd, 0);
  if (block == MAP_FAILED) {
    memset(map, 0, sizeof *map);
    return sl_fail(SL_ERR_IO, "%s: cannot be mapped: %s", path, strerror(errno));
  }
  map->bytes = block;
  return SL_OK;
}

enum sl_status sl_map_open(struct sl_map *map, const char *path) {
  memset(map, 0, sizeof *map);
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe without a writer is refused, not waited for */
  if (fd < 0) return sl_fail(SL_ERR_INPUT, "%s: cannot be read: %s", path, strerror(errno));
  const enum sl_status status = map_descriptor(map, fd, path);
  close(fd);
  return status;
}

void sl_map_borrow(struct sl_map *map, const void *bytes, size_t size) {
  *map = (struct sl_map){.bytes = size > 0 ? bytes : (const unsigned char *)"", .size = size};
}

void sl_map_close(struct sl_map *map) {
  if (map->owned && map->size > 0) munmap((void *)(uintptr_t)map->bytes, map->size);
  memset(map, 0, sizeof *map);
}
