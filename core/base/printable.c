/* See printable.h. */
#include "core/base/printable.h"

#include <stdio.h>
#include <string.h>

void sl_printable(char *text, size_t size, bool lines) {
  char out[2048];
  size_t n = 0;
  for (const unsigned char *at = (const unsigned char *)text; *at != '\0' && n + 8 < sizeof out; at++) {
    const bool c1 = at[0] == 0xc2 && at[1] >= 0x80 && at[1] <= 0x9f; /* U+0080 to U+009F in UTF-8 */
    if ((*at >= ' ' && *at != 0x7f && !c1) || (*at == '\n' && lines)) {
      out[n++] = (char)*at;
      continue;
    }
    n += (size_t)snprintf(out + n, sizeof out - n,
                          *at == '\n'   ? "\\n"
                          : *at == '\t' ? "\\t"
                                        : "\\u%04x",
                          c1 ? at[1] : at[0]);
    at += c1;
  }
  out[n] = '\0';
  snprintf(text, size, "%s", out);
}

struct sl_printable_text sl_printable_of(const char *text) {
  struct sl_printable_text out;
  snprintf(out.text, sizeof out.text, "%s", text);
  sl_printable(out.text, sizeof out.text, false);
  return out;
}
