/* Reads the axes; see sweep_axes.h. */
#include "cli/sweep_axes.h"

#include "core/base/checked.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 100000 }; /* combinations, and values of a range */

static enum sl_status add_value(struct sl_axis *axis, const char *text, size_t length) {
  char **grown = realloc(axis->values, (size_t)(axis->count + 1) * sizeof *grown);
  if (grown == NULL) return sl_fail(SL_ERR_MEMORY, "out of memory: the values of --sweep");
  axis->values = grown;
  axis->values[axis->count] = strndup(text, length);
  if (axis->values[axis->count] == NULL) return sl_fail(SL_ERR_MEMORY, "out of memory: the values of --sweep");
  axis->count++;
  if ((int)length > axis->width) axis->width = (int)length;
  return SL_OK;
}

/* Adds the values of a range such as "1..16"; SL_DONE if the text is not a range. */
static enum sl_status add_range(struct sl_axis *axis, const char *text, size_t length) {
  char word[64], number[24], end;
  long long low, high;
  if (length >= sizeof word) return SL_DONE;
  snprintf(word, sizeof word, "%.*s", (int)length, text);
  if (strstr(word, "..") == NULL || sscanf(word, "%lld..%lld%c", &low, &high, &end) != 2) return SL_DONE;
  static const long long most = SL_HUGE / 2; /* whose differences have no overflow; no flag takes as much */
  if (low < -most || high > most) return SL_DONE;
  if (low > high || high - low >= MOST)
    return sl_fail(SL_ERR_INPUT, "--sweep: %s: is no range; expected the smaller number first, and at most %d of them",
                   word, MOST);
  for (long long i = low; i <= high; i++) {
    const int n = snprintf(number, sizeof number, "%lld", i);
    SL_TRY(add_value(axis, number, (size_t)n));
  }
  return SL_OK;
}

/* Values that have commas themselves, such as layers of stages, are separated by semicolons. */
static enum sl_status read_values(struct sl_axis *axis, const char *text) {
  const char *between = strchr(text, ';') != NULL ? ";" : ",";
  for (const char *at = text;; at++) {
    const size_t n = strcspn(at, between);
    enum sl_status status = add_range(axis, at, n);
    if (status == SL_DONE) status = add_value(axis, at, n);
    SL_TRY(status);
    at += n;
    if (*at == '\0') return SL_OK;
  }
}

static enum sl_status read_axis(struct sl_axis *axis, const char *word, const struct sl_options *options) {
  const size_t length = strcspn(word, "=");
  if (word[length] != '=' || length == 0 || word[length + 1] == '\0')
    return sl_fail(SL_ERR_INPUT, "--sweep: is '%s'; expected a flag and its values: tp=1,2,4 or zero-stage=0..3", word);
  axis->flag = strndup(word, length);
  if (axis->flag == NULL) return sl_fail(SL_ERR_MEMORY, "out of memory: the axes of --sweep");
  axis->width = (int)length;
  if (!sl_options_sweeps(axis->flag))
    return sl_fail(SL_ERR_INPUT,
                   "--sweep: '%s' is no flag that can be swept; expected one that changes the configuration, or model, "
                   "cluster, world or dtype",
                   axis->flag);
  if (sl_options_given(options, axis->flag))
    return sl_fail(SL_ERR_INPUT, "--%s: is swept, too; expected one of the two", axis->flag);
  if (strcmp(axis->flag, "world") == 0 && options->hostfile != NULL)
    return sl_fail(SL_ERR_INPUT,
                   "--hostfile: says how many ranks there are, and world is swept; expected one of the two");
  return read_values(axis, word + length + 1);
}

/* A value that the flag never takes is an error of the request, not of one combination. */
static enum sl_status check_values(const struct sl_axis *axis, const struct sl_options *options) {
  enum sl_status status = SL_OK;
  json_t *seen = json_object();
  for (int i = 0; i < axis->count; i++) {
    struct sl_options copy = *options;
    if (json_object_get(seen, axis->values[i]) != NULL)
      SL_GO(
          sl_fail(SL_ERR_INPUT, "--sweep: %s=%s stands twice; expected each value once", axis->flag, axis->values[i]));
    if (json_object_set_new(seen, axis->values[i], json_true()) != 0) /* nor could a row of the results have it */
      SL_GO(sl_fail(SL_ERR_INPUT, "--sweep: %s=%s is malformed; expected text in UTF-8", axis->flag, axis->values[i]));
    SL_GO(sl_options_set_word(&copy, SL_CMD_PREDICT, axis->flag, axis->values[i]));
  }
done:
  json_decref(seen);
  return status;
}

enum sl_status sl_axes_read(struct sl_axes *axes, const struct sl_options *options) {
  axes->combinations = 1;
  for (int i = -1; i < options->operand_count; i++) {
    const char *word = i < 0 ? options->sweep : options->operand[i];
    struct sl_axis *axis = &axes->axis[axes->count++];
    SL_TRY(read_axis(axis, word, options));
    SL_TRY(check_values(axis, options));
    for (int other = 0; other + 1 < axes->count; other++)
      if (strcmp(axes->axis[other].flag, axis->flag) == 0)
        return sl_fail(SL_ERR_INPUT, "--sweep: '%s' stands twice; expected each flag once", axis->flag);
    axes->combinations = sl_product(axes->combinations, axis->count);
    if (axes->combinations > MOST)
      return sl_fail(SL_ERR_INPUT, "--sweep: has more than %d combinations; expected fewer values", MOST);
  }
  return SL_OK;
}

void sl_axes_free(struct sl_axes *axes) {
  for (int a = 0; a < axes->count; a++) {
    for (int i = 0; i < axes->axis[a].count; i++) free(axes->axis[a].values[i]);
    free(axes->axis[a].values);
    free((char *)(uintptr_t)axes->axis[a].flag);
  }
  axes->count = 0;
}

const char *sl_axes_value(const struct sl_axes *axes, int axis, size_t combination) {
  for (int a = axes->count - 1; a > axis; a--) combination /= (size_t)axes->axis[a].count;
  return axes->axis[axis].values[combination % (size_t)axes->axis[axis].count];
}

enum sl_status sl_axes_apply(const struct sl_axes *axes, size_t combination, struct sl_options *options) {
  for (int a = 0; a < axes->count; a++)
    SL_TRY(sl_options_set_word(options, SL_CMD_PREDICT, axes->axis[a].flag, sl_axes_value(axes, a, combination)));
  return SL_OK;
}
