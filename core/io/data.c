/* Token sources and their order; see data.h. The permutation is a Feistel network on the smallest even number of bits
 * that holds n, walked until it falls below n (Black and Rogaway, "Ciphers with arbitrary finite domains", 2002). */
#include "core/io/data.h"

#include "core/base/checked.h"

#include <stdlib.h>
#include <string.h>

enum { HEADER_WORDS = 256, HEADER_BYTES = HEADER_WORDS * 4, ROUNDS = 6, RUN_BYTES = 8192 };

/* Magic, version and token width of each kind of shard. */
static const struct shard {
  int32_t magic, version;
  int token_bytes;
  const char *family;
} shards[] = {{20240520, 1, 2, "GPT-2"}, {20240801, 7, 4, "Llama 3"}};

enum { SHARDS = sizeof shards / sizeof *shards };

static const struct shard *shard_of(int32_t magic) {
  for (int i = 0; i < SHARDS; i++)
    if (magic == shards[i].magic) return &shards[i];
  return NULL;
}

static enum sl_status check_header(struct sl_data *data, const struct shard *shard, const int32_t header[3]) {
  if (header[1] != shard->version)
    return sl_fail(SL_ERR_INPUT, "%s: header word 1: version is %d; expected %d for a %s shard", data->name, header[1],
                   shard->version, shard->family);
  data->token_bytes = shard->token_bytes;
  data->first = HEADER_BYTES;
  data->token_count = header[2];
  const uint64_t body = data->file.size - HEADER_BYTES;
  if (data->token_count < 1 || (uint64_t)sl_product(data->token_count, shard->token_bytes) != body)
    return sl_fail(SL_ERR_INPUT,
                   "%s: header word 2: %lld tokens of %d bytes, but %llu bytes follow the header; expected %llu tokens",
                   data->name, (long long)data->token_count, shard->token_bytes, (unsigned long long)body,
                   (unsigned long long)body / (unsigned)shard->token_bytes);
  return SL_OK;
}

static enum sl_status read_header(struct sl_data *data, const struct shard *shard, int32_t magic) {
  int32_t header[3]; /* the shard is little-endian, as are the machines we run on */
  const size_t size = data->file.size;
  if (shard == NULL && size < sizeof magic)
    return sl_fail(SL_ERR_INPUT, "%s: is %zu bytes; expected a token shard with a header of %d bytes", data->name, size,
                   HEADER_BYTES);
  if (shard == NULL)
    return sl_fail(
        SL_ERR_INPUT,
        "%s: header word 0: magic is %d; expected %d (GPT-2, uint16) or %d (Llama 3, uint32). A text file must not "
        "be named .bin",
        data->name, magic, shards[0].magic, shards[1].magic);
  if (size < HEADER_BYTES)
    return sl_fail(SL_ERR_INPUT, "%s: is %zu bytes; expected a header of %d bytes", data->name, size, HEADER_BYTES);
  SL_TRY(sl_file_read(&data->file, 0, header, sizeof header));
  return check_header(data, shard, header);
}

/* Find out what the file's bytes are. */
static enum sl_status identify(struct sl_data *data) {
  int32_t magic = 0;
  const size_t length = strlen(data->name);
  if (data->file.size == 0) return sl_fail(SL_ERR_INPUT, "%s: is empty; expected text or tokens", data->name);
  if (data->file.size >= sizeof magic) SL_TRY(sl_file_read(&data->file, 0, &magic, sizeof magic));
  const struct shard *shard = shard_of(magic);
  if (shard != NULL || (length >= 4 && strcmp(data->name + length - 4, ".bin") == 0))
    return read_header(data, shard, magic);
  data->token_bytes = 1;
  data->token_count = (int64_t)data->file.size;
  return SL_OK;
}

static enum sl_status keep_name(struct sl_data *data, const char *name) {
  *data = (struct sl_data){.name = strdup(name)};
  return data->name != NULL ? SL_OK : sl_fail(SL_ERR_MEMORY, "out of memory: a file name");
}

