/* Lists of words and their quoting; see words.h. */
#include "core/launch/words.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Takes ownership of `word`. */
static void append(struct sl_words *words, char *word) {
  if (word == NULL || sl_grow(&words->list, &words->capacity, words->count + 2, sizeof *words->list) != SL_OK) {
    free(word);
    words->short_of_memory = 1;
    return;
  }
  words->list[words->count++] = word;
  words->list[words->count] = NULL;
}

void sl_words_add(struct sl_words *words, const char *word) {
  append(words, strdup(word));
}

void sl_words_addf(struct sl_words *words, const char *format, ...) {
  char *word;
  va_list arguments;
  va_start(arguments, format);
  if (vasprintf(&word, format, arguments) < 0) word = NULL;
  va_end(arguments);
  append(words, word);
}

void sl_words_add_all(struct sl_words *words, const char *const *list) {
  for (; *list != NULL; list++) sl_words_add(words, *list);
}

enum sl_status sl_words_check(const struct sl_words *words) {
  return words->short_of_memory ? sl_fail(SL_ERR_MEMORY, "out of memory: the words of a command") : SL_OK;
}

void sl_words_free(struct sl_words *words) {
  for (size_t i = 0; i < words->count; i++) free(words->list[i]);
  free(words->list);
  *words = (struct sl_words){0};
}

/* Characters without a special meaning for a shell anywhere in an argument; '=' has one at its beginning. */
static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:,@%+=";

void sl_words_quote(const char *word, FILE *out) {
  if (word[0] != '\0' && word[0] != '=' && word[strspn(word, plain)] == '\0') {
    fputs(word, out);
    return;
  }
  fputc('\'', out);
  for (; *word != '\0'; word++) {
    if (*word == '\'')
      fputs("'\\''", out); /* closes the quotes, adds a bare quote, opens them again */
    else
      fputc(*word, out);
  }
  fputc('\'', out);
}

char *sl_words_line(char *const *words) {
  char *text = NULL;
  size_t size;
  FILE *out = open_memstream(&text, &size);
  if (out == NULL) return NULL;
  for (size_t i = 0; words[i] != NULL; i++) {
    if (i > 0) fputc(' ', out);
    sl_words_quote(words[i], out);
  }
  return fclose(out) == 0 ? text : NULL;
}
