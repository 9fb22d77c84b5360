/* Text from a user's files, paths and names on its way to a terminal: bytes that a terminal would act on are written as JSON
 * writes them, \n, \t and \u001b. Those are the bytes below a blank, DEL, and U+0080 to U+009F in UTF-8. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* `text` of `size` bytes in place, cut where it grows too long. `lines`: a line's end stays one. */
void sl_printable(char *text, size_t size, bool lines);

/* A copy of `text`, in `text`, for messages and tables; a long one is cut. */
struct sl_printable_text {
  char text[512];
};
struct sl_printable_text sl_printable_of(const char *text);
