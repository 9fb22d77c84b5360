/* The writer of safetensors files; safetensors.h says who calls what when. Every range is written with pwrite, so
 * processes need no order among themselves; the final rename makes the file appear complete or not at all. */
#include "core/io/safetensors.h"

#include "core/base/checked.h"
#include "core/base/new_file.h"
#include "core/base/was_read.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *type_name(enum sl_dtype type) {
  switch (type) {
  case SL_F32:
    return "F32";
  case SL_F16:
    return "F16";
  case SL_BF16:
    return "BF16";
  default:
    return NULL;
  }
}

static void release(struct sl_safetensors_writer *writer) {
  if (writer->path != NULL && writer->fd >= 0) close(writer->fd); /* a zeroed writer holds no descriptor 0 */
  free(writer->path);
  free(writer->temporary);
  free(writer->offset);
  free(writer->element_bytes);
  sl_direct_free(&writer->direct);
  memset(writer, 0, sizeof *writer);
  writer->fd = -1;
}

/* Adds the header's entry of one tensor; its offset is relative to the data for now. */
static enum sl_status add_entry(struct sl_safetensors_writer *writer, json_t *header,
                                const struct sl_safetensors_spec *tensor, int i) {
  if (type_name(tensor->type) == NULL || tensor->n_dim < 0 || tensor->n_dim > SL_SAFETENSORS_MAX_DIMS)
    return sl_fail(SL_ERR_INTERNAL, "%s: tensor \"%s\": type %s, %d dimensions", writer->path, tensor->name,
                   sl_dtype_name(tensor->type), tensor->n_dim);
  json_t *shape = json_array();
  int64_t bytes = writer->element_bytes[i] = (int)sl_dtype_bytes(tensor->type);
  bool fits = true;
  for (int d = 0; d < tensor->n_dim; d++) {
    json_array_append_new(shape, json_integer(tensor->shape[d]));
    fits = fits && tensor->shape[d] >= 0;
    bytes = sl_product(bytes, tensor->shape[d]);
  }
  writer->offset[i + 1] = sl_sum(writer->offset[i], bytes);
  fits = fits && writer->offset[i + 1] < SL_HUGE;
  json_t *entry = json_pack("{s:s, s:o, s:[I, I]}", "dtype", type_name(tensor->type), "shape", shape, "data_offsets",
                            (json_int_t)writer->offset[i], (json_int_t)writer->offset[i + 1]);
  const bool duplicate = json_object_get(header, tensor->name) != NULL;
  if (json_object_set_new(header, tensor->name, entry) != 0 || !fits || duplicate)
    return sl_fail(SL_ERR_INTERNAL, "%s: tensor \"%s\": %s", writer->path, tensor->name,
                   !fits       ? "its size overflows"
                   : duplicate ? "is given twice"
                               : "its name is not UTF-8");
  return SL_OK;
}

/* The first bytes of the file: header length and header, padded with blanks so that the data begins at a block
 * boundary. Whole blocks can then be written past the page cache from aligned memory. */
static enum sl_status make_head(json_t *header, unsigned char **head, size_t *head_bytes) {
  const size_t length = json_dumpb(header, NULL, 0, JSON_COMPACT | JSON_PRESERVE_ORDER);
  const size_t blocks = (sizeof(uint64_t) + length + SL_DIRECT_BLOCK - 1) / SL_DIRECT_BLOCK;
  const uint64_t padded = blocks * SL_DIRECT_BLOCK - sizeof padded;
  SL_TRY(sl_calloc(head, sizeof padded + padded, 1));
  memcpy(*head, &padded, sizeof padded);
  memset(*head + sizeof padded, ' ', padded);
  json_dumpb(header, (char *)*head + sizeof padded, length, JSON_COMPACT | JSON_PRESERVE_ORDER);
  *head_bytes = sizeof padded + padded;
  return SL_OK;
}

/* Fills `writer` except for the descriptor, and makes the file's first bytes. */
static enum sl_status prepare(struct sl_safetensors_writer *writer, const char *path,
                              const struct sl_safetensors_spec *tensors, int count, json_t *metadata,
                              unsigned char **head, size_t *head_bytes) {
  enum sl_status status;
  *head = NULL;
  memset(writer, 0, sizeof *writer);
  writer->fd = -1;
  writer->count = count;
  json_t *header = json_object();
  SL_GO_FAIL(sl_calloc(&writer->offset, (size_t)count + 1, sizeof *writer->offset));
  SL_GO_FAIL(sl_calloc(&writer->element_bytes, (size_t)count, sizeof *writer->element_bytes));
  writer->path = strdup(path);
  writer->temporary = sl_new_file_hidden(path, 0);
  if (writer->path == NULL || writer->temporary == NULL)
    SL_GO_FAIL(sl_fail(SL_ERR_MEMORY, "out of memory: a file name"));
  if (metadata != NULL) json_object_set(header, "__metadata__", metadata);
  for (int i = 0; i < count; i++) SL_GO_FAIL(add_entry(writer, header, &tensors[i], i));
  SL_GO_FAIL(make_head(header, head, head_bytes));
  for (int i = 0; i <= count; i++) writer->offset[i] += (int64_t)*head_bytes;
  json_decref(header);
  return SL_OK;
fail:
  json_decref(header);
  release(writer);
  return status;
}

