/* What a child writes to its standard error, line by line on its way to ours. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct sl_relay {
  int fd;                                        /* the end to read; the relay's own, -1: closed */
  void (*line)(void *context, const char *line); /* a whole line with its end, the last one perhaps without */
  void *context;
  char *text; /* what has come without a line's end; owned */
  size_t size, capacity;
};

/* Wait `milliseconds` for text and pass it on. What begins with a carriage return is progress that is written over and over, and goes to
 * standard error at once. False when the child has closed its end. */
bool sl_relay_read(struct sl_relay *relay, int milliseconds);
/* Pass what is left, and close. */
void sl_relay_close(struct sl_relay *relay);
