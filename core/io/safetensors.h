/* Tensor files in the safetensors format: a reader that believes nothing in the file, and a writer into
 * which several processes write their own ranges.
 *
 * The format (huggingface/safetensors, README "Format"): an unsigned 64-bit little-endian header length N <= 100 MB; N
 * bytes of JSON, {"name": {"dtype": "F32", "shape": [..], "data_offsets": [begin, end]}, "__metadata__": {text: text}},
 * which may end in blanks; then the tensors' bytes, row-major and little-endian, offsets counted from the end of the
 * header. The tensors cover those bytes without overlap and without a hole. */
#pragma once

#include "core/base/dtype.h"
#include "core/base/file.h"
#include "core/base/status.h"
#include "core/io/direct.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum { SL_SAFETENSORS_MAX_DIMS = 8 };

struct sl_safetensors_tensor {
  const char *name;      /* as in the file; valid until close */
  const char *type_name; /* "F32", "F16", "BF16", "I64" ... */
  bool readable;         /* the type is F32, F16 or BF16; others are listed only */
  enum sl_dtype type;    /* where readable */
  int n_dim;
  int64_t shape[SL_SAFETENSORS_MAX_DIMS];
  int64_t numel;
  int64_t bytes;
  int64_t first; /* byte of the file, counted from the end of the header */
};

struct sl_safetensors {
  char *name; /* file name for messages; owned */
  struct sl_file file;
  uint64_t data;                         /* byte of the file at which the header ends */
  json_t *header;                        /* owned; holds the names */
  struct sl_safetensors_tensor *tensors; /* in the order of their bytes; owned */
  int count;
  int *by_name; /* indices sorted by name; owned */
};

/* Open and validate `path`. Errors: SL_ERR_INPUT naming file, tensor, value and expectation: header length, JSON syntax
 * (with the line and column inside the header), duplicate names, unknown dtype, negative or overflowing shape, dtype x
 * shape unlike the range, a range out of bounds, overlapping, or leaving a hole. On failure nothing is held. */
enum sl_status sl_safetensors_open(struct sl_safetensors *file, const char *path);
/* The same from memory, which stays the caller's and must outlive `file`. */
enum sl_status sl_safetensors_open_memory(struct sl_safetensors *file, const char *name, const void *bytes,
                                          size_t size);
void sl_safetensors_close(struct sl_safetensors *file);

/* The tensor `name`, NULL when there is none. A leading "transformer." or "model." is ignored on both sides. */
const struct sl_safetensors_tensor *sl_safetensors_find(const struct sl_safetensors *file, const char *name);
/* Elements first .. first+count of `tensor` as float. Errors: SL_ERR_INPUT: not a readable type, or past the end;
 * SL_ERR_IO: the file has become shorter. */
enum sl_status sl_safetensors_read(const struct sl_safetensors *file, const struct sl_safetensors_tensor *tensor,
                                   int64_t first, int64_t count, float *out);

/* One tensor of a file to be written: F32, F16 or BF16. */
struct sl_safetensors_spec {
  const char *name;
  enum sl_dtype type;
  int n_dim;
  int64_t shape[SL_SAFETENSORS_MAX_DIMS];
};

struct sl_safetensors_writer {
  char *path, *temporary; /* the name in the end, and the hidden one until then (core/base/new_file.h); owned */
  int fd;                 /* -1: closed */
  bool creator;
  int count;
  int64_t *offset;    /* (count + 1) file offset of each tensor, then of the end; owned */
  int *element_bytes; /* (count); owned */
  struct sl_direct direct;
};

/* The life of a file that processes 0..n-1 write together; every call after a barrier where it says so:
 *   process 0        create                 writes the header under a hidden name and sets the full length
 *   (barrier)
 *   processes 1..    join                   the same table; fails (SL_ERR_PEER) when the header on disk differs
 *   all              write ...              each its own ranges; ranges nobody writes are zero
 *   process 0        sync                   fsync, which takes as long as the others'
 *   processes 1..    finish                 fsync and close
 *   (barrier)
 *   process 0        finish                 fsync, close, rename to PATH: only now does the file exist
 * After a failed write, and instead of finish, call abort: it closes, and on process 0 removes the file. A failed
 * finish has aborted already; abort of a zeroed or finished writer does nothing.
 * `metadata` (may be NULL) is an object of strings for "__metadata__"; it is not consumed.
 * Errors: SL_ERR_IO with path and reason; SL_ERR_INTERNAL for a bad table or range. create and join hold nothing on
 * failure (and create leaves no file). */
enum sl_status sl_safetensors_create(struct sl_safetensors_writer *writer, const char *path,
                                     const struct sl_safetensors_spec *tensors, int count, json_t *metadata);
enum sl_status sl_safetensors_join(struct sl_safetensors_writer *writer, const char *path,
                                   const struct sl_safetensors_spec *tensors, int count, json_t *metadata);
/* Elements first .. first+count of tensor `index`, given in the file's own type. */
enum sl_status sl_safetensors_write(struct sl_safetensors_writer *writer, int index, int64_t first, int64_t count,
                                    const void *elements);
/* What is written reaches the disk; the file stays open. Errors: SL_ERR_IO. */
enum sl_status sl_safetensors_sync(const struct sl_safetensors_writer *writer);
enum sl_status sl_safetensors_finish(struct sl_safetensors_writer *writer);
void sl_safetensors_abort(struct sl_safetensors_writer *writer);
