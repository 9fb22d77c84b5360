/* Reads files with pread: the page cache is shared by all ranks of a node, and only the requested bytes are read; see
 * file.h. */
#include "core/base/file.h"

#include "core/base/limits.h"
#include "core/base/was_read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum sl_status look_at(struct sl_file *file) {
  struct stat info;
  if (fstat(file->handle, &info) != 0) return sl_fail(SL_ERR_IO, "%s: %s", file->name, strerror(errno));
  if (!S_ISREG(info.st_mode))
    return sl_fail(SL_ERR_INPUT, "%s: is a folder, a pipe or a device; expected a plain file", file->name);
  file->size = (size_t)info.st_size;
  sl_was_read_add(file->handle, file->name);
  return SL_OK;
}

enum sl_status sl_file_open(struct sl_file *file, const char *path) {
  /* a pipe without a writer is refused instead of waited for */
  *file = (struct sl_file){.name = path, .handle = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file->handle < 0) {
    *file = (struct sl_file){0};
    return sl_fail(SL_ERR_INPUT, "%s: cannot be read: %s", path, strerror(errno));
  }
  const enum sl_status status = look_at(file);
  if (status != SL_OK) sl_file_close(file);
  return status;
}

void sl_file_borrow(struct sl_file *file, const char *name, const void *bytes, size_t size) {
  *file = (struct sl_file){.name = name, .size = size, .bytes = size > 0 ? bytes : (const unsigned char *)""};
}

static enum sl_status cut_short(const struct sl_file *file) {
  return sl_fail(SL_ERR_IO, "%s: was cut short while it was read: it had %zu bytes when it was opened", file->name,
                 file->size);
}

enum sl_status sl_file_read(const struct sl_file *file, uint64_t offset, void *out, size_t size) {
  char *to = out;
  if (offset > file->size || size > file->size - offset) return cut_short(file);
  if (file->bytes != NULL) {
    if (size > 0) memcpy(out, file->bytes + offset, size);
    return SL_OK;
  }
  for (size_t done = 0; done < size;) {
    const ssize_t n = pread(file->handle, to + done, size - done, (off_t)(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return sl_fail(SL_ERR_IO, "%s: cannot be read: %s", file->name, strerror(errno));
    if (n == 0) return cut_short(file);
    done += (size_t)n;
  }
  return SL_OK;
}

void sl_file_close(struct sl_file *file) {
  if (file->name != NULL && file->bytes == NULL) close(file->handle);
  *file = (struct sl_file){0};
}

enum sl_status sl_file_load(const char *path, char **out, size_t *size) {
  struct sl_file file;
  SL_TRY(sl_file_open(&file, path));
  enum sl_status status = SL_OK;
  *out = NULL;
  *size = file.size;
  if (file.size > SL_MAX_TEXT)
    SL_GO_FAIL(sl_fail(SL_ERR_INPUT, "%s: has %zu bytes; expected at most %lld of a text that is read as a whole", path,
                       file.size, (long long)SL_MAX_TEXT));
  *out = malloc(file.size + 1);
  if (*out == NULL) SL_GO_FAIL(sl_fail(SL_ERR_MEMORY, "%s: no memory for its %zu bytes", path, file.size));
  (*out)[file.size] = '\0';
  SL_GO_FAIL(sl_file_read(&file, 0, *out, file.size));
  sl_file_close(&file);
  return SL_OK;
fail:
  free(*out);
  *out = NULL;
  sl_file_close(&file);
  return status;
}

enum sl_status sl_file_join(char **out, const char *folder, const char *name) {
  if (asprintf(out, "%s/%s", folder, name) >= 0) return SL_OK;
  *out = NULL;
  return sl_fail(SL_ERR_MEMORY, "out of memory: the name of a file");
}
