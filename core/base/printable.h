/* Makes text from files, paths and names of the user safe to print on a terminal: whatever a terminal would interpret
 * is escaped as in JSON, \n, \t and \u001b. These are control characters (below a blank, DEL, U+0080 to U+009F) and
 * characters that change the direction of the following text or end its line. Invalid UTF-8 bytes are written as \x9b,
 * since a single-byte terminal would interpret
 * them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The first character of `text` (not empty) in printable form; returns the number of its bytes, 1 or more. */
struct sl_printable_piece {
  char text[12];
};
int sl_printable_one(const char *text, struct sl_printable_piece *piece);

/* Makes `text` of `size` bytes printable in place, truncated between two characters if it grows too long. `lines`:
 * newlines are kept. */
void sl_printable(char *text, size_t size, bool lines);

/* A printable copy of `text` for messages and tables; a long one is truncated. */
struct sl_printable_text {
  char text[512];
};
struct sl_printable_text sl_printable_of(const char *text);
