/* See cluster/numbers.h. */
#include "core/cluster/numbers.h"

#include "core/base/nearest.h"
#include "core/cluster/provenance.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

static double read_field(const struct sl_number *number, const void *base) {
  const char *at = (const char *)base + number->offset;
  if (number->kind == SL_BYTES) return (double)*(const int64_t *)(const void *)at / number->unit;
  if (number->kind == SL_COUNT) return *(const int *)(const void *)at;
  return *(const double *)(const void *)at / number->unit;
}

static void write_field(const struct sl_number *number, void *base, double value) {
  char *at = (char *)base + number->offset;
  if (number->kind == SL_BYTES)
    *(int64_t *)(void *)at = llround(value * number->unit);
  else if (number->kind == SL_COUNT)
    *(int *)(void *)at = (int)value;
  else
    *(double *)(void *)at = value * number->unit;
}

/* Every key must be one of `words`, the key of a number, or an annotation of a number, which is kept. */
enum sl_status sl_numbers_check_keys(const struct sl_json_object *in, const char *const *words, size_t n_words,
                                     const struct sl_number *numbers, size_t n_numbers, json_t *annotations) {
  const char *known[SL_MAX_KEYS], *key;
  json_t *value;
  size_t n = 0;
  for (; n < n_words; n++) known[n] = words[n];
  for (size_t i = 0; i < n_numbers; i++) known[n++] = numbers[i].key;
  json_object_foreach((json_t *)(uintptr_t)in->object, key, value) {
    char path[256];
    size_t stem, i = 0;
    const enum sl_annotation kind = sl_annotation_kind(key, &stem);
    while (i < n && (strlen(known[i]) != stem || strncmp(known[i], key, stem) != 0)) i++;
    sl_json_get_path(in, key, path, sizeof path);
    if (i == n) {
      const char *near = sl_nearest(key, known, n);
      return sl_json_fail(in->doc, path, near != NULL ? "unknown key; did you mean \"%s\"?" : "unknown key", near);
    }
    if (kind == SL_ANNOTATION_SOURCE && !json_is_string(value)) return sl_json_get_fail(in, key, "text");
    if (kind == SL_ANNOTATION_STDERR && !json_is_number(value)) return sl_json_get_fail(in, key, "a number");
    if (kind != SL_ANNOTATION_NONE) json_object_set_new(annotations, path, json_deep_copy(value));
  }
  return SL_OK;
}

/* Records the default source of a number for which the file gives none. */
void sl_numbers_note(const struct sl_json_object *in, const char *key, double value, const char *given,
                     json_t *annotations) {
  char path[256];
  sl_json_get_path(in, key, path, sizeof path);
  const char *source = sl_json_get(in, key) != NULL ? given : value != 0 ? "guess, the default" : "not given";
  sl_annotation_default(annotations, path, source);
}

const char sl_no_source[] = "no source given";

static enum sl_status read_real_or_0(const struct sl_json_object *in, const struct sl_number *number, double *value) {
  const json_t *given = sl_json_get(in, number->key);
  if (given == NULL) return SL_OK;
  *value = json_number_value(given);
  if (json_is_number(given) && (*value == 0 || (*value >= number->min && *value <= number->max))) return SL_OK;
  return sl_json_get_fail(in, number->key, "0, or a number from %g to %g", number->min, number->max);
}

enum sl_status sl_numbers_read(const struct sl_json_object *in, const struct sl_number *numbers, size_t n, void *base,
                               json_t *annotations) {
  for (size_t i = 0; i < n; i++) {
    const struct sl_number *number = &numbers[i];
    double value = read_field(number, base);
    if (number->kind == SL_COUNT) {
      int64_t whole = (int64_t)value;
      SL_TRY(sl_json_get_int(in, number->key, (int64_t)number->min, (int64_t)number->max, &whole));
      value = (double)whole;
    } else if (number->presence == SL_REQUIRED && sl_json_get(in, number->key) == NULL) {
      return sl_json_get_fail(in, number->key, "a number from %g to %g", number->min, number->max);
    } else if (number->kind == SL_REAL_OR_0) {
      SL_TRY(read_real_or_0(in, number, &value));
    } else {
      SL_TRY(sl_json_get_real(in, number->key, number->min, number->max, &value));
    }
    if (sl_json_get(in, number->key) != NULL) write_field(number, base, value);
    sl_numbers_note(in, number->key, value, sl_no_source, annotations);
  }
  return SL_OK;
}

void sl_numbers_dump(json_t *object, const struct sl_number *numbers, size_t n, const void *base, bool of_kernels) {
  for (size_t i = 0; i < n; i++) {
    const double value = read_field(&numbers[i], base);
    if (numbers[i].kind == SL_COUNT && value < numbers[i].min) continue; /* cores of a gpu */
    if (numbers[i].presence == SL_OF_KERNELS && !of_kernels) continue;
    json_object_set_new(object, numbers[i].key,
                        numbers[i].kind == SL_COUNT ? json_integer((json_int_t)value) : json_real(value));
  }
}
