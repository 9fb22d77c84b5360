/* Converts one JSON value to one field and back, by the type of its row, with ranges and the words for what was
 * expected. */
#include "core/config/convert.h"

#include "core/base/json_get.h"
#include "core/config/lists.h"
#include "core/config/words.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* A bool, an int (enums too) or an int64_t, by the size of the target. */
static void store_integer(const struct sl_field *field, int64_t value, void *target) {
  if (target == NULL) return;
  if (field->size == sizeof(bool)) {
    const bool flag = value != 0;
    memcpy(target, &flag, sizeof flag);
  } else if (field->size == sizeof(int)) {
    const int narrow = (int)value;
    memcpy(target, &narrow, sizeof narrow);
  } else {
    memcpy(target, &value, sizeof value);
  }
}

static int64_t load_integer(const struct sl_field *field, const void *target) {
  int64_t wide = 0;
  int narrow = 0;
  bool flag = false;
  if (field->size == sizeof flag) {
    memcpy(&flag, target, sizeof flag);
    return flag;
  }
  if (field->size == sizeof narrow) {
    memcpy(&narrow, target, sizeof narrow);
    return narrow;
  }
  memcpy(&wide, target, sizeof wide);
  return wide;
}

static bool in_range(const struct sl_field *field, double x) {
  if (!isfinite(x)) return false;
  return !field->ranged || (x <= field->max && (field->open ? x > field->min : x >= field->min));
}

static enum sl_converted convert_bool(const struct sl_field *field, const json_t *value, void *target) {
  const double number = json_number_value(value); /* hjson turns 1.0 into an integer */
  if (!json_is_boolean(value) && !(json_is_number(value) && (number == 0 || number == 1))) return SL_WRONG_TYPE;
  store_integer(field, json_is_true(value) || number == 1, target);
  return SL_CONVERTED;
}

static enum sl_converted convert_integer(const struct sl_field *field, const json_t *value, void *target) {
  int64_t number;
  if (!sl_json_whole(value, &number)) return SL_WRONG_TYPE;
  if (!in_range(field, (double)number)) return SL_WRONG_VALUE;
  if (field->size == sizeof(int) && (number < INT_MIN || number > INT_MAX)) return SL_WRONG_VALUE;
  store_integer(field, number, target);
  return SL_CONVERTED;
}

static enum sl_converted convert_real(const struct sl_field *field, const json_t *value, void *target) {
  if (!json_is_number(value)) return SL_WRONG_TYPE;
  const double real = json_number_value(value);
  if (field->type == SL_FIELD_WHOLE && real != floor(real)) return SL_WRONG_TYPE;
  if (!in_range(field, real)) return SL_WRONG_VALUE;
  if (target != NULL) memcpy(target, &real, sizeof real);
  return SL_CONVERTED;
}

static enum sl_converted convert_pair(const struct sl_field *field, const json_t *value, void *target) {
  if (!json_is_array(value) || json_array_size(value) != 2) return SL_WRONG_TYPE;
  for (size_t i = 0; i < 2; i++) {
    double *place = target != NULL ? (double *)target + i : NULL;
    const enum sl_converted done = convert_real(field, json_array_get(value, i), place);
    if (done != SL_CONVERTED) return done;
  }
  return SL_CONVERTED;
}

static enum sl_converted convert_text(const struct sl_field *field, const json_t *value, void *target) {
  if (!json_is_string(value)) return SL_WRONG_TYPE;
  if (!field->modelled) return SL_CONVERTED;
  if (json_string_length(value) >= field->size) return SL_WRONG_VALUE;
  if (target != NULL) memcpy(target, json_string_value(value), json_string_length(value) + 1);
  return SL_CONVERTED;
}

static enum sl_converted convert_word(const struct sl_field *field, const json_t *value, void *target) {
  if (!json_is_string(value)) return SL_WRONG_TYPE;
  const int index = sl_config_word_index(field->words, json_string_value(value), field->exact);
  if (index < 0) return SL_WRONG_VALUE;
  store_integer(field, index, target);
  return SL_CONVERTED;
}

