/* Reads Megatron-LM's index; see megatron.h. It is read a few thousand entries at a time, so an index of any size needs
 * little memory. */
#include "core/io/megatron.h"

#include "core/base/checked.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAGIC "MMIDIDX\0"       /* followed by the zero byte of the string */
#define LEGACY_MAGIC "TNTIDX\0" /* of the older format; eight bytes with the string's zero byte */

enum { HEADER_BYTES = 34, LENGTH_BYTES = 4, OFFSET_BYTES = 8, RUN = 4096, LEGACY_BYTES = 8 };

/* Types by their code, from 1 on; 0 bytes: not an integer. Source: class DType of indexed_dataset.py. */
static const struct type {
  int bytes;
  bool is_signed;
  const char *name;
} types[] = {{1, false, "uint8"}, {1, true, "int8"},    {2, true, "int16"},   {4, true, "int32"},
             {8, true, "int64"},  {0, true, "float64"}, {0, true, "float32"}, {2, false, "uint16"}};

enum { TYPES = sizeof types / sizeof *types };

bool sl_megatron_claims(const unsigned char *bytes) {
  return memcmp(bytes, MAGIC, SL_MEGATRON_MAGIC_BYTES) == 0;
}

static enum sl_status read_head(const struct sl_file *file, struct sl_megatron_index *out) {
  unsigned char head[HEADER_BYTES];
  uint64_t version, sequences, documents;
  if (file->size < HEADER_BYTES)
    return sl_fail(SL_ERR_INPUT, "%s: is %zu bytes; expected an index of Megatron-LM, %d bytes or more", file->name,
                   file->size, HEADER_BYTES);
  SL_TRY(sl_file_read(file, 0, head, sizeof head));
  if (memcmp(head, LEGACY_MAGIC, LEGACY_BYTES) == 0)
    return sl_fail(SL_ERR_INPUT,
                   "%s: is an index of the old format TNTIDX; expected MMIDIDX, as Megatron-LM's "
                   "tools/preprocess_data.py writes it",
                   file->name);
  if (!sl_megatron_claims(head))
    return sl_fail(SL_ERR_INPUT, "%s: does not begin with MMIDIDX; expected an index of Megatron-LM", file->name);
  memcpy(&version, head + 9, sizeof version); /* little-endian, as are the machines we run on */
  memcpy(&sequences, head + 18, sizeof sequences);
  memcpy(&documents, head + 26, sizeof documents);
  const int code = head[17];
  if (version != 1)
    return sl_fail(SL_ERR_INPUT, "%s: version is %llu; expected 1", file->name, (unsigned long long)version);
  if (code < 1 || code > TYPES || types[code - 1].bytes == 0)
    return sl_fail(SL_ERR_INPUT, "%s: type of tokens is %d%s%s; expected 1, 2, 3, 4, 5 or 8, an integer type",
                   file->name, code, code >= 1 && code <= TYPES ? ", " : "",
                   code >= 1 && code <= TYPES ? types[code - 1].name : "");
  const uint64_t most = file->size / (LENGTH_BYTES + OFFSET_BYTES);
  if (sequences > most || documents > most + 1)
    return sl_fail(SL_ERR_INPUT, "%s: is %zu bytes; too few for %llu sequences and %llu document boundaries",
                   file->name, file->size, (unsigned long long)sequences, (unsigned long long)documents);
  *out = (struct sl_megatron_index){.item_bytes = types[code - 1].bytes,
                                    .is_signed = types[code - 1].is_signed,
                                    .sequences = (int64_t)sequences,
                                    .documents = (int64_t)documents - 1};
  return SL_OK;
}

/* The offset of the first of the three lists. */
static int64_t offsets_at(const struct sl_megatron_index *i) {
  return HEADER_BYTES + i->sequences * LENGTH_BYTES;
}
static int64_t boundaries_at(const struct sl_megatron_index *i) {
  return offsets_at(i) + i->sequences * OFFSET_BYTES;
}

static enum sl_status check_size(const struct sl_file *file, const struct sl_megatron_index *i) {
  const int64_t want = boundaries_at(i) + (i->documents + 1) * OFFSET_BYTES, has = (int64_t)file->size;
  if (has == want) return SL_OK;
  return sl_fail(SL_ERR_INPUT,
                 has == want + i->sequences
                     ? "%s: is %lld bytes, %lld more than its lists: the modes of multimodal data; expected text"
                     : "%s: is %lld bytes; expected %lld for its %lld sequences and %lld document boundaries",
                 file->name, (long long)has, (long long)(has == want + i->sequences ? i->sequences : want),
                 (long long)i->sequences, (long long)i->documents + 1);
}

