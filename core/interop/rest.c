/* See rest.h. */
#include "core/interop/rest.h"

#include "core/base/status.h"

#include <stdio.h>
#include <string.h>

void sl_interop_rest_add(struct sl_interop_rest *rest, const char *word) {
  const char *before = rest->used > 0 ? rest->separator : "";
  const size_t length = strlen(before) + strlen(word);
  if (rest->left > 0 || rest->used + length >= sizeof rest->text) {
    rest->left++;
    return;
  }
  snprintf(rest->text + rest->used, sizeof rest->text - rest->used, "%s%s", before, word);
  rest->used += length;
}

void sl_interop_rest_warn(const struct sl_interop_rest *rest, const char *file, const char *what) {
  if (rest->used == 0 && rest->left == 0) return;
  if (rest->left == 0)
    sl_warn("%.256s: %s: %s", file, what, rest->text);
  else
    sl_warn("%.256s: %s: %s, and %zu more", file, what, rest->text, rest->left);
}
