/* Token sources and their order; see data.h. The permutation is a Feistel network on the smallest even number of bits
 * that can hold n, iterated until the result is below n (Black and Rogaway, "Ciphers with arbitrary finite domains",
 * 2002). */
#include "core/io/data.h"

#include "core/base/checked.h"
#include "core/io/data_format.h"
#include "core/io/megatron.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 6, RUN_BYTES = 8192 };

static enum sl_status keep_name(struct sl_data *data, const char *name) {
  *data = (struct sl_data){.name = strdup(name)};
  return data->name != NULL ? SL_OK : sl_fail(SL_ERR_MEMORY, "out of memory: a file name");
}

/* Opens Megatron-LM's tokens; their index is read once. */
static enum sl_status open_indexed(struct sl_data *data, const char *bin, const char *path) {
  struct sl_file file = {0};
  struct sl_megatron_index index;
  SL_TRY(sl_file_open(&file, path));
  enum sl_status status = sl_megatron_index_read(&file, &index);
  sl_file_close(&file);
  SL_TRY(status);
  SL_TRY(keep_name(data, bin));
  SL_TRY(sl_file_open(&data->file, data->name));
  data->token_bytes = index.item_bytes;
  data->is_signed = index.is_signed;
  data->token_count = index.tokens;
  const int64_t bytes = sl_product(index.tokens, index.item_bytes);
  if (index.tokens > 0 && (uint64_t)bytes == data->file.size) return SL_OK;
  return sl_fail(SL_ERR_INPUT, "%s: is %zu bytes; expected %lld tokens of %d bytes, as %s says", bin, data->file.size,
                 (long long)index.tokens, index.item_bytes, path);
}

static enum sl_status open_plain(struct sl_data *data, const char *path) {
  SL_TRY(keep_name(data, path));
  SL_TRY(sl_file_open(&data->file, data->name));
  return sl_data_identify(data);
}

enum sl_status sl_data_open(struct sl_data *data, const char *path) {
  char *bin, *index;
  *data = (struct sl_data){0};
  SL_TRY(sl_megatron_find(path, &bin, &index));
  const enum sl_status status = bin != NULL ? open_indexed(data, bin, index) : open_plain(data, path);
  free(bin);
  free(index);
  if (status != SL_OK) sl_data_close(data);
  return status;
}

enum sl_status sl_data_open_text(struct sl_data *data, const char *path, const struct sl_data_text *text) {
  enum sl_status status;
  SL_TRY(sl_data_open(data, path));
  if (text == NULL || text->tokenizer == NULL) return SL_OK;
  if (data->token_bytes != 1 || data->first > 0)
    SL_GO_FAIL(sl_fail(SL_ERR_INPUT, "%s: holds tokens; expected text, for which --tokenizer is", data->name));
  SL_GO_FAIL(sl_data_text_read(&data->file, text, &data->made, &data->token_count));
  sl_file_close(&data->file);
  sl_file_borrow(&data->file, data->name, data->made,
                 (size_t)sl_product(data->token_count, (int64_t)sizeof *data->made));
  data->token_bytes = (int)sizeof *data->made;
  return SL_OK;
fail:
  sl_data_close(data);
  return status;
}

enum sl_status sl_data_open_memory(struct sl_data *data, const char *name, const void *bytes, size_t size) {
  SL_TRY(keep_name(data, name));
  sl_file_borrow(&data->file, data->name, bytes, size);
  const enum sl_status status = sl_data_identify(data);
  if (status != SL_OK) sl_data_close(data);
  return status;
}

void sl_data_close(struct sl_data *data) {
  sl_file_close(&data->file);
  free(data->name);
  free(data->made);
  memset(data, 0, sizeof *data);
}

/* A few tokens that are read together. */
struct run {
  int64_t first;
  int count;
  unsigned char bytes[RUN_BYTES];
};

/* Reads the run from token `i` on, of at most `most` tokens. */
static enum sl_status read_run(const struct sl_data *data, struct run *run, int64_t i, int64_t most) {
  const int64_t fit = RUN_BYTES / data->token_bytes;
  run->first = i;
  run->count = (int)(most < fit ? most : fit);
  return sl_file_read(&data->file, data->first + (uint64_t)i * (unsigned)data->token_bytes, run->bytes,
                      (size_t)run->count * (size_t)data->token_bytes);
}

/* Token `i` of it, 0 <= i < count. Negative if the type is signed and the number is negative, or if it exceeds 63
 * bits. */
