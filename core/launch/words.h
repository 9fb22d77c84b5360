/* Command lines as lists of words, and the quoting of words for a shell. */
#pragma once

#include "core/base/status.h"

#include <stddef.h>
#include <stdio.h>

struct sl_words {
  char **list; /* `count` words, each owned, and a final NULL; NULL if there are none */
  size_t count, capacity;
  int short_of_memory; /* a word could not be added; sl_words_check reports it */
};

/* Appends a copy of `word`. */
void sl_words_add(struct sl_words *words, const char *word);
/* The same, printf-style. */
void sl_words_addf(struct sl_words *words, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Appends copies of the words up to a NULL. */
void sl_words_add_all(struct sl_words *words, const char *const *list);
/* Errors: SL_ERR_MEMORY if an earlier word could not be added. */
enum sl_status sl_words_check(const struct sl_words *words);
/* Accepts a zeroed one. */
void sl_words_free(struct sl_words *words);

/* Writes `word` so that a POSIX shell reads it back as an argument, byte for byte: unchanged if it is plain, otherwise
 * in single quotes. */
void sl_words_quote(const char *word, FILE *out);
/* All words quoted like this, separated by blanks; owned by the caller, NULL if out of memory. */
char *sl_words_line(char *const *words);