enum sl_status sl_data_open(struct sl_data *data, const char *path) {
  enum sl_status status = SL_OK;
  SL_TRY(keep_name(data, path));
  SL_GO_FAIL(sl_file_open(&data->file, data->name));
  SL_GO_FAIL(identify(data));
  return SL_OK;
fail:
  sl_data_close(data);
  return status;
}

enum sl_status sl_data_open_memory(struct sl_data *data, const char *name, const void *bytes, size_t size) {
  SL_TRY(keep_name(data, name));
  sl_file_borrow(&data->file, data->name, bytes, size);
  const enum sl_status status = identify(data);
  if (status != SL_OK) sl_data_close(data);
  return status;
}

void sl_data_close(struct sl_data *data) {
  sl_file_close(&data->file);
  free(data->name);
  memset(data, 0, sizeof *data);
}

/* Some tokens, read at a time. */
struct run {
  int64_t first;
  int count;
  unsigned char bytes[RUN_BYTES];
};

/* The run from token `i` on, of at most `most` tokens. */
static enum sl_status read_run(const struct sl_data *data, struct run *run, int64_t i, int64_t most) {
  const int64_t fit = RUN_BYTES / data->token_bytes;
  run->first = i;
  run->count = (int)(most < fit ? most : fit);
  return sl_file_read(&data->file, data->first + (uint64_t)i * (unsigned)data->token_bytes, run->bytes,
                      (size_t)run->count * (size_t)data->token_bytes);
}

/* Token `i` of it, 0 <= i < count. */
static uint32_t token_at(const struct sl_data *data, const struct run *run, int i) {
  const unsigned char *at = run->bytes + (size_t)i * (size_t)data->token_bytes;
  uint16_t two;
  uint32_t four;
  switch (data->token_bytes) {
  case 1:
    return *at;
  case 2:
    memcpy(&two, at, sizeof two);
    return two;
  default:
    memcpy(&four, at, sizeof four);
    return four;
  }
}

static enum sl_status vocab_fail(const struct sl_data *data, int64_t i, uint32_t token, int64_t vocab_size) {
  return sl_fail(SL_ERR_INPUT, "%s: token %lld (byte offset %llu) is %u; the model's vocab_size is %lld", data->name,
                 (long long)i, (unsigned long long)data->first + (unsigned long long)i * (unsigned)data->token_bytes,
                 token, (long long)vocab_size);
}

int64_t sl_data_sequences(const struct sl_data *data, int64_t seq) {
  return (data->token_count - 1) / seq;
}

enum sl_status sl_data_check(const struct sl_data *data, int64_t seq, int64_t vocab_size) {
  struct run run;
  if (sl_data_sequences(data, seq) < 1)
    return sl_fail(SL_ERR_INPUT, "%s: %lld tokens; expected more than %lld, one sequence and its last target",
                   data->name, (long long)data->token_count, (long long)seq);
  for (int64_t at = 0; at < data->token_count; at += run.count) {
    SL_TRY(read_run(data, &run, at, data->token_count - at));
    for (int i = 0; i < run.count; i++)
      if (token_at(data, &run, i) >= vocab_size) return vocab_fail(data, at + i, token_at(data, &run, i), vocab_size);
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
      const uint32_t token = token_at(data, &run, k);
      const int64_t t = at + k;
      if (token >= vocab_size) return vocab_fail(data, i * seq + t, token, vocab_size);
      if (tokens != NULL && t < seq) tokens[t] = (int32_t)token;
      if (targets != NULL && t > 0) targets[t - 1] = (int32_t)token;
    }
  }
  return SL_OK;
}

/* The finaliser of splitmix64: every bit of the input moves every bit of the output. */
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
  do { /* a bijection of the larger domain, followed from a point below n, returns below n: fewer than 4 rounds on
          average */
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
