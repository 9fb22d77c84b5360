/* Tensor files in the safetensors format: a reader that validates everything in the file, and a writer with which
 * several processes write their own ranges of one file.
 *
 * The format (huggingface/safetensors, README "Format"): an unsigned 64-bit little-endian header length N <= 100 MB; N
 * bytes of JSON, {"name": {"dtype": "F32", "shape": [..], "data_offsets": [begin, end]}, "__metadata__": {text: text}},
 * which may end in blanks; then the tensors' bytes, row-major and little-endian, with offsets counted from the end of
 * the header. The tensors cover those bytes without overlap and without gaps. */
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
  bool readable;         /* the type is F32, F16 or BF16; tensors of other types are only listed */
  enum sl_dtype type;    /* if readable */
  int n_dim;
  int64_t shape[SL_SAFETENSORS_MAX_DIMS];
  int64_t numel;
  int64_t bytes;
  int64_t first; /* byte of the file, counted from the end of the header */
};

struct sl_safetensors {
  char *name; /* file name for messages; owned */
  struct sl_file file;
  uint64_t data;                         /* offset in the file at which the header ends */
  json_t *header;                        /* owned; holds the names */
  struct sl_safetensors_tensor *tensors; /* in the order of their bytes; owned */
  int count;
  int *by_name; /* indices sorted by name; owned */
};

/* Opens and validates `path`. Errors: SL_ERR_INPUT naming file, tensor, value and expectation: header length, JSON
 * syntax (with line and column inside the header), duplicate names, unknown dtype, negative or overflowing shape, a
 * range that does not match dtype x shape, is out of bounds, overlaps another or leaves a gap. On failure nothing is
 * open. */
enum sl_status sl_safetensors_open(struct sl_safetensors *file, const char *path);
/* The same from memory, which is borrowed and must outlive `file`. */
enum sl_status sl_safetensors_open_memory(struct sl_safetensors *file, const char *name, const void *bytes,
                                          size_t size);
void sl_safetensors_close(struct sl_safetensors *file);

/* The tensor `name`, NULL if there is none. A leading "transformer.", "model." or "gpt_neox." is ignored on both
 * sides. */
const struct sl_safetensors_tensor *sl_safetensors_find(const struct sl_safetensors *file, const char *name);
/* Reads elements first .. first+count of `tensor` as float. Errors: SL_ERR_INPUT: not a readable type, or past the end;
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
  char *path, *temporary; /* the final name, and the hidden one until then (core/base/new_file.h); owned */
  int fd;                 /* -1: closed */
  bool creator;
  int count;
  int64_t *offset;    /* (count + 1) file offset of each tensor, then of the end; owned */
  int *element_bytes; /* (count); owned */
  struct sl_direct direct;
};

/* The life of a file that processes 0..n-1 write together. Barriers are the caller's:
 *   process 0        create                 writes the header under a hidden name and sets the full length
 *   (barrier)
 *   processes 1..    join                   the same table; fails (SL_ERR_PEER) if the header on disk differs
 *   all              write ...              each its own ranges; ranges that nobody writes are zero
 *   process 0        sync                   fsync, which takes as long as the others'
 *   processes 1..    finish                 fsync and close
 *   (barrier)
 *   process 0        finish                 fsync, close, rename to PATH: only now does the file exist
 * After a failed write, call abort instead of finish: it closes the file, and on process 0 removes it. A failed finish
 * has aborted already; abort of a zeroed or finished writer does nothing. `metadata` (may be NULL) is an object of
 * strings for "__metadata__"; it is borrowed. Errors: SL_ERR_IO with path and reason; SL_ERR_INTERNAL for an invalid
 * table or range. If create or join fails, nothing is allocated, and create leaves no file. */
enum sl_status sl_safetensors_create(struct sl_safetensors_writer *writer, const char *path,
                                     const struct sl_safetensors_spec *tensors, int count, json_t *metadata);
enum sl_status sl_safetensors_join(struct sl_safetensors_writer *writer, const char *path,
                                   const struct sl_safetensors_spec *tensors, int count, json_t *metadata);
/* Writes elements first .. first+count of tensor `index`, given in the file's own type. */
enum sl_status sl_safetensors_write(struct sl_safetensors_writer *writer, int index, int64_t first, int64_t count,
                                    const void *elements);
/* Flushes what was written to the disk; the file stays open. Errors: SL_ERR_IO. */
enum sl_status sl_safetensors_sync(const struct sl_safetensors_writer *writer);
enum sl_status sl_safetensors_finish(struct sl_safetensors_writer *writer);
void sl_safetensors_abort(struct sl_safetensors_writer *writer);
