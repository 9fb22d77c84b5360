/* Splits received text into lines; see relay.h. */
#include "cli/relay.h"

#include "core/base/status.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void pass_lines(struct sl_relay *r) {
  char *at = r->text, *end;
  for (; (end = memchr(at, '\n', (size_t)(r->text + r->size - at))) != NULL; at = end + 1) {
    const char next = end[1];
    end[1] = '\0';
    r->line(r->context, at);
    end[1] = next;
  }
  r->size -= (size_t)(at - r->text);
  memmove(r->text, at, r->size + 1);
  if (r->size == 0 || r->text[0] != '\r') return;
  fputs(r->text, stderr);
  r->size = 0;
}

bool sl_relay_read(struct sl_relay *r, int milliseconds) {
  enum { PIECE = 4096 };
  struct pollfd in = {.fd = r->fd, .events = POLLIN};
  if (r->fd < 0) return false;
  if (poll(&in, 1, milliseconds) <= 0) return true;
  if (sl_grow(&r->text, &r->capacity, r->size + PIECE, 1) != SL_OK) return false;
  const ssize_t got = read(r->fd, r->text + r->size, PIECE - 1);
  if (got < 0 && errno == EINTR) return true;
  if (got <= 0) return false;
  r->size += (size_t)got;
  r->text[r->size] = '\0';
  pass_lines(r);
  return true;
}

void sl_relay_close(struct sl_relay *r) {
  if (r->size > 0) r->line(r->context, r->text);
  free(r->text);
  if (r->fd >= 0) close(r->fd);
  *r = (struct sl_relay){.fd = -1};
}
