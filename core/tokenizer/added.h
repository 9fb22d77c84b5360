/* Added tokens: strings such as <|endoftext|> that become a single id wherever they occur in a text. */
#pragma once

#include "core/tokenizer/token_map.h"

#include <stdbool.h>

struct sl_added_token {
  uint32_t id;
  bool single_word;    /* not beside a character of a word */
  bool lstrip, rstrip; /* takes the blanks before it, behind it */
};

struct sl_added {
  struct sl_token_map words; /* to numbers of `tokens` */
  struct sl_added_token *tokens;
  size_t count, capacity;
  size_t longest;   /* bytes */
  bool begins[256]; /* whether a token begins with this byte */
};

/* Where a text has been read: up to `searched` for tokens, which with the blanks that they take end at `taken`. */
struct sl_added_place {
  size_t searched, taken;
};

/* Finds the next added token, the longest if several begin at the same place, and moves `place`: it is *id, and
 * text[*begin ... place->taken) with its blanks, of which the one before may have taken some. False: there is none. */
bool sl_added_next(const struct sl_added *added, const char *text, size_t size, struct sl_added_place *place,
                   size_t *begin, uint32_t *id);
/* Errors: SL_ERR_MEMORY. */
enum sl_status sl_added_put(struct sl_added *added, const char *text, size_t bytes, struct sl_added_token token);
/* The id of a token by its text; -1: none. */
int64_t sl_added_find(const struct sl_added *added, const char *text, size_t bytes);
void sl_added_free(struct sl_added *added);