/* An array of strings, restricted to the row's words if it has some. */
static enum sl_converted check_names(const struct sl_field *field, const json_t *value) {
  if (!json_is_array(value)) return SL_WRONG_TYPE;
  for (size_t i = 0; i < json_array_size(value); i++) {
    const char *name = json_string_value(json_array_get(value, i));
    if (name == NULL) return SL_WRONG_TYPE;
    if (field->words != NULL && sl_config_word_index(field->words, name, field->exact) < 0) return SL_WRONG_VALUE;
  }
  return SL_CONVERTED;
}

/* DeepSpeed's spellings of the three training types (DtypeEnum; "bfp16" is the spelling of older versions). */
static enum sl_converted convert_dtype(const struct sl_field *field, const json_t *value, void *target) {
  static const char *const spellings[] = {
      [SL_F32] = "fp32|float32|float|torch.float32",
      [SL_BF16] = "bf16|bfloat16|bfp16|torch.bfloat16",
      [SL_F16] = "fp16|float16|half|torch.float16",
  };
  if (!json_is_string(value)) return SL_WRONG_TYPE;
  if (field->words != NULL && sl_config_word_index(field->words, json_string_value(value), field->exact) < 0)
    return SL_WRONG_VALUE;
  for (int type = SL_F32; type <= SL_F16; type++) {
    if (sl_config_word_index(spellings[type], json_string_value(value), false) < 0) continue;
    const enum sl_dtype found = (enum sl_dtype)type;
    if (target != NULL) memcpy(target, &found, sizeof found);
    return SL_CONVERTED;
  }
  return SL_WRONG_VALUE;
}

static void store_null(const struct sl_field *field, void *target) {
  if (target == NULL) return;
  const double nothing = NAN;
  const enum sl_dtype none = SL_DTYPE_COUNT;
  if (field->type == SL_FIELD_REAL) memcpy(target, &nothing, sizeof nothing);
  if (field->type == SL_FIELD_INT) store_integer(field, (int64_t)field->null_value, target);
  if (field->type == SL_FIELD_DTYPE) memcpy(target, &none, sizeof none);
  if (field->type == SL_FIELD_BOOL) store_integer(field, 0, target);
}

/* Stores any array as text. */
static enum sl_converted convert_any_list(const struct sl_field *field, const json_t *value, char *target) {
  if (!json_is_array(value)) return SL_WRONG_TYPE;
  if (!field->modelled) return SL_CONVERTED;
  const size_t length = json_dumpb(value, target, field->size - 1, JSON_COMPACT);
  if (length >= field->size) return SL_WRONG_VALUE;
  target[length] = '\0';
  return SL_CONVERTED;
}

enum sl_converted sl_config_convert(const struct sl_field *field, const json_t *value, void *target) {
  if (json_is_null(value)) {
    if (!field->nullable && field->type != SL_FIELD_ANY) return SL_WRONG_TYPE;
    store_null(field, target);
    return SL_CONVERTED;
  }
  switch (field->type) {
  case SL_FIELD_BOOL:
    return convert_bool(field, value, target);
  case SL_FIELD_INT:
    return convert_integer(field, value, target);
  case SL_FIELD_WHOLE:
  case SL_FIELD_REAL:
    return convert_real(field, value, target);
  case SL_FIELD_PAIR:
    return convert_pair(field, value, target);
  case SL_FIELD_TEXT:
    return convert_text(field, value, target);
  case SL_FIELD_WORD:
    return convert_word(field, value, target);
  case SL_FIELD_DTYPE:
    return convert_dtype(field, value, target);
  case SL_FIELD_STAGES:
  case SL_FIELD_RECOMPUTE:
  case SL_FIELD_MODULES:
    return sl_config_convert_list(field, value, target);
  case SL_FIELD_LIST:
    return convert_any_list(field, value, target);
  case SL_FIELD_NAMES:
    return check_names(field, value);
  case SL_FIELD_DICT:
    return json_is_object(value) ? SL_CONVERTED : SL_WRONG_TYPE;
  case SL_FIELD_ANY:
    break;
  }
  return SL_CONVERTED;
}

