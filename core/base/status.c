/* Error messages and warnings of this thread; see status.h. */
#include "core/base/status.h"

#include "core/base/printable.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local char message[2048];
static _Thread_local sl_warn_sink warn_sink;
static _Thread_local void *warn_context;

enum sl_status sl_fail(enum sl_status status, const char *format, ...) {
  if (message[0] != '\0') return status;
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  sl_printable(message, sizeof message, strchr(format, '\n') != NULL);
  return status;
}

const char *sl_error_message(void) {
  return message;
}

enum sl_status sl_error_relay(enum sl_status status, const char *text) {
  if (message[0] == '\0') snprintf(message, sizeof message, "%s", text);
  return status;
}

void sl_error_clear(void) {
  message[0] = '\0';
}

int sl_exit_code(enum sl_status status) {
  if (status == SL_OK || status == SL_DONE) return 0;
  return status == SL_ERR_INPUT ? 2 : status == SL_ERR_DEVICE ? 3 : 1;
}

void sl_warn(const char *format, ...) {
  char text[2048];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  sl_printable(text, sizeof text, strchr(format, '\n') != NULL);
  if (warn_sink != NULL) {
    warn_sink(warn_context, text);
  } else {
    fprintf(stderr, "shardlab: warning: %s\n", text);
  }
}

void sl_warn_set_sink(sl_warn_sink sink, void *context) {
  warn_sink = sink;
  warn_context = context;
}

enum sl_status sl_calloc(void *out, size_t count, size_t size) {
  void *block = calloc(count > 0 ? count : 1, size > 0 ? size : 1);
  if (block == NULL) return sl_fail(SL_ERR_MEMORY, "out of memory: %zu elements of %zu bytes", count, size);
  memcpy(out, &block, sizeof block);
  return SL_OK;
}

enum sl_status sl_malloc(void *out, size_t count, size_t size) {
  void *block = reallocarray(NULL, count > 0 ? count : 1, size);
  if (block == NULL) return sl_fail(SL_ERR_MEMORY, "out of memory: %zu elements of %zu bytes", count, size);
  memcpy(out, &block, sizeof block);
  return SL_OK;
}

enum sl_status sl_room_beyond(void *items, size_t *capacity, size_t count, size_t size) {
  size_t grown = *capacity > 0 ? *capacity : 16;
  while (grown < count) grown *= 2;
  void *block;
  memcpy(&block, items, sizeof block);
  block = reallocarray(block, grown, size);
  if (block == NULL) return sl_fail(SL_ERR_MEMORY, "out of memory: %zu elements of %zu bytes", grown, size);
  memcpy(items, &block, sizeof block);
  *capacity = grown;
  return SL_OK;
}

enum sl_status sl_grow_beyond(void *items, size_t *capacity, size_t count, size_t size) {
  const size_t had = *capacity;
  void *block;
  SL_TRY(sl_room_beyond(items, capacity, count, size));
  memcpy(&block, items, sizeof block);
  memset((char *)block + had * size, 0, (*capacity - had) * size);
  return SL_OK;
}

enum sl_status sl_shrink(void *items, size_t *capacity, size_t count, size_t size) {
  if (count == 0 || count >= *capacity) return SL_OK;
  void *block;
  memcpy(&block, items, sizeof block);
  block = realloc(block, count * size);
  if (block == NULL) return sl_fail(SL_ERR_MEMORY, "out of memory: %zu elements of %zu bytes", count, size);
  memcpy(items, &block, sizeof block);
  *capacity = count;
  return SL_OK;
}

sl_warn_sink sl_warn_get_sink(void **context) {
  *context = warn_context;
  return warn_sink;
}

void sl_warn_drop(void *context, const char *dropped) {
  (void)context, (void)dropped;
}
