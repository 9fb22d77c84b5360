/* Normal forms; see normalize.h. */
#include "core/tokenizer/normalize.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

/* Unicode's normal forms, by utf8proc's flags. */
static const struct form {
  const char *name;
  utf8proc_option_t options;
} forms[] = {[SL_NORMAL_NFC] = {"NFC", UTF8PROC_STABLE | UTF8PROC_COMPOSE},
             [SL_NORMAL_NFD] = {"NFD", UTF8PROC_STABLE | UTF8PROC_DECOMPOSE},
             [SL_NORMAL_NFKC] = {"NFKC", UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT},
             [SL_NORMAL_NFKD] = {"NFKD", UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT}};

enum { FORMS = sizeof forms / sizeof *forms };

static enum sl_status add(struct sl_normalizer *n, struct sl_normal_step step) {
  SL_TRY(sl_grow(&n->steps, &n->capacity, n->count + 1, sizeof *n->steps));
  n->steps[n->count++] = step;
  return SL_OK;
}

static enum sl_status read_prepend(struct sl_normalizer *n, const char *name, const json_t *json) {
  const char *text = json_string_value(json_object_get(json, "prepend"));
  if (text == NULL) return sl_fail(SL_ERR_INPUT, "%s: normalizer.prepend: expected a string", name);
  return add(n, (struct sl_normal_step){.kind = SL_NORMAL_PREPEND, .to = text});
}

static enum sl_status read_replace(struct sl_normalizer *n, const char *name, const json_t *json) {
  const char *from = json_string_value(json_object_get(json_object_get(json, "pattern"), "String"));
  const char *to = json_string_value(json_object_get(json, "content"));
  if (from == NULL || from[0] == '\0' || to == NULL)
    return sl_fail(SL_ERR_INPUT, "%s: normalizer.pattern: expected {\"String\": ...} and a content to replace it with",
                   name);
  return add(n, (struct sl_normal_step){.kind = SL_NORMAL_REPLACE, .from = from, .to = to});
}

/* Of a sequence one, else the whole. */
static enum sl_status read_one(struct sl_normalizer *n, const char *name, const json_t *json) {
  const char *type = json_string_value(json_object_get(json, "type"));
  if (type == NULL) return sl_fail(SL_ERR_INPUT, "%s: normalizer.type: expected a string", name);
  for (int i = 0; i < FORMS; i++)
    if (strcmp(type, forms[i].name) == 0) return add(n, (struct sl_normal_step){.kind = (enum sl_normal)i});
  if (strcmp(type, "Prepend") == 0) return read_prepend(n, name, json);
  if (strcmp(type, "Replace") == 0) return read_replace(n, name, json);
  return sl_fail(
      SL_ERR_INPUT,
      "%s: normalizer.type: is \"%s\"; expected NFC, NFD, NFKC, NFKD, Prepend, Replace or a Sequence of them", name,
      type);
}

enum sl_status sl_normalizer_open(struct sl_normalizer *n, const char *name, const json_t *json) {
  const char *type = json_string_value(json_object_get(json, "type"));
  const json_t *list = json_object_get(json, "normalizers"), *one;
  size_t i;
  if (json == NULL || json_is_null(json)) return SL_OK;
  if (type == NULL || strcmp(type, "Sequence") != 0) return read_one(n, name, json);
  json_array_foreach(list, i, one) SL_TRY(read_one(n, name, one));
  return SL_OK;
}

void sl_normalizer_free(struct sl_normalizer *n) {
  free(n->steps);
}

static bool is_ascii(const char *text, size_t size) {
  for (size_t i = 0; i < size; i++)
    if ((unsigned char)text[i] > 127) return false;
  return true;
}

static enum sl_status to_form(const struct form *form, const char *text, size_t size, char **out, size_t *out_size) {
  utf8proc_uint8_t *mapped;
  const utf8proc_ssize_t n =
      utf8proc_map((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)size, &mapped, form->options);
  if (n < 0) return sl_fail(SL_ERR_MEMORY, "text of %zu bytes: %s: %s", size, form->name, utf8proc_errmsg(n));
  *out = (char *)mapped;
  *out_size = (size_t)n;
  return SL_OK;
}

static enum sl_status prepend(const char *to, const char *text, size_t size, char **out, size_t *out_size) {
  const size_t n = size > 0 ? strlen(to) : 0; /* an empty text stays empty */
  SL_TRY(sl_malloc(out, n + size + 1, 1));
  memcpy(*out, to, n);
  memcpy(*out + n, text, size);
  *out_size = n + size;
  return SL_OK;
}

static enum sl_status replace(const struct sl_normal_step *s, const char *text, size_t size, char **out,
                              size_t *out_size) {
  const size_t from = strlen(s->from), to = strlen(s->to);
  size_t found = 0, made = 0;
  for (const char *at = text; (at = memmem(at, size - (size_t)(at - text), s->from, from)) != NULL; at += from) found++;
  SL_TRY(sl_malloc(out, size + found * to + 1, 1));
  for (size_t at = 0; at < size;) {
    const char *next = memmem(text + at, size - at, s->from, from);
    const size_t plain = next != NULL ? (size_t)(next - text) - at : size - at;
    memcpy(*out + made, text + at, plain);
    made += plain, at += plain;
    if (next == NULL) break;
    memcpy(*out + made, s->to, to);
    made += to, at += from;
  }
  *out_size = made;
  return SL_OK;
}

static enum sl_status apply(const struct sl_normal_step *s, const char *text, size_t size, char **out,
                            size_t *out_size) {
  if (s->kind == SL_NORMAL_PREPEND) return prepend(s->to, text, size, out, out_size);
  if (s->kind == SL_NORMAL_REPLACE) return replace(s, text, size, out, out_size);
  if (!is_ascii(text, size)) return to_form(&forms[s->kind], text, size, out, out_size);
  return SL_OK;
}

enum sl_status sl_normalize(const struct sl_normalizer *n, const char *text, size_t size, char **out,
                            size_t *out_size) {
  *out = NULL;
  *out_size = size;
  for (size_t i = 0; i < n->count; i++) {
    char *next = NULL;
    size_t next_size = *out_size;
    const enum sl_status status = apply(&n->steps[i], *out != NULL ? *out : text, *out_size, &next, &next_size);
    if (status != SL_OK || next != NULL) free(*out), *out = next;
    SL_TRY(status);
    *out_size = next_size;
  }
  return SL_OK;
}
