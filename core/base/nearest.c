/* The edit distance behind "did you mean": optimal string alignment over three rolling rows. */
#include "core/base/nearest.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { MAX_WORD = 127 };

static size_t min2(size_t a, size_t b) {
  return a < b ? a : b;
}

static int fold(char c) {
  return tolower((unsigned char)c);
}

/* Distance of a[0..n) and b[0..m); n, m <= MAX_WORD. */
static size_t distance(const char *a, size_t n, const char *b, size_t m) {
  size_t rows[3][MAX_WORD + 1];
  size_t *before = rows[0], *last = rows[1], *row = rows[2];
  for (size_t j = 0; j <= m; j++) last[j] = j;
  for (size_t i = 1; i <= n; i++) {
    row[0] = i;
    for (size_t j = 1; j <= m; j++) {
      const size_t differ = fold(a[i - 1]) != fold(b[j - 1]);
      row[j] = min2(min2(last[j] + 1, row[j - 1] + 1), last[j - 1] + differ);
      if (i > 1 && j > 1 && fold(a[i - 1]) == fold(b[j - 2]) && fold(a[i - 2]) == fold(b[j - 1]))
        row[j] = min2(row[j], before[j - 2] + 1);
    }
    size_t *spare = before;
    before = last, last = row, row = spare;
  }
  return last[m];
}

/* The shortest word that begins with `word`. */
static const char *continued(const char *word, const char *const *words, size_t n) {
  const size_t length = strlen(word);
  const char *best = NULL;
  for (size_t i = 0; i < n && length >= 3; i++)
    if (strncasecmp(word, words[i], length) == 0 && (best == NULL || strlen(words[i]) < strlen(best))) best = words[i];
  return best;
}

/* The nearest word of those that are at most `most(longer)` away, where `longer` is the longer of both lengths. */
static const char *nearest(const char *word, const char *const *words, size_t n, size_t (*most)(size_t longer)) {
  const size_t length = min2(strlen(word), MAX_WORD);
  const char *best = NULL;
  size_t best_distance = 0;
  for (size_t i = 0; i < n; i++) {
    const size_t other = min2(strlen(words[i]), MAX_WORD);
    const size_t d = distance(word, length, words[i], other);
    if (d > most(length > other ? length : other) || (best && d >= best_distance)) continue;
    best = words[i], best_distance = d;
  }
  return best;
}

static size_t third(size_t longer) {
  return longer < 3 ? 1 : longer / 3;
}

const char *sl_nearest(const char *word, const char *const *words, size_t n) {
  const char *best = continued(word, words, n);
  return best != NULL ? best : nearest(word, words, n, third);
}

static size_t slips(size_t longer) {
  return longer < 6 ? 1 : 2;
}

const char *sl_misspelt(const char *word, const char *const *words, size_t n) {
  return nearest(word, words, n, slips);
}

enum sl_status sl_nearest_preset(const char *what, const char *spec, const char *(*name)(int i)) {
  const char *names[64];
  char list[1024] = "";
  size_t n = 0, used = 0;
  for (; n < sizeof names / sizeof *names && used < sizeof list && (names[n] = name((int)n)) != NULL; n++)
    used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", n > 0 ? ", " : "", names[n]);
  const char *slash = strrchr(spec, '/'); /* "openai-community/gpt2-xl", as models are named on Hugging Face's hub */
  const char *near = sl_nearest(slash != NULL && slash[1] != '\0' ? slash + 1 : spec, names, n);
  return sl_fail(SL_ERR_INPUT, "%s \"%s\": is neither a file nor a preset%s%s%s; presets: %s", what, spec,
                 near != NULL ? "; nearest preset is \"" : "", near != NULL ? near : "", near != NULL ? "\"" : "",
                 list);
}
