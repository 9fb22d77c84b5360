/* See printable.h. */
#include "core/base/printable.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Decodes the code point at `at` and returns its length; 0 if it is not valid UTF-8 (truncated, overlong, a surrogate,
 * beyond U+10FFFF). */
static int decode(const unsigned char *at, uint32_t *point) {
  if (at[0] < 0x80) return *point = at[0], 1;
  const int bytes = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
  const uint32_t least = bytes == 4 ? 0x10000 : bytes == 3 ? 0x800 : 0x80;
  if (at[0] < 0xc0 || at[0] > 0xf7) return 0;
  *point = at[0] & (0xffu >> (bytes + 1));
  for (int i = 1; i < bytes; i++) {
    if ((at[i] & 0xc0) != 0x80) return 0;
    *point = *point << 6 | (at[i] & 0x3f);
  }
  return *point < least || *point > 0x10ffff || (*point >= 0xd800 && *point <= 0xdfff) ? 0 : bytes;
}

static bool is_shown(uint32_t point) {
  if (point < ' ' || (point >= 0x7f && point <= 0x9f)) return false; /* a terminal interprets these */
  if (point == 0x200e || point == 0x200f || point == 0xfeff)
    return false; /* invisible, or they change the direction of the following text */
  return !((point >= 0x2028 && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069)); /* or end its line */
}

int sl_printable_one(const char *text, struct sl_printable_piece *piece) {
  uint32_t point = 0;
  const unsigned char *at = (const unsigned char *)text;
  const int bytes = decode(at, &point);
  if (bytes == 0) {
    snprintf(piece->text, sizeof piece->text, "\\x%02x", at[0]);
    return 1;
  }
  if (is_shown(point))
    snprintf(piece->text, sizeof piece->text, "%.*s", bytes, text);
  else if (point == '\n' || point == '\t')
    snprintf(piece->text, sizeof piece->text, "\\%c", point == '\n' ? 'n' : 't');
  else
    snprintf(piece->text, sizeof piece->text, "\\u%04x", (unsigned)point);
  return bytes;
}

void sl_printable(char *text, size_t size, bool lines) {
  char out[2048];
  size_t n = 0;
  for (const char *at = text; *at != '\0';) {
    struct sl_printable_piece piece = {"\n"};
    at += *at == '\n' && lines ? 1 : sl_printable_one(at, &piece);
    const size_t length = strlen(piece.text);
    if (n + length >= sizeof out || n + length >= size) break;
    memcpy(out + n, piece.text, length);
    n += length;
  }
  out[n] = '\0';
  memcpy(text, out, n + 1);
}

struct sl_printable_text sl_printable_of(const char *text) {
  struct sl_printable_text out;
  snprintf(out.text, sizeof out.text, "%s", text);
  sl_printable(out.text, sizeof out.text, false);
  return out;
}
