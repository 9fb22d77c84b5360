/* Recognises the formats of token files; see data_format.h. */
#include "core/io/data_format.h"

#include "core/base/checked.h"
#include "core/io/megatron.h"
#include "core/io/npy.h"

#include <string.h>

enum { HEADER_WORDS = 256, HEADER_BYTES = HEADER_WORDS * 4, LOOKED_AT = HEADER_BYTES, ZEROS_FROM = 3 };

/* Magic, version and token width of each kind of llm.c's shards. */
static const struct shard {
  int32_t magic, version;
  int token_bytes;
  const char *family;
} shards[] = {{20240520, 1, 2, "GPT-2"}, {20240801, 7, 4, "Llama 3"}};

enum { SHARDS = sizeof shards / sizeof *shards };

/* The first bytes of a file. */
struct head {
  union {
    unsigned char bytes[LOOKED_AT];
    int32_t words[HEADER_WORDS]; /* little-endian, as are the machines we run on */
  };
  size_t size;
};

static const struct shard *shard_of(int32_t magic) {
  for (int i = 0; i < SHARDS; i++)
    if (magic == shards[i].magic) return &shards[i];
  return NULL;
}

static enum sl_status open_shard(struct sl_data *data, const struct shard *shard, const struct head *head) {
  if (head->size < HEADER_BYTES)
    return sl_fail(SL_ERR_INPUT, "%s: is %zu bytes; expected a header of %d bytes", data->name, head->size,
                   HEADER_BYTES);
  if (head->words[1] != shard->version)
    return sl_fail(SL_ERR_INPUT, "%s: header word 1: version is %d; expected %d for a %s shard", data->name,
                   head->words[1], shard->version, shard->family);
  data->token_bytes = shard->token_bytes;
  data->first = HEADER_BYTES;
  data->token_count = head->words[2];
  const uint64_t body = data->file.size - HEADER_BYTES;
  if (data->token_count < 1 || (uint64_t)sl_product(data->token_count, shard->token_bytes) != body)
    return sl_fail(SL_ERR_INPUT,
                   "%s: header word 2: %lld tokens of %d bytes, but %llu bytes follow the header; expected %llu tokens",
                   data->name, (long long)data->token_count, shard->token_bytes, (unsigned long long)body,
                   (unsigned long long)body / (unsigned)shard->token_bytes);
  return SL_OK;
}

static enum sl_status open_array(struct sl_data *data) {
  struct sl_npy array;
  SL_TRY(sl_npy_open(&data->file, &array));
  data->first = array.first;
  data->token_bytes = array.item_bytes;
  data->is_signed = array.is_signed;
  data->token_count = array.count;
  return SL_OK;
}

/* Could these be the first words of a shard of llm.c with an unknown magic number? In 16-bit tokens the zeros would be
 * hundreds of repetitions of one token. */
static bool has_header_form(const struct head *head) {
  if (head->size < HEADER_BYTES) return false;
  for (int i = ZEROS_FROM; i < HEADER_WORDS; i++)
    if (head->words[i] != 0) return false;
  return head->words[0] != 0;
}

/* Only characters: in 16-bit tokens the upper byte alone would sometimes not be one. */
static bool is_text(const struct head *head) {
  for (size_t i = 0; i < head->size; i++) {
    const unsigned char c = head->bytes[i];
    if (c != '\t' && c != '\n' && c != '\r' && (c < ' ' || c > '~')) return false;
  }
  return true;
}

static enum sl_status open_headerless(struct sl_data *data, const struct head *head) {
  if (has_header_form(head))
    return sl_fail(SL_ERR_INPUT,
                   "%s: header word 0: magic is %d; expected %d (GPT-2, uint16) or %d (Llama 3, uint32) in front of a "
                   "header like llm.c's",
                   data->name, head->words[0], shards[0].magic, shards[1].magic);
  if (is_text(head))
    return sl_fail(SL_ERR_INPUT, "%s: is text; expected uint16 tokens. A text file must not be named .bin", data->name);
  data->token_bytes = 2;
  data->token_count = (int64_t)(data->file.size / 2);
  if (data->file.size % 2 == 0) return SL_OK;
  return sl_fail(SL_ERR_INPUT,
                 "%s: is %zu bytes, an odd number; expected uint16 tokens, as nanoGPT writes them, or a "
                 "header of llm.c",
                 data->name, data->file.size);
}

static bool named_bin(const char *name) {
  const size_t length = strlen(name);
  return length >= 4 && strcmp(name + length - 4, ".bin") == 0;
}

enum sl_status sl_data_identify(struct sl_data *data) {
  struct head head = {.size = data->file.size < LOOKED_AT ? data->file.size : LOOKED_AT};
  if (head.size == 0) return sl_fail(SL_ERR_INPUT, "%s: is empty; expected text or tokens", data->name);
  SL_TRY(sl_file_read(&data->file, 0, head.bytes, head.size));
  const struct shard *shard = head.size >= sizeof(int32_t) ? shard_of(head.words[0]) : NULL;
  if (shard != NULL) return open_shard(data, shard, &head);
  if (head.size >= SL_NPY_MAGIC_BYTES && sl_npy_claims(head.bytes)) return open_array(data);
  if (head.size >= SL_MEGATRON_MAGIC_BYTES && sl_megatron_claims(head.bytes))
    return sl_fail(SL_ERR_INPUT, "%s: is an index of Megatron-LM; expected its name to end in .idx, beside the .bin",
                   data->name);
  if (named_bin(data->name)) return open_headerless(data, &head);
  data->token_bytes = 1;
  data->token_count = (int64_t)data->file.size;
  return SL_OK;
}
