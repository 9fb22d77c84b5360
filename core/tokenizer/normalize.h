/* Normalises a text before it is split into words: Unicode's normal forms, and the replacements of SentencePiece's
 * models. */
#pragma once

#include "core/base/status.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum sl_normal { SL_NORMAL_NFC, SL_NORMAL_NFD, SL_NORMAL_NFKC, SL_NORMAL_NFKD, SL_NORMAL_PREPEND, SL_NORMAL_REPLACE };

struct sl_normal_step {
  enum sl_normal kind;
  const char *from, *to; /* of PREPEND `to`; borrowed from the document */
};

struct sl_normalizer {
  struct sl_normal_step *steps;
  size_t count, capacity;
};

/* Reads the "normalizer" of tokenizer `name`, which must outlive it; null: none. Call sl_normalizer_free after a
 * failure too. Errors: SL_ERR_INPUT with the key. */
enum sl_status sl_normalizer_open(struct sl_normalizer *normalizer, const char *name, const json_t *json);
void sl_normalizer_free(struct sl_normalizer *normalizer);
/* Normalises `text`, UTF-8: *out, of *out_size bytes, to be freed; NULL: `text` is unchanged. Errors: SL_ERR_MEMORY. */
enum sl_status sl_normalize(const struct sl_normalizer *normalizer, const char *text, size_t size, char **out,
                            size_t *out_size);
