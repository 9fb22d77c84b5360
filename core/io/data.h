/* Token sources, files of the formats that data_format.h tells apart or Megatron-LM's pairs, and the order of their sequences.
 *
 * A source of T tokens holds (T-1)/S sequences of S tokens; sequence i is tokens [i S, i S + S) and its targets are the
 * same range shifted by one. A run draws sequence sl_data_order(n, seed, k) as its k-th: every epoch is a new
 * permutation of all n sequences, so global batch s of B sequences is k = s B .. (s+1) B, across epochs. The
 * permutation is computed, not stored: a keyed bijection, equal on every rank. */
#pragma once

#include "core/base/file.h"
#include "core/base/status.h"
#include "core/io/data_text.h"

#include <stdbool.h>
#include <stdint.h>

struct sl_data {
  char *name; /* file name for messages; owned */
  struct sl_file file;
  size_t first;    /* byte offset of the first token */
  int token_bytes; /* 1, 2, 4 or 8, little-endian; text has 1 */
  bool is_signed;
  int64_t token_count;
  uint32_t *made; /* the tokens of a text, which stand in for the file; owned. NULL: they are in the file */
};

/* Open `path`. Where PATH.idx, or for a path PREFIX.bin or PREFIX.idx the file PREFIX.idx, is there, it names Megatron-LM's data
 * (megatron.h): its documents stand end to end, in the file's order, and a sequence is what its GPTDataset makes a sample of before it
 * shuffles. Any other file is of the format that its first bytes say (data_format.h). Errors: SL_ERR_INPUT: unreadable or empty file, bad
 * header, size unlike the header's count. On failure nothing is held. */
enum sl_status sl_data_open(struct sl_data *data, const char *path);
/* The same, but a text becomes tokens as `text` says (NULL, or without a tokenizer: as above), which stand in memory. Errors: also those of
 * sl_data_text_read; SL_ERR_INPUT: a file of tokens beside a tokenizer. */
enum sl_status sl_data_open_text(struct sl_data *data, const char *path, const struct sl_data_text *text);
/* The same from memory, which stays the caller's and must outlive `data`. */
enum sl_status sl_data_open_memory(struct sl_data *data, const char *name, const void *bytes, size_t size);
void sl_data_close(struct sl_data *data);

/* Sequences of `seq` tokens (> 0) in the source; the last incomplete one does not count. */
int64_t sl_data_sequences(const struct sl_data *data, int64_t seq);
/* Of `samples` as many as `split`, from 0 to 1, says are not trained on: the last ones, samples * split of them rounded to the nearest. */
int64_t sl_data_held_out(int64_t samples, double split);
/* Read the whole source once: SL_ERR_IO when that fails, SL_ERR_INPUT when it is too short for one sequence of `seq`, or holds a token that is not
 * below `vocab_size` (the message names its index and its byte offset). */
enum sl_status sl_data_check(const struct sl_data *data, int64_t seq, int64_t vocab_size);
/* Fill tokens[seq] and targets[seq], each unless NULL, with sequence `i`, 0 <= i < sl_data_sequences(data, seq).
 * SL_ERR_INPUT: no such sequence, or a token that is not below `vocab_size`; SL_ERR_IO: the file has become shorter. */
enum sl_status sl_data_sequence(const struct sl_data *data, int64_t i, int64_t seq, int64_t vocab_size,
                                int32_t *tokens /* (seq) */, int32_t *targets /* (seq) */);

/* Position `i` of the permutation of 0..n-1 that `seed` and `epoch` select; n > 0, 0 <= i < n. */
int64_t sl_data_permute(int64_t n, uint64_t seed, uint64_t epoch, int64_t i);
/* The sequence that a run over `n` sequences draws as its k-th (k >= 0): epoch k / n, position k % n. */
int64_t sl_data_order(int64_t n, uint64_t seed, int64_t k);
