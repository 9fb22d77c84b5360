/* Finds arguments by name; see arguments.h. */
#include "core/interop/arguments.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct sl_argument_given *find(const struct sl_arguments *a, const char *name) {
  for (size_t i = a->count; i > 0; i--)
    if (strcmp(a->list[i - 1].name, name) == 0) return &a->list[i - 1];
  return NULL;
}

/* Splits "--tensor-model-parallel-size=2" into the name and its value. Underscores in a name become dashes. */
static enum sl_status split(struct sl_words *out, const struct sl_words *words) {
  for (size_t i = 0; i < words->count; i++) {
    char *word = words->list[i], *equals = strncmp(word, "--", 2) == 0 ? strchr(word, '=') : NULL;
    if (equals != NULL) *equals = '\0';
    for (char *at = word; strncmp(word, "--", 2) == 0 && *at != '\0'; at++)
      if (*at == '_') *at = '-';
    sl_words_add(out, word);
    if (equals != NULL) sl_words_add(out, equals + 1);
  }
  return sl_words_check(out);
}

static enum sl_status collect(struct sl_arguments *a) {
  char **list = a->words.list;
  for (size_t i = 0; i < a->words.count; i++) {
    if (strncmp(list[i], "--", 2) == 0 && list[i][2] != '\0') {
      SL_TRY(sl_grow(&a->list, &a->capacity, a->count + 1, sizeof *a->list));
      a->list[a->count++] = (struct sl_argument_given){.name = list[i] + 2, .values = list + i + 1};
    } else if (a->count > 0) {
      a->list[a->count - 1].value_count++;
    }
  }
  if (a->count > 0) return SL_OK;
  return sl_fail(SL_ERR_INPUT, "%s: has no argument; expected Megatron-LM's, as --micro-batch-size 4", a->name);
}

enum sl_status sl_arguments_read(struct sl_arguments *a, const char *name, const char *text) {
  struct sl_words words = {0};
  *a = (struct sl_arguments){.name = name};
  enum sl_status status = sl_shell_words(&words, name, text);
  if (status == SL_OK) status = split(&a->words, &words);
  if (status == SL_OK) status = collect(a);
  sl_words_free(&words);
  if (status != SL_OK) sl_arguments_free(a);
  return status;
}

void sl_arguments_free(struct sl_arguments *a) {
  free(a->list);
  sl_words_free(&a->words);
  a->list = NULL;
  a->count = 0;
}

bool sl_arguments_has(const struct sl_arguments *a, const char *name) {
  bool has = false;
  for (size_t i = 0; i < a->count; i++)
    if (strcmp(a->list[i].name, name) == 0) has = a->list[i].used = true;
  return has;
}

void sl_arguments_pass(const struct sl_arguments *a, const char *const *names) {
  while (*names != NULL) sl_arguments_has(a, *names++);
}

enum sl_status sl_arguments_fail(const struct sl_arguments *a, const char *name, const char *expected) {
  const struct sl_argument_given *g = find(a, name);
  if (g == NULL) return sl_fail(SL_ERR_INPUT, "%s: --%s: is missing; expected %s", a->name, name, expected);
  if (g->value_count == 0) return sl_fail(SL_ERR_INPUT, "%s: --%s: is given; expected %s", a->name, name, expected);
  return sl_fail(SL_ERR_INPUT, "%s: --%s: is '%s'; expected %s", a->name, name, g->values[0], expected);
}

/* The first word after the name; later ones are not part of it, but a script's "$@" or the next command. */
static const char *value(const struct sl_arguments *a, const char *name) {
  const struct sl_argument_given *g = find(a, name);
  return g != NULL && g->value_count > 0 ? g->values[0] : NULL;
}

enum sl_status sl_arguments_text(const struct sl_arguments *a, const char *name, const char **out) {
  *out = value(a, name);
  return *out != NULL ? SL_OK : sl_arguments_fail(a, name, "a word");
}

enum sl_status sl_arguments_int(const struct sl_arguments *a, const char *name, int64_t *out) {
  const char *text = value(a, name);
  char *end = NULL;
  errno = 0;
  sl_arguments_has(a, name);
  *out = text != NULL ? strtoll(text, &end, 10) : 0;
  if (text == NULL || end == text || *end != '\0' || errno != 0 || *out < 0 || *out > INT64_C(1) << 53)
    return sl_arguments_fail(a, name, "a whole number");
  return SL_OK;
}

enum sl_status sl_arguments_real(const struct sl_arguments *a, const char *name, double *out) {
  const char *text = value(a, name);
  char *end = NULL;
  *out = text != NULL ? strtod(text, &end) : 0;
  if (text == NULL || end == text || *end != '\0' || !isfinite(*out)) return sl_arguments_fail(a, name, "a number");
  return SL_OK;
}

json_t *sl_arguments_list(const struct sl_arguments *a, const char *name) {
  const struct sl_argument_given *g = find(a, name);
  json_t *list = json_array();
  for (size_t i = 0; g != NULL && i < g->value_count; i++) json_array_append_new(list, json_string(g->values[i]));
  return list;
}
