/* Token sources and their order; see data.h. The permutation is a Feistel network on the smallest even number of bits
 * that holds n, walked until it falls below n (Black and Rogaway, "Ciphers with arbitrary finite domains", 2002). */
#include "core/io/data.h"

#include "core/base/checked.h"

#include <stdlib.h>
#include <string.h>

enum { HEADER_WORDS = 256, HEADER_BYTES = HEADER_WORDS * 4, ROUNDS = 6 };

/* Magic, version and token width of each kind of shard. */
static const struct shard {
  int32_t magic, version;
  int token_bytes;
  const char *family;
} shards[] = {{20240520, 1, 2, "GPT-2"}, {20240801, 7, 4, "Llama 3"}};

enum { SHARDS = sizeof shards / sizeof *shards };

static int32_t header_word(const struct sl_map *map, int i) {
  int32_t word; /* the shard is little-endian, as are the machines we run on */
  memcpy(&word, map->bytes + 4 * i, sizeof word);
  return word;
}

static const struct shard *shard_of(const struct sl_map *map) {
  if (map->size < 4) return NULL;
  for (int i = 0; i < SHARDS; i++)
    if (header_word(map, 0) == shards[i].magic) return &shards[i];
  return NULL;
}

static enum sl_status read_header(struct sl_data *data, const struct shard *shard) {
  const struct sl_map *map = &data->map;
  if (shard == NULL && map->size < 4)
    return sl_fail(SL_ERR_INPUT, "%s: is %zu bytes; expected a token shard with a header of %d bytes", data->name,
                   map->size, HEADER_BYTES);
  if (shard == NULL)
    return sl_fail(
        SL_ERR_INPUT,
        "%s: header word 0: magic is %d; expected %d (GPT-2, uint16) or %d (Llama 3, uint32). A text file must not "
        "be named .bin",
        data->name, header_word(map, 0), shards[0].magic, shards[1].magic);
  if (map->size < HEADER_BYTES)
    return sl_fail(SL_ERR_INPUT, "%s: is %zu bytes; expected a header of %d bytes", data->name, map->size,
                   HEADER_BYTES);
  if (header_word(map, 1) != shard->version)
    return sl_fail(SL_ERR_INPUT, "%s: header word 1: version is %d; expected %d for a %s shard", data->name,
                   header_word(map, 1), shard->version, shard->family);
  data->token_bytes = shard->token_bytes;
  data->first = HEADER_BYTES;
  data->token_count = header_word(map, 2);
  const uint64_t body = map->size - HEADER_BYTES;
  if (data->token_count < 1 || (uint64_t)sl_product(data->token_count, shard->token_bytes) != body)
    return sl_fail(SL_ERR_INPUT,
                   "%s: header word 2: %lld tokens of %d bytes, but %llu bytes follow the header; expected %llu tokens",
                   data->name, (long long)data->token_count, shard->token_bytes, (unsigned long long)body,
                   (unsigned long long)body / (unsigned)shard->token_bytes);
  return SL_OK;
}

/* Find out what the mapped bytes are; on failure `data` is closed. */
static enum sl_status begin(struct sl_data *data, const char *name) {
  enum sl_status status = SL_OK;
  data->name = strdup(name);
  if (data->name == NULL) SL_GO_FAIL(sl_fail(SL_ERR_MEMORY, "out of memory: a file name"));
  if (data->map.size == 0) SL_GO_FAIL(sl_fail(SL_ERR_INPUT, "%s: is empty; expected text or tokens", name));
  const struct shard *shard = shard_of(&data->map);
  const size_t length = strlen(name);
  if (shard != NULL || (length >= 4 && strcmp(name + length - 4, ".bin") == 0)) {
    SL_GO_FAIL(read_header(data, shard));
  } else {
    data->token_bytes = 1;
    data->token_count = (int64_t)data->map.size;
  }
  return SL_OK;
fail:
  sl_data_close(data);
  return status;
}

enum sl_status sl_data_open(struct sl_data *data, const char *path) {
  memset(data, 0, sizeof *data);
  SL_TRY(sl_map_open(&data->map, path));
  return begin(data, path);
}

enum sl_status sl_data_open_memory(struct sl_data *data, const char *name, const void *bytes, size_t size) {
  memset(data, 0, sizeof *data);
  sl_map_borrow(&data->map, bytes, size);
  return begin(data, name);
}

void sl_data_close(struct sl_data *data) {
  sl_map_close(&data->map);
  free(data->name);
  memset(data, 0, sizeof *data);
}

/* Token `i`, 0 <= i < token_count. */
static uint32_t token_at(const struct sl_data *data, int64_t i) {
  const unsigned char *at = data->map.bytes + data->first + (size_t)i * (size_t)data->token_bytes;
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

static enum sl_status vocab_fail(const struct sl_data *data, int64_t i, int64_t vocab_size) {
  return sl_fail(SL_ERR_INPUT, "%s: token %lld (byte offset %llu) is %u; the model's vocab_size is %lld", data->name,
                 (long long)i, (unsigned long long)data->first + (unsigned long long)i * (unsigned)data->token_bytes,
                 token_at(data, i), (long long)vocab_size);
}

int64_t sl_data_sequences(const struct sl_data *data, int64_t seq) {
  return (data->token_count - 1) / seq;
}

enum sl_status sl_data_check(const struct sl_data *data, int64_t seq, int64_t vocab_size) {
  if (sl_data_sequences(data, seq) < 1)
    return sl_fail(SL_ERR_INPUT, "%s: %lld tokens; expected more than %lld, one sequence and its last target",
                   data->name, (long long)data->token_count, (long long)seq);
  for (int64_t i = 0; i < data->token_count; i++)
    if (token_at(data, i) >= vocab_size) return vocab_fail(data, i, vocab_size);
  return SL_OK;
}

enum sl_status sl_data_sequence(const struct sl_data *data, int64_t i, int64_t seq, int64_t vocab_size, int32_t *tokens,
                                int32_t *targets) {
  const int64_t count = sl_data_sequences(data, seq);
  if (i < 0 || i >= count)
    return sl_fail(SL_ERR_INPUT, "%s: no sequence %lld of %lld tokens; the file has %lld", data->name, (long long)i,
                   (long long)seq, (long long)count);
  for (int64_t t = 0; t <= seq; t++) {
    const uint32_t token = token_at(data, i * seq + t);
    if (token >= vocab_size) return vocab_fail(data, i * seq + t, vocab_size);
    if (tokens != NULL && t < seq) tokens[t] = (int32_t)token;
    if (targets != NULL && t > 0) targets[t - 1] = (int32_t)token;
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
