/* Splits a text into words, across which byte-pair encoding never merges: the "pre_tokenizer". */
#pragma once

#include "core/base/status.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum sl_split_kind {
  SL_SPLIT_PATTERN, /* at the matches of a regular expression */
  SL_SPLIT_BYTES,   /* possibly adds a blank in front; from here on words are bytes */
  SL_SPLIT_META     /* blanks become "▁", and words begin with one */
};

/* What happens to a match. */
enum sl_split_behavior {
  SL_SPLIT_ISOLATED, /* becomes a word */
  SL_SPLIT_REMOVED,  /* is dropped */
  SL_SPLIT_PREVIOUS, /* is appended to the word before, unless that is a match */
  SL_SPLIT_NEXT      /* is prepended to the word after, unless that is a match */
};

struct sl_split_step {
  enum sl_split_kind kind;
  void *code, *match; /* of PATTERN: PCRE2 objects; owned */
  bool invert;        /* matches and the text between them change roles */
  enum sl_split_behavior behavior;
  bool blank;          /* of BYTES: add a blank in front if there is none */
  bool first_only;     /* of META: "▁" only at the beginning of the text */
  bool prepends, cuts; /* of META */
};

struct sl_splitter {
  const char *name; /* of the tokenizer, for messages; borrowed */
  struct sl_split_step *steps;
  size_t count, capacity;
  bool byte_level;
};

/* Called for each word, in order. */
typedef enum sl_status (*sl_split_fn)(void *context, const char *word, size_t size);

/* Reads the "pre_tokenizer" of tokenizer `name`, which must outlive it; null: the text is one word. Call
 * sl_splitter_free after a failure too. Errors: SL_ERR_INPUT with the key. */
enum sl_status sl_splitter_open(struct sl_splitter *splitter, const char *name, const json_t *json);
void sl_splitter_free(struct sl_splitter *splitter);
/* Splits `text`, UTF-8. `first`: it is the beginning of what is encoded. Errors: those of `each`; SL_ERR_INPUT: a
 * pattern exceeded its limits; SL_ERR_MEMORY. */
enum sl_status sl_split(const struct sl_splitter *splitter, const char *text, size_t size, bool first, sl_split_fn each,
                        void *context);