static int64_t token_at(const struct sl_data *data, const struct run *run, int i) {
  uint64_t value = 0; /* little-endian, as are the machines we run on */
  memcpy(&value, run->bytes + (size_t)i * (size_t)data->token_bytes, (size_t)data->token_bytes);
  const int unused = 64 - 8 * data->token_bytes;
  return data->is_signed ? (int64_t)(value << unused) >> unused : (int64_t)value;
}

static bool in_vocabulary(int64_t token, int64_t vocab_size) {
  return token >= 0 && token < vocab_size;
}

static enum sl_status vocab_fail(const struct sl_data *data, int64_t i, int64_t token, int64_t vocab_size) {
  char where[48] = "", value[24];
  if (data->made == NULL)
    snprintf(where, sizeof where, " (byte offset %lld)", (long long)data->first + (long long)i * data->token_bytes);
  snprintf(value, sizeof value, data->is_signed ? "%" PRId64 : "%" PRIu64, token);
  return sl_fail(SL_ERR_INPUT, "%s: token %lld%s is %s; the model's vocab_size is %lld", data->name, (long long)i,
                 where, value, (long long)vocab_size);
}

int64_t sl_data_sequences(const struct sl_data *data, int64_t seq) {
  return (data->token_count - 1) / seq;
}

int64_t sl_data_held_out(int64_t samples, double split) {
  return (int64_t)llround((double)samples * split);
}

enum sl_status sl_data_check(const struct sl_data *data, int64_t seq, int64_t vocab_size) {
  struct run run;
  if (sl_data_sequences(data, seq) < 1)
    return sl_fail(SL_ERR_INPUT, "%s: %lld tokens; expected more than %lld, one sequence and its last target",
                   data->name, (long long)data->token_count, (long long)seq);
  /* then every value is a token, and a file of gigabytes need not be read */
  if (!data->is_signed && data->token_bytes < 4 && vocab_size >= INT64_C(1) << (8 * data->token_bytes)) return SL_OK;
  for (int64_t at = 0; at < data->token_count; at += run.count) {
    SL_TRY(read_run(data, &run, at, data->token_count - at));
    for (int i = 0; i < run.count; i++)
      if (!in_vocabulary(token_at(data, &run, i), vocab_size))
        return vocab_fail(data, at + i, token_at(data, &run, i), vocab_size);
  }
  return SL_OK;
}

enum sl_status sl_data_sequence(const struct sl_data *data, int64_t i, int64_t seq, int64_t vocab_size, int32_t *tokens,
                                int32_t *targets) {
  const int64_t count = sl_data_sequences(data, seq);
  struct run run;
  if (i < 0 || i >= count)
    return sl_fail(SL_ERR_INPUT, "%s: no sequence %lld of %lld tokens; the file has %lld", data->name, (long long)i,
                   (long long)seq, (long long)count);
  for (int64_t at = 0; at <= seq; at += run.count) {
    SL_TRY(read_run(data, &run, i * seq + at, seq + 1 - at));
    for (int k = 0; k < run.count; k++) {
      const int64_t token = token_at(data, &run, k), t = at + k;
      if (!in_vocabulary(token, vocab_size)) return vocab_fail(data, i * seq + t, token, vocab_size);
      if (tokens != NULL && t < seq) tokens[t] = (int32_t)token;
      if (targets != NULL && t > 0) targets[t - 1] = (int32_t)token;
    }
  }
  return SL_OK;
}

/* The finaliser of splitmix64: every input bit affects every output bit. */
static uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

int64_t sl_data_permute(int64_t n, uint64_t seed, uint64_t epoch, int64_t i) {
  int half = 1; /* bits of each half: 2 half bits hold n - 1 */
  while (half < 32 && (uint64_t)(n - 1) >> (2 * half) != 0) half++;
  const uint64_t mask = ((uint64_t)1 << half) - 1;
  const uint64_t key = mix(mix(seed + 0x9e3779b97f4a7c15u) + epoch);
  uint64_t x = (uint64_t)i;
  do { /* a bijection of the larger domain, started below n, returns below n: after fewer than 4 rounds on average */
    uint64_t left = x >> half, right = x & mask;
    for (uint64_t round = 0; round < ROUNDS; round++) {
      const uint64_t next = left ^ (mix(key + mix(right * ROUNDS + round + 1)) & mask);
      left = right, right = next;
    }
    x = left << half | right;
  } while (x >= (uint64_t)n);
  return (int64_t)x;
}

int64_t sl_data_order(int64_t n, uint64_t seed, int64_t k) {
  return sl_data_permute(n, seed, (uint64_t)(k / n), k % n);
}
