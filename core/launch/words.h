/* Command lines as lists of words, and words as a shell reads them. */
#pragma once

#include "core/base/status.h"

#include <stddef.h>
#include <stdio.h>

struct sl_words {
  char **list; /* count of them, each owned, and a NULL behind; NULL while there is none */
  size_t count, capacity;
  int short_of_memory; /* a word was lost; sl_words_check says so */
};

/* A copy of `word` behind the others. */
void sl_words_add(struct sl_words *words, const char *word);
/* The same, printf-style. */
void sl_words_addf(struct sl_words *words, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Copies of the words up to a NULL. */
void sl_words_add_all(struct sl_words *words, const char *const *list);
/* Errors: SL_ERR_MEMORY where one of those before found none. */
enum sl_status sl_words_check(const struct sl_words *words);
/* Accepts a zeroed one. */
void sl_words_free(struct sl_words *words);

/* `word` as a POSIX shell reads it back behind a command, byte for byte: itself where it is plain, else between single quotes. */
void sl_words_quote(const char *word, FILE *out);
/* All words so, blanks between them; the caller's, NULL for want of memory. */
char *sl_words_line(char *const *words);