static enum sl_status write_all(struct sl_safetensors_writer *writer, const void *bytes, size_t size, int64_t offset) {
  if (sl_direct_write(&writer->direct, writer->fd, bytes, size, offset) == 0) return SL_OK;
  return sl_new_file_fail(writer->temporary, "be written");
}

enum sl_status sl_safetensors_create(struct sl_safetensors_writer *writer, const char *path,
                                     const struct sl_safetensors_spec *tensors, int count, json_t *metadata) {
  unsigned char *head;
  size_t head_bytes;
  enum sl_status status;
  SL_TRY(prepare(writer, path, tensors, count, metadata, &head, &head_bytes));
  SL_GO_FAIL(sl_was_read_check(NULL, path));
  SL_GO_FAIL(sl_new_file_check(NULL, path));
  writer->fd = sl_new_file_create(writer->temporary);
  if (writer->fd < 0) SL_GO_FAIL(sl_new_file_fail(writer->path, "be created"));
  writer->creator = true;
  SL_GO_FAIL(write_all(writer, head, head_bytes, 0));
  if (ftruncate(writer->fd, writer->offset[count]) != 0) SL_GO_FAIL(sl_new_file_fail(writer->temporary, "be extended"));
  free(head);
  return SL_OK;
fail:
  free(head);
  sl_safetensors_abort(writer);
  return status;
}

/* The file that process 0 created must be identical to the one that this process would have created. */
static enum sl_status compare_head(const struct sl_safetensors_writer *writer, const unsigned char *head,
                                   size_t head_bytes) {
  struct stat info;
  unsigned char *disk;
  if (fstat(writer->fd, &info) != 0) return sl_new_file_fail(writer->temporary, "be examined");
  SL_TRY(sl_calloc(&disk, head_bytes, 1));
  const bool same = info.st_size == writer->offset[writer->count] &&
                    pread(writer->fd, disk, head_bytes, 0) == (ssize_t)head_bytes &&
                    memcmp(disk, head, head_bytes) == 0;
  free(disk);
  return same ? SL_OK : sl_fail(SL_ERR_PEER, "%s: its header is not the one this process expected", writer->temporary);
}

enum sl_status sl_safetensors_join(struct sl_safetensors_writer *writer, const char *path,
                                   const struct sl_safetensors_spec *tensors, int count, json_t *metadata) {
  unsigned char *head;
  size_t head_bytes;
  enum sl_status status;
  SL_TRY(prepare(writer, path, tensors, count, metadata, &head, &head_bytes));
  writer->fd = open(writer->temporary, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
  if (writer->fd < 0) SL_GO_FAIL(sl_new_file_fail(writer->temporary, "be opened"));
  SL_GO_FAIL(compare_head(writer, head, head_bytes));
  free(head);
  return SL_OK;
fail:
  free(head);
  release(writer);
  return status;
}

enum sl_status sl_safetensors_write(struct sl_safetensors_writer *writer, int index, int64_t first, int64_t count,
                                    const void *elements) {
  const bool known = index >= 0 && index < writer->count;
  const int64_t size = known ? writer->element_bytes[index] : 1;
  const int64_t numel = known ? (writer->offset[index + 1] - writer->offset[index]) / size : 0;
  if (!known || first < 0 || count < 0 || first > numel || count > numel - first)
    return sl_fail(SL_ERR_INTERNAL, "%s: tensor %d: elements %" PRId64 " to %" PRId64 " of %" PRId64, writer->path,
                   index, first, first + count, numel);
  return write_all(writer, elements, (size_t)(count * size), writer->offset[index] + first * size);
}

enum sl_status sl_safetensors_sync(const struct sl_safetensors_writer *writer) {
  return fsync(writer->fd) == 0 ? SL_OK : sl_new_file_fail(writer->temporary, "reach the disk");
}

enum sl_status sl_safetensors_finish(struct sl_safetensors_writer *writer) {
  enum sl_status status;
  SL_GO_FAIL(sl_safetensors_sync(writer));
  if (writer->creator) SL_GO_FAIL(sl_new_file_rename(writer->temporary, writer->path));
  release(writer);
  return SL_OK;
fail:
  sl_safetensors_abort(writer);
  return status;
}

void sl_safetensors_abort(struct sl_safetensors_writer *writer) {
  if (writer->creator) sl_new_file_drop(writer->temporary);
  release(writer);
}
