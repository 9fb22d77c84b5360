/* What becomes of a text before it is cut into words: Unicode's normal forms, and the replacements of SentencePiece's models. */
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

/* Read the "normalizer" of tokenizer `name`, which must outlive it; null: none. Errors: SL_ERR_INPUT with the key. What was made is
 * sl_normalizer_free's after a failure, too. */
enum sl_status sl_normalizer_open(struct sl_normalizer *normalizer, const char *name, const json_t *json);
void sl_normalizer_free(struct sl_normalizer *normalizer);
/* `text`, UTF-8, in its normal form: *out, of *out_size bytes, is to be freed; NULL: `text` itself. Errors: SL_ERR_MEMORY. */
enum sl_status sl_normalize(const struct sl_normalizer *normalizer, const char *text, size_t size, char **out,
                            size_t *out_size);
