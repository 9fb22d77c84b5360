/* Cuts a part out of a source; see split.h. */
#include "core/io/split.h"

#include "core/io/megatron.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS = 3 };

static enum sl_status bad_split(const char *split) {
  return sl_fail(SL_ERR_INPUT, "--split: is '%s'; expected shares of training, validation and test, such as 969,30,1",
                 split);
}

/* Where the parts end, from 0 to 1. */
static enum sl_status read_ends(const char *split, double ends[PARTS]) {
  double share[PARTS] = {0}, sum = 0;
  const char *at = split;
  for (int i = 0; i < PARTS; i++) {
    char *end;
    if (*at < '0' || *at > '9') return bad_split(split);
    sum += share[i] = strtod(at, &end);
    if (*end == '\0') break;
    if (*end != ',' || i + 1 == PARTS) return bad_split(split);
    at = end + 1;
  }
  if (!(sum > 0) || !isfinite(sum)) return bad_split(split);
  for (int i = 0; i < PARTS; i++) ends[i] = share[i] / sum + (i > 0 ? ends[i - 1] : 0);
  return SL_OK;
}

/* Half to even, as Python rounds. */
static int64_t part_of(int64_t count, double share) {
  return (int64_t)nearbyint((double)count * share);
}

/* The token at which a share of the index's documents ends. */
static enum sl_status document_end(const char *path, double share, int64_t *token) {
  struct sl_file file = {0};
  struct sl_megatron_index index;
  SL_TRY(sl_file_open(&file, path));
  enum sl_status status = sl_megatron_index_read(&file, &index);
  if (status == SL_OK) status = sl_megatron_token_of(&file, &index, part_of(index.sequences, share), token);
  sl_file_close(&file);
  return status;
}

static enum sl_status end_of(const struct sl_data *data, double share, int64_t *token) {
  char *bin, *index;
  SL_TRY(sl_megatron_find(data->name, &bin, &index));
  const enum sl_status status = index != NULL ? document_end(index, share, token) : SL_OK;
  if (index == NULL) *token = part_of(data->token_count, share);
  free(bin);
  free(index);
  return status;
}

static enum sl_status cut(struct sl_data *data, const char *split, enum sl_data_part part) {
  double ends[PARTS];
  int64_t from = 0, to;
  SL_TRY(read_ends(split, ends));
  if (part == SL_DATA_VALIDATION) SL_TRY(end_of(data, ends[part - 1], &from));
  SL_TRY(end_of(data, ends[part], &to));
  if (to <= from)
    return sl_fail(SL_ERR_INPUT, "--split: '%s' leaves nothing of %s for %s", split, data->name,
                   part == SL_DATA_VALIDATION ? "validation" : "training");
  data->first += (size_t)from * (size_t)data->token_bytes;
  data->token_count = to - from;
  return SL_OK;
}

enum sl_status sl_data_open_part(struct sl_data *data, const char *path, const struct sl_data_text *text,
                                 const char *split, enum sl_data_part part) {
  SL_TRY(sl_data_open_text(data, path, text));
  const enum sl_status status = split != NULL ? cut(data, split, part) : SL_OK;
  if (status != SL_OK) sl_data_close(data);
  return status;
}