/* "an integer >= 1", "a number from 0 to 1", "0, 1, 2 or 3". */
static void expect_number(const struct sl_field *field, const char *noun, char *out, size_t size) {
  const bool upper = field->ranged && field->max < 1e300;
  if (!field->ranged) {
    snprintf(out, size, "%s", noun);
  } else if (!upper) {
    snprintf(out, size, "%s %s %.15g", noun, field->open ? ">" : ">=", field->min);
  } else if (field->type == SL_FIELD_INT && field->max - field->min == 3) {
    snprintf(out, size, "%g, %g, %g or %g", field->min, field->min + 1, field->min + 2, field->max);
  } else {
    snprintf(out, size, "%s from %.15g to %.15g", noun, field->min, field->max);
  }
}

static void expect_words(const char *lead, const char *words, char *out, size_t size) {
  size_t used = (size_t)snprintf(out, size, "%s", lead);
  for (const char *c = words; *c != '\0' && used + 3 < size; c++) {
    if (*c == '|') {
      out[used++] = ',';
      out[used++] = ' ';
    } else {
      out[used++] = *c;
    }
  }
  out[used] = '\0';
}

const char *sl_config_expectation(const struct sl_field *field, char *out, size_t size) {
  switch (field->type) {
  case SL_FIELD_BOOL:
    snprintf(out, size, "true or false");
    break;
  case SL_FIELD_INT:
  case SL_FIELD_WHOLE:
    expect_number(field, "an integer", out, size);
    break;
  case SL_FIELD_REAL:
    expect_number(field, "a number", out, size);
    break;
  case SL_FIELD_PAIR:
    snprintf(out, size, "an array of two numbers >= %.15g and < %.15g", field->min, field->max);
    break;
  case SL_FIELD_TEXT:
    if (field->modelled) {
      snprintf(out, size, "a string of at most %zu bytes", field->size - 1);
    } else {
      snprintf(out, size, "a string");
    }
    break;
  case SL_FIELD_WORD:
    expect_words("one of ", field->words, out, size);
    break;
  case SL_FIELD_DTYPE:
    snprintf(out, size, "one of fp16, bf16, fp32");
    break;
  case SL_FIELD_STAGES:
  case SL_FIELD_RECOMPUTE:
  case SL_FIELD_MODULES:
    snprintf(out, size, "%s", sl_config_list_expectation(field));
    break;
  case SL_FIELD_LIST:
    if (field->modelled) {
      snprintf(out, size, "an array of at most %zu bytes", field->size - 1);
    } else {
      snprintf(out, size, "an array");
    }
    break;
  case SL_FIELD_NAMES:
    if (field->words == NULL) {
      snprintf(out, size, "an array of strings");
    } else {
      expect_words("an array of ", field->words, out, size);
    }
    break;
  case SL_FIELD_DICT:
    snprintf(out, size, "an object");
    break;
  case SL_FIELD_ANY:
    snprintf(out, size, "a value");
    break;
  }
  return out;
}

static json_t *word_value(const char *words, int64_t index) {
  const char *at = words;
  for (; index > 0; index--) at += strcspn(at, "|") + 1;
  return json_stringn(at, strcspn(at, "|"));
}

json_t *sl_config_value(const struct sl_field *field, const struct sl_config *config) {
  const char *source = (const char *)config + field->offset;
  double real[2];
  enum sl_dtype type;
  switch (field->type) {
  case SL_FIELD_BOOL:
    return json_boolean(load_integer(field, source));
  case SL_FIELD_INT:
    if (field->nullable && load_integer(field, source) == (int64_t)field->null_value) return json_null();
    return json_integer(load_integer(field, source));
  case SL_FIELD_WHOLE:
  case SL_FIELD_REAL:
    memcpy(real, source, sizeof real[0]);
    return isnan(real[0]) ? json_null() : json_real(real[0]);
  case SL_FIELD_PAIR:
    memcpy(real, source, sizeof real);
    return json_pack("[f,f]", real[0], real[1]);
  case SL_FIELD_TEXT:
    return json_string(source);
  case SL_FIELD_WORD:
    return word_value(field->words, load_integer(field, source));
  case SL_FIELD_DTYPE:
    memcpy(&type, source, sizeof type);
    return type == SL_DTYPE_COUNT ? json_null() : json_string(sl_dtype_name(type));
  case SL_FIELD_STAGES:
  case SL_FIELD_RECOMPUTE:
  case SL_FIELD_MODULES:
    return sl_config_list_value(field, config);
  case SL_FIELD_LIST:
    return json_loads(source, 0, NULL);
  default:
    return NULL;
  }
}
