/* Cutting a text into words, which byte-pair encoding joins nothing across: the "pre_tokenizer". */
#pragma once

#include "core/base/status.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum sl_split_kind {
  SL_SPLIT_PATTERN, /* at what a regular expression matches */
  SL_SPLIT_BYTES,   /* a blank in front, perhaps: words are bytes from here on */
  SL_SPLIT_META     /* blanks become "▁", and words begin with one */
};

/* What becomes of a match. */
enum sl_split_behavior {
  SL_SPLIT_ISOLATED, /* a word */
  SL_SPLIT_REMOVED,  /* no word */
  SL_SPLIT_PREVIOUS, /* the end of the word before, unless that is a match */
  SL_SPLIT_NEXT      /* the beginning of the word behind, unless that is a match */
};

struct sl_split_step {
  enum sl_split_kind kind;
  void *code, *match; /* of PATTERN: PCRE2's; owned */
  bool invert;        /* what is not matched counts as matched, and the other way round */
  enum sl_split_behavior behavior;
  bool blank;          /* of BYTES: where none stands in front */
  bool first_only;     /* of META: "▁" in front of the text's beginning alone */
  bool prepends, cuts; /* of META */
};

struct sl_splitter {
  const char *name; /* of the tokenizer, for messages; borrowed */
  struct sl_split_step *steps;
  size_t count, capacity;
  bool byte_level;
};

/* Each word, in order. */
typedef enum sl_status (*sl_split_fn)(void *context, const char *word, size_t size);

/* Read the "pre_tokenizer" of tokenizer `name`, which must outlive it; null: a text is a word. Errors: SL_ERR_INPUT with the key. What was made is
 * sl_splitter_free's after a failure, too. */
enum sl_status sl_splitter_open(struct sl_splitter *splitter, const char *name, const json_t *json);
void sl_splitter_free(struct sl_splitter *splitter);
/* `text` is UTF-8. `first`: it is the beginning of what is encoded. Errors: those of `each`; SL_ERR_INPUT: a pattern gives up; SL_ERR_MEMORY. */
enum sl_status sl_split(const struct sl_splitter *splitter, const char *text, size_t size, bool first, sl_split_fn each,
                        void *context);
