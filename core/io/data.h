/* Token sources, and the order in which a run draws their sequences. A source is a file of a format that data_format.h
 * recognises, or a pair of files of Megatron-LM (megatron.h).
 *
 * A source of T tokens holds (T-1)/S sequences of S tokens; sequence i is tokens [i S, i S + S), and its targets are
 * the same range shifted by one. A run draws sequence sl_data_order(n, seed, k) as its k-th: every epoch is a new
 * permutation of all n sequences, so global batch s of B sequences is k = s B .. (s+1) B, across epochs. The
 * permutation is computed, not stored: a keyed bijection that is the same on every rank. */
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
  uint32_t *made; /* the tokens of a text, used instead of the file; owned. NULL: the tokens are in the file */
};

/* Opens `path`. If PATH.idx exists or, for a path PREFIX.bin or PREFIX.idx, the file PREFIX.idx, this is Megatron-LM's
 * data (megatron.h): its documents are concatenated in the file's order, and a sequence is what its GPTDataset makes a
 * sample of before it shuffles. Any other file has the format that its first bytes indicate (data_format.h). Errors:
 * SL_ERR_INPUT: unreadable or empty file, bad header, size that contradicts the header's count. On failure nothing is
 * open. */
enum sl_status sl_data_open(struct sl_data *data, const char *path);
/* The same, except that text is tokenised as `text` says (NULL, or without a tokenizer: as above); the tokens are kept
 * in memory. Errors: also those of sl_data_text_read; SL_ERR_INPUT: a file of tokens together with a tokenizer. */
enum sl_status sl_data_open_text(struct sl_data *data, const char *path, const struct sl_data_text *text);
/* The same from memory, which is borrowed and must outlive `data`. */
enum sl_status sl_data_open_memory(struct sl_data *data, const char *name, const void *bytes, size_t size);
void sl_data_close(struct sl_data *data);

/* Number of sequences of `seq` tokens (> 0) in the source; an incomplete last one does not count. */
int64_t sl_data_sequences(const struct sl_data *data, int64_t seq);
/* Number of `samples` that are held out of training: the last samples * split, rounded to the nearest; `split` is from
 * 0 to 1. */
int64_t sl_data_held_out(int64_t samples, double split);
/* Reads the whole source once. Errors: SL_ERR_IO; SL_ERR_INPUT if it is too short for one sequence of `seq`, or has a
 * token that is not below `vocab_size` (the message names its index and byte offset). */
enum sl_status sl_data_check(const struct sl_data *data, int64_t seq, int64_t vocab_size);
/* Fills tokens[seq] and targets[seq], each unless NULL, with sequence `i`, 0 <= i < sl_data_sequences(data, seq).
 * Errors: SL_ERR_INPUT: no such sequence, or a token that is not below `vocab_size`; SL_ERR_IO: the file has become
 * shorter. */
enum sl_status sl_data_sequence(const struct sl_data *data, int64_t i, int64_t seq, int64_t vocab_size,
                                int32_t *tokens /* (seq) */, int32_t *targets /* (seq) */);

/* Position `i` of the permutation of 0..n-1 selected by `seed` and `epoch`; n > 0, 0 <= i < n. */
int64_t sl_data_permute(int64_t n, uint64_t seed, uint64_t epoch, int64_t i);
/* The sequence that a run over `n` sequences draws as its k-th (k >= 0): epoch k / n, position k % n. */
int64_t sl_data_order(int64_t n, uint64_t seed, int64_t k);
