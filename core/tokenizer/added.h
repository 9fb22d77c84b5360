/* Added tokens: strings such as <|endoftext|> that become a single id wherever they occur in a text. */
#pragma once

#include "core/tokenizer/token_map.h"

#include <jansson.h>
#include <stdbool.h>

struct sl_added {
  struct sl_token_map words;
  size_t longest;   /* bytes */
  bool begins[256]; /* whether a token begins with this byte */
};

/* Finds the first added token in text[from ...], the longest if several begin at the same place. False: there is
 * none. */
bool sl_added_next(const struct sl_added *added, const char *text, size_t size, size_t from, size_t *begin, size_t *end,
                   uint32_t *id);
/* Errors: SL_ERR_MEMORY. */
enum sl_status sl_added_put(struct sl_added *added, const char *token, size_t bytes, uint32_t id);
