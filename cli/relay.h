/* Forwards a child's standard error to ours, line by line. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct sl_relay {
  int fd;                                        /* the read end; owned by the relay, -1: closed */
  void (*line)(void *context, const char *line); /* gets a whole line including its end; the last one may have none */
  void *context;
  char *text; /* text received without a line end yet; owned */
  size_t size, capacity;
};

/* Waits up to `milliseconds` for text and forwards it. Text that begins with a carriage return is progress that
 * overwrites itself, and goes to standard error at once. Returns false once the child has closed its end. */
bool sl_relay_read(struct sl_relay *relay, int milliseconds);
/* Forwards what is left, and closes. */
void sl_relay_close(struct sl_relay *relay);