/* Checks sequences first .. first+count: each begins where the one before it ends. */
static enum sl_status check_run(const struct sl_file *file, struct sl_megatron_index *out, int64_t first, int count) {
  int32_t lengths[RUN];
  int64_t offsets[RUN];
  SL_TRY(sl_file_read(file, (uint64_t)(HEADER_BYTES + first * LENGTH_BYTES), lengths, (size_t)count * sizeof *lengths));
  SL_TRY(
      sl_file_read(file, (uint64_t)(offsets_at(out) + first * OFFSET_BYTES), offsets, (size_t)count * sizeof *offsets));
  for (int k = 0; k < count; k++) {
    const int64_t end = sl_product(out->tokens, out->item_bytes);
    if (lengths[k] < 0)
      return sl_fail(SL_ERR_INPUT, "%s: length of sequence %lld is %d; expected 0 or more", file->name,
                     (long long)first + k, lengths[k]);
    if (offsets[k] != end)
      return sl_fail(SL_ERR_INPUT, "%s: sequence %lld begins at byte %lld; expected %lld, where the one before it ends",
                     file->name, (long long)first + k, (long long)offsets[k], (long long)end);
    out->tokens = sl_sum(out->tokens, lengths[k]);
  }
  return SL_OK;
}

/* Documents are consecutive sequences, from the first to the last. */
static enum sl_status check_boundaries(const struct sl_file *file, const struct sl_megatron_index *i) {
  int64_t before = 0, run[RUN];
  for (int64_t at = 0; at <= i->documents; at += RUN) {
    const int64_t left = i->documents + 1 - at;
    const int count = (int)(left < RUN ? left : RUN);
    SL_TRY(sl_file_read(file, (uint64_t)(boundaries_at(i) + at * OFFSET_BYTES), run, (size_t)count * sizeof *run));
    for (int k = 0; k < count; k++) {
      if (run[k] < before || run[k] > i->sequences || (at + k == 0 && run[k] != 0))
        return sl_fail(SL_ERR_INPUT, "%s: document boundary %lld is %lld; expected one from %lld to %lld", file->name,
                       (long long)at + k, (long long)run[k], (long long)before,
                       (long long)(at + k == 0 ? 0 : i->sequences));
      before = run[k];
    }
  }
  if (before == i->sequences) return SL_OK;
  return sl_fail(SL_ERR_INPUT, "%s: the last document ends at sequence %lld; expected %lld, all of them", file->name,
                 (long long)before, (long long)i->sequences);
}

enum sl_status sl_megatron_index_read(const struct sl_file *file, struct sl_megatron_index *out) {
  SL_TRY(read_head(file, out));
  SL_TRY(check_size(file, out));
  for (int64_t at = 0; at < out->sequences; at += RUN) {
    const int64_t left = out->sequences - at;
    SL_TRY(check_run(file, out, at, (int)(left < RUN ? left : RUN)));
  }
  return check_boundaries(file, out);
}

enum sl_status sl_megatron_token_of(const struct sl_file *file, const struct sl_megatron_index *index, int64_t i,
                                    int64_t *token) {
  int64_t offset;
  *token = index->tokens;
  if (i >= index->sequences) return SL_OK;
  SL_TRY(sl_file_read(file, (uint64_t)(offsets_at(index) + i * OFFSET_BYTES), &offset, sizeof offset));
  *token = offset / index->item_bytes;
  return SL_OK;
}

static bool ends_with(const char *path, const char *end) {
  const size_t length = strlen(path), tail = strlen(end);
  return length > tail && strcmp(path + length - tail, end) == 0;
}

static enum sl_status join(char **out, const char *path, size_t prefix, const char *end) {
  SL_TRY(sl_calloc(out, prefix + strlen(end) + 1, 1));
  memcpy(*out, path, prefix);
  strcpy(*out + prefix, end);
  return SL_OK;
}

enum sl_status sl_megatron_find(const char *path, char **bin, char **index) {
  const bool named = ends_with(path, ".bin") || ends_with(path, ".idx");
  const size_t prefix = strlen(path) - (named ? 4 : 0);
  *bin = *index = NULL;
  /* a file of that exact name is what was asked for, unless it is one of the two */
  if (!named && access(path, F_OK) == 0) return SL_OK;
  SL_TRY(join(index, path, prefix, ".idx"));
  enum sl_status status = SL_OK;
  if (ends_with(path, ".idx") || access(*index, F_OK) == 0) status = join(bin, path, prefix, ".bin");
  if (*bin == NULL) {
    free(*index);
    *index = NULL;
  }
  return status;
}
