/* Megatron-LM's data: PREFIX.bin has the tokens of all documents, concatenated, and PREFIX.idx says where each
 * begins. */
#pragma once

#include "core/base/file.h"

#include <stdbool.h>
#include <stdint.h>

/* What an index says about its tokens. */
struct sl_megatron_index {
  int item_bytes; /* 1, 2, 4 or 8, little-endian */
  bool is_signed;
  int64_t sequences, documents, tokens;
};

enum { SL_MEGATRON_MAGIC_BYTES = 9 };
/* Does a file that begins with these SL_MEGATRON_MAGIC_BYTES bytes claim to be an index? */
bool sl_megatron_claims(const unsigned char *bytes);

/* Reads the whole index `file` once and checks that the documents are contiguous, as Megatron-LM's builder writes them.
 * Source: megatron/core/datasets/indexed_dataset.py, version 1: the magic "MMIDIDX\0\0", u64 version, u8 type, u64
 * sequences, u64 document boundaries, i32 length of each sequence, i64 byte offset of each, i64 boundaries in
 * sequences. Errors: SL_ERR_INPUT with the file and the field; SL_ERR_IO. */
enum sl_status sl_megatron_index_read(const struct sl_file *file, struct sl_megatron_index *out);

/* The token at which sequence `i` begins, 0 <= i <= sequences; `index` is of that file. Errors: SL_ERR_IO. */
enum sl_status sl_megatron_token_of(const struct sl_file *file, const struct sl_megatron_index *index, int64_t i,
                                    int64_t *token);

/* Does `path` name such data: a prefix, the .bin or the .idx of a pair whose index exists? *bin and *index are then the
 * paths of the two files, to be freed; otherwise NULL. Errors: SL_ERR_MEMORY. */
enum sl_status sl_megatron_find(const char *path, char **bin, char **index);
