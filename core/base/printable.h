/* Text from a user's files, paths and names on its way to a terminal: what a terminal would act on is written as JSON writes it, \n,
 * \t and \u001b. That are control characters (below a blank, DEL, U+0080 to U+009F) and what changes the direction or the line of
 * the text behind it. Bytes that are no UTF-8 are written as \x9b: a terminal of single bytes would act on them, too. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The first character of `text`, which is not empty, as it is to be shown; returns the bytes of `text` that it took, 1 or more. */
struct sl_printable_piece {
  char text[12];
};
int sl_printable_one(const char *text, struct sl_printable_piece *piece);

/* `text` of `size` bytes in place, cut between two characters where it grows too long. `lines`: a line's end stays one. */
void sl_printable(char *text, size_t size, bool lines);

/* A copy of `text`, in `text`, for messages and tables; a long one is cut. */
struct sl_printable_text {
  char text[512];
};
struct sl_printable_text sl_printable_of(const char *text);
