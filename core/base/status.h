/* Status codes, the error message of the failing call, and the macro that relays errors.
 *
 * A function that can fail returns `enum sl_status`. The code that detects the error calls sl_fail() once, with a
 * message that a user can act on (place, value, what was expected); callers relay it with SL_TRY. Only main() exits. */
#pragma once

#include <stddef.h>

enum sl_status {
  SL_OK = 0,
  SL_AGAIN,      /* not an error: a queue is full, call advance() and try again */
  SL_DONE,       /* not an error: nothing is left to wait for */
  SL_ERR_INPUT,  /* bad file, flag or environment: exit status 2 */
  SL_ERR_MEMORY, /* an allocation failed */
  SL_ERR_IO,     /* the system refused a read or a write */
  SL_ERR_ABSENT, /* a module or library that the request needs is not on this machine */
  SL_ERR_PEER,   /* another rank died or disagrees */
  /* a GPU failed in an op that cannot be named: exit status 3; a second run with all ops marked can name it */
  SL_ERR_DEVICE,
  SL_ERR_CHECK,   /* the dry run rejected a program, or a comparison is out of tolerance */
  SL_ERR_INTERNAL /* an internal invariant is broken */
};

/* Records the message of a failure for this thread and returns `status`. The first message is kept until
 * sl_error_clear(), so relaying never hides the cause. printf-style; no trailing newline. Control bytes in arguments
 * are escaped. */
enum sl_status sl_fail(enum sl_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The recorded message ("" if none). Valid until the next sl_fail or sl_error_clear on this thread. */
const char *sl_error_message(void);
void sl_error_clear(void);
/* Records on this thread a message that sl_error_message() returned on another one, unchanged, and returns `status`. */
enum sl_status sl_error_relay(enum sl_status status, const char *text);

/* Exit status of a command that ended with `status`: 0; 2 for bad input; 3 for a device that failed in an unknown op; 1
 * otherwise. */
int sl_exit_code(enum sl_status status);

/* Every warning of a thread goes to its sink, so that tests can count warnings and --json can include them; the default
 * prints "shardlab: warning: ..." to stderr. `sink` NULL restores the default. */
typedef void (*sl_warn_sink)(void *context, const char *message);
void sl_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
void sl_warn_set_sink(sl_warn_sink sink, void *context);
/* The current sink, to be set again behind a stretch in which warnings go elsewhere. */
sl_warn_sink sl_warn_get_sink(void **context);
/* A sink that drops warnings. */
void sl_warn_drop(void *context, const char *dropped);

/* Relays a failure of `e` to the caller. */
#define SL_TRY(e)                                                                                                      \
  do {                                                                                                                 \
    enum sl_status sl_try_status_ = (e);                                                                               \
    if (sl_try_status_ != SL_OK) return sl_try_status_;                                                                \
  } while (0)

/* The same in a function that returns `status` and has its cleanup at a label: `done` if success also passes it, `fail`
 * if success has returned before. */
#define SL_GO(e) SL_GO_TO(done, e)
#define SL_GO_FAIL(e) SL_GO_TO(fail, e)
#define SL_GO_TO(label, e)                                                                                             \
  do {                                                                                                                 \
    status = (e);                                                                                                      \
    if (status != SL_OK) goto label;                                                                                   \
  } while (0)

/* calloc with an error message: *out becomes `count` zeroed elements of `size` bytes. count 0 gives a valid block of
 * one element. */
enum sl_status sl_calloc(void *out, size_t count, size_t size);

/* The same without zeroing, for memory that is written before it is read. */
enum sl_status sl_malloc(void *out, size_t count, size_t size);

/* Grows the array *items (capacity *capacity) to hold `count` elements or more, of `size` bytes; new ones are zero. */
enum sl_status sl_grow_beyond(void *items, size_t *capacity, size_t count, size_t size);
static inline enum sl_status sl_grow(void *items, size_t *capacity, size_t count, size_t size) {
  return count <= *capacity ? SL_OK : sl_grow_beyond(items, capacity, count, size);
}
/* The same without zeroing. */
enum sl_status sl_room_beyond(void *items, size_t *capacity, size_t count, size_t size);
static inline enum sl_status sl_room(void *items, size_t *capacity, size_t count, size_t size) {
  return count <= *capacity ? SL_OK : sl_room_beyond(items, capacity, count, size);
}
/* Frees the memory of the array beyond its `count` elements. */
enum sl_status sl_shrink(void *items, size_t *capacity, size_t count, size_t size);
