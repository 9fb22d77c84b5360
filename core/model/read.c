/* What the families' readers share; see read.h. */
#include "core/model/read.h"

#include <stdio.h>
#include <string.h>

enum sl_status sl_model_get_size(const struct sl_json_object *in, const char *key, const char *alias, int64_t max,
                                 int64_t *out) {
  if (alias != NULL && sl_json_get(in, key) == NULL) key = alias;
  return sl_json_get_int(in, key, 1, max, out);
}

enum sl_status sl_model_want_bool(const struct sl_json_object *in, const char *key, bool honoured) {
  bool value = honoured;
  SL_TRY(sl_json_get_bool(in, key, &value));
  if (value == honoured) return SL_OK;
  return sl_json_get_fail(in, key, "%s; the other is not modelled", honoured ? "true" : "false");
}

enum sl_status sl_model_want_activation(const struct sl_json_object *in, const char *key, const char *name,
                                        const char *alias) {
  char text[64];
  snprintf(text, sizeof text, "%s", name);
  SL_TRY(sl_json_get_text(in, key, text, sizeof text));
  if (strcmp(text, name) == 0 || strcmp(text, alias) == 0) return SL_OK;
  return sl_json_get_fail(in, key, strcmp(name, alias) != 0 ? "\"%s\" or \"%s\"" : "\"%s\"", name, alias);
}

enum sl_status sl_model_want_divisor(const struct sl_json_object *in, const char *key, int64_t whole, int64_t part,
                                     const char *what) {
  if (whole % part == 0) return SL_OK;
  char path[64];
  sl_json_get_path(in, key, path, sizeof path);
  return sl_json_fail(in->doc, path, "is %lld; expected a divisor of %s, which is %lld", (long long)part, what,
                      (long long)whole);
}
