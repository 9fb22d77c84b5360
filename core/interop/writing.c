/* See writing.h. */
#include "core/interop/writing.h"

#include "core/base/json_get.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *sl_interop_text(const json_t *root, const char *path) {
  const char *text = json_string_value(sl_json_at(root, path));
  return text != NULL ? text : "";
}

int64_t sl_interop_whole(const json_t *root, const char *path) {
  return json_integer_value(sl_json_at(root, path));
}

bool sl_interop_is_on(const json_t *root, const char *path) {
  return json_is_true(sl_json_at(root, path));
}

enum sl_status sl_interop_refuse(const char *framework, const char *path, const char *is, const char *expected) {
  return sl_fail(SL_ERR_INPUT, "--to %s: %s: is %s; expected %s", framework, path, is[0] != '\0' ? is : "absent",
                 expected);
}

enum sl_status sl_interop_check_vocabulary(const char *framework, const json_t *config, const char *usual) {
  static const char path[] = "shardlab.tp_vocab";
  const char *is = sl_interop_text(config, path);
  char expected[64];
  if (sl_interop_whole(config, "shardlab.tp") <= 1 || is[0] == '\0' || strcmp(is, usual) == 0) return SL_OK;
  snprintf(expected, sizeof expected, "%.16s beside tp, as the framework's is", usual);
  return sl_interop_refuse(framework, path, is, expected);
}

const char *sl_interop_real(double value, char out[SL_INTEROP_REAL_BYTES]) {
  for (int digits = 15; digits <= 17; digits++) {
    snprintf(out, SL_INTEROP_REAL_BYTES, "%.*g", digits, value);
    if (strtod(out, NULL) == value) break;
  }
  return out;
}
