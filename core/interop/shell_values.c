/* See shell_values.h. */
#include "core/interop/shell_values.h"

#include <stdlib.h>
#include <string.h>

enum { TOLD_BYTES = 160 };

struct sl_shell_spot sl_shell_spot(const char *file, int line) {
  struct sl_shell_spot out;
  snprintf(out.text, sizeof out.text, file != NULL ? "line %d of %.100s" : "line %d", line, file);
  return out;
}

/* ---- lists ---- */

enum sl_status sl_shell_list_add(struct sl_shell_list *list, const struct sl_shell_word *word) {
  SL_TRY(sl_grow(&list->words, &list->capacity, list->count + 1, sizeof *list->words));
  list->words[list->count++] = *word;
  return SL_OK;
}

enum sl_status sl_shell_list_join(struct sl_shell_list *list, const struct sl_shell_list *more) {
  for (size_t i = 0; i < more->count; i++) SL_TRY(sl_shell_list_add(list, &more->words[i]));
  return SL_OK;
}

/* Are the first words of `a` all those of `b`? */
static bool begins_with(const struct sl_shell_list *a, const struct sl_shell_list *b) {
  if (a->count < b->count) return false;
  for (size_t i = 0; i < b->count; i++)
    if (strcmp(a->words[i].text, b->words[i].text) != 0) return false;
  return true;
}

bool sl_shell_list_equal(const struct sl_shell_list *a, const struct sl_shell_list *b) {
  return a->count == b->count && begins_with(a, b);
}

void sl_shell_list_free(struct sl_shell_list *list) {
  free(list->words);
  *list = (struct sl_shell_list){0};
}

/* ---- variables ---- */

enum sl_status sl_shell_assign(struct sl_shell_variables *variables, const char *name, struct sl_shell_value *value) {
  enum sl_status status;
  struct sl_shell_variable v = {.value = *value};
  *value = (struct sl_shell_value){0};
  SL_GO(sl_grow(&variables->all, &variables->capacity, variables->count + 1, sizeof *variables->all));
  v.name = strdup(name);
  if (v.name == NULL) status = sl_fail(SL_ERR_MEMORY, "out of memory: variable %s", name);
  if (status == SL_OK) variables->all[variables->count++] = v;
done:
  if (status != SL_OK) sl_shell_list_free(&v.value.list);
  return status;
}

/* The last assignment of a name before the i-th. */
static const struct sl_shell_variable *find_before(const struct sl_shell_variables *variables, size_t i,
                                                   const char *name, size_t length) {
  while (i-- > 0)
    if (strlen(variables->all[i].name) == length && strncmp(variables->all[i].name, name, length) == 0)
      return &variables->all[i];
  return NULL;
}

const struct sl_shell_variable *sl_shell_find(const struct sl_shell_variables *variables, const char *name,
                                              size_t length) {
  return find_before(variables, variables->count, name, length);
}

/* The value as a message says it: long ones end with "...". */
static void tell(const struct sl_shell_list *list, char out[TOLD_BYTES]) {
  size_t used = 0;
  snprintf(out, TOLD_BYTES, "empty");
  for (size_t i = 0; i < list->count && used < TOLD_BYTES; i++)
    used += (size_t)snprintf(out + used, TOLD_BYTES - used, "%s%s", i > 0 ? " " : "", list->words[i].text);
  if (used >= TOLD_BYTES) memcpy(out + TOLD_BYTES - 4, "...", 4);
}

const char *sl_shell_doubt(const struct sl_shell_variables *variables, const struct sl_shell_variable *v,
                           struct sl_words *doubts) {
  const struct sl_shell_variable *other = v;
  char text[2 * TOLD_BYTES + 512], values[2][TOLD_BYTES];
  while (other != NULL && other->value.conditional && begins_with(&v->value.list, &other->value.list))
    other = find_before(variables, (size_t)(other - variables->all), v->name, strlen(v->name));
  if (!v->value.conditional || other == NULL || begins_with(&v->value.list, &other->value.list)) return NULL;
  tell(&v->value.list, values[0]);
  tell(&other->value.list, values[1]);
  snprintf(text, sizeof text, "%.100s is %s as in %s, not %s as in %s", v->name, values[0],
           sl_shell_spot(v->value.file, v->value.line).text, values[1],
           sl_shell_spot(other->value.file, other->value.line).text);
  for (size_t i = 0; i < doubts->count; i++)
    if (strcmp(doubts->list[i], text) == 0) return doubts->list[i];
  sl_words_add(doubts, text);
  return doubts->count > 0 ? doubts->list[doubts->count - 1] : NULL;
}

void sl_shell_variables_free(struct sl_shell_variables *variables) {
  for (size_t i = 0; i < variables->count; i++) {
    free(variables->all[i].name);
    sl_shell_list_free(&variables->all[i].value.list);
  }
  free(variables->all);
  *variables = (struct sl_shell_variables){0};
}
