/* Finds arguments by name; see arguments.h. */
#include "core/interop/arguments.h"

#include "core/interop/shell_values.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct sl_argument_given *sl_arguments_find(const struct sl_arguments *a, const char *name) {
  for (size_t i = a->count; i > 0; i--)
    if (strcmp(a->list[i - 1].name, name) == 0) return &a->list[i - 1];
  return NULL;
}

/* The next word of what is read: an argument's name, or a value of the last one. */
static enum sl_status add(struct sl_arguments *a, char *word, const struct sl_shell_place *place) {
  if (strncmp(word, "--", 2) == 0 && word[2] != '\0') {
    SL_TRY(sl_grow(&a->list, &a->capacity, a->count + 1, sizeof *a->list));
    a->list[a->count++] = (struct sl_argument_given){
        .name = word + 2, .file = place->file, .line = place->line, .conditional = place->conditional};
  } else if (a->count > 0) {
    struct sl_argument_given *g = &a->list[a->count - 1];
    if (g->value_count++ == 0) g->doubt = place->doubt;
  }
  return SL_OK;
}

static enum sl_status add_word(struct sl_arguments *a, const char *word, const struct sl_shell_place *place) {
  sl_words_add(&a->words, word);
  SL_TRY(sl_words_check(&a->words));
  SL_TRY(sl_grow(&a->places, &a->place_capacity, a->words.count, sizeof *a->places));
  a->places[a->words.count - 1] = *place;
  return add(a, a->words.list[a->words.count - 1], place);
}

/* Splits "--tensor-model-parallel-size=2" into the name and its value. Underscores in a name become dashes. */
static enum sl_status split(struct sl_arguments *a) {
  for (size_t i = 0; i < a->source.words.count; i++) {
    char *word = a->source.words.list[i], *equals = strncmp(word, "--", 2) == 0 ? strchr(word, '=') : NULL;
    if (equals != NULL) *equals = '\0';
    for (char *at = word; strncmp(word, "--", 2) == 0 && *at != '\0'; at++)
      if (*at == '_') *at = '-';
    SL_TRY(add_word(a, word, &a->source.places[i]));
    if (equals != NULL) SL_TRY(add_word(a, equals + 1, &a->source.places[i]));
  }
  /* the values of an argument are the words behind it, of a list that has moved while it grew */
  for (size_t i = 0, at = 0; i < a->count; i++) {
    while (a->words.list[at] + 2 != a->list[i].name) at++;
    a->list[i].values = a->words.list + at + 1;
  }
  if (a->count > 0) return SL_OK;
  return sl_fail(SL_ERR_INPUT, "%s: has no argument; expected Megatron-LM's, as --micro-batch-size 4", a->name);
}

/* Of an argument that stands twice with two values, the last, which counts, under a condition: that decides. */
static void doubt_repeated(struct sl_arguments *a) {
  for (size_t i = 1; i < a->count; i++) {
    struct sl_argument_given *g = &a->list[i];
    if (!g->conditional || g->value_count == 0 || sl_arguments_find(a, g->name) != g) continue;
    for (size_t k = i; k-- > 0 && g->doubt == NULL;) {
      const struct sl_argument_given *other = &a->list[k];
      if (strcmp(other->name, g->name) != 0) continue;
      if (other->value_count == 0 || strcmp(other->values[0], g->values[0]) == 0) break;
      sl_words_addf(&a->source.doubts, "--%.100s is %.100s as in %s, not %.100s as in %s", g->name, g->values[0],
                    sl_shell_spot(g->file, g->line).text, other->values[0],
                    sl_shell_spot(other->file, other->line).text);
      if (sl_words_check(&a->source.doubts) == SL_OK) g->doubt = a->source.doubts.list[a->source.doubts.count - 1];
    }
  }
}

enum sl_status sl_arguments_read(struct sl_arguments *a, const char *name, const char *text, bool is_script,
                                 const char *start) {
  *a = (struct sl_arguments){.name = name, .is_script = is_script};
  SL_TRY(sl_shell_read_started(&a->source, name, text, is_script, start));
  a->asked = json_object();
  enum sl_status status = split(a);
  if (status == SL_OK) doubt_repeated(a);
  if (status == SL_OK) status = sl_words_check(&a->source.doubts);
  if (status != SL_OK) sl_arguments_free(a);
  return status;
}

void sl_arguments_free(struct sl_arguments *a) {
  free(a->list);
  free(a->places);
  sl_words_free(&a->words);
  sl_shell_free(&a->source);
  json_decref(a->asked);
  *a = (struct sl_arguments){.name = a->name};
}

bool sl_arguments_has(const struct sl_arguments *a, const char *name) {
  bool has = false;
  json_object_set_new(a->asked, name, json_true());
  for (size_t i = 0; i < a->count; i++)
    if (strcmp(a->list[i].name, name) == 0) has = a->list[i].used = true;
  return has;
}

bool sl_arguments_has_any(const struct sl_arguments *a, const char *const *names) {
  bool has = false;
  while (*names != NULL) has |= sl_arguments_has(a, *names++);
  return has;
}

void sl_arguments_pass(const struct sl_arguments *a, const char *const *names) {
  while (*names != NULL) sl_arguments_has(a, *names++);
}

void sl_arguments_where(const struct sl_arguments *a, const struct sl_argument_given *g, char *out, size_t size) {
  if (a->is_script && g != NULL)
    snprintf(out, size, "%s:%d", g->file != NULL ? g->file : a->name, g->line);
  else
    snprintf(out, size, "%s", a->name);
}

enum sl_status sl_arguments_fail(const struct sl_arguments *a, const char *name, const char *expected) {
  const struct sl_argument_given *g = sl_arguments_find(a, name);
  char where[1024];
  sl_arguments_where(a, g, where, sizeof where);
  if (g == NULL) return sl_fail(SL_ERR_INPUT, "%s: --%s: is missing; expected %s", where, name, expected);
  if (g->value_count == 0) return sl_fail(SL_ERR_INPUT, "%s: --%s: is given; expected %s", where, name, expected);
  /* what only a shell can tell may be said by what starts the script */
  const bool open = a->is_script && strpbrk(g->values[0], "$") != NULL;
  return sl_fail(SL_ERR_INPUT, "%s: --%s: is '%s'; expected %s%s", where, name, g->values[0], expected,
                 open ? ", or --from-megatron 'NAME=VALUE SCRIPT WORD' with what starts the script" : "");
}

/* The first word after the name; later ones are not part of it, but a script's "$@" or the next command. */
static const char *value(const struct sl_arguments *a, const char *name) {
  const struct sl_argument_given *g = sl_arguments_find(a, name);
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

json_t *sl_arguments_number(const struct sl_arguments *a, const char *name, double x) {
  const char *text = value(a, name);
  json_t *written = text != NULL ? json_loads(text, JSON_DECODE_ANY, NULL) : NULL;
  if (json_is_number(written) && json_number_value(written) == x) return written;
  json_decref(written);
  return json_real(x);
}

json_t *sl_arguments_list(const struct sl_arguments *a, const char *name) {
  const struct sl_argument_given *g = sl_arguments_find(a, name);
  json_t *list = json_array();
  for (size_t i = 0; g != NULL && i < g->value_count; i++) json_array_append_new(list, json_string(g->values[i]));
  return list;
}
