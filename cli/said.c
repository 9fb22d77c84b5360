/* Remembers warnings that were printed, by a hash of their text; see said.h. */
#include "cli/said.h"

#include "core/base/hash.h"
#include "core/base/status.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 64 }; /* further ones may be printed again */

static const char variable[] = "SHARDLAB_SAID";  /* the hashes in hexadecimal, separated by blanks */
static const char shared[] = "SHARDLAB_SAID_IN"; /* a file in which processes note such hashes */
static uint64_t said[MOST];
static int count;
static bool silent;

static bool is_new(uint64_t hash) {
  for (int i = 0; i < count; i++)
    if (said[i] == hash) return false;
  if (count < MOST) said[count++] = hash;
  return true;
}

/* A file that cannot be written costs a repetition, no more. */
static void note(uint64_t hash) {
  const char *path = getenv(shared);
  const int fd = path != NULL ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600) : -1;
  if (fd < 0) return;
  dprintf(fd, "%016" PRIx64 " ", hash);
  close(fd);
}

static void say(void *context, const char *message) {
  const uint64_t hash = sl_hash_bytes(message, strlen(message));
  (void)context;
  if (!is_new(hash)) return;
  fprintf(stderr, "shardlab: warning: %s\n", message);
  note(hash);
}

static void learn(const char *at) {
  for (char *end; at != NULL && *at != '\0' && count < MOST; at = end) {
    const uint64_t hash = strtoull(at, &end, 16);
    if (end == at) break;
    is_new(hash);
  }
}

static void learn_shared(void) {
  char text[MOST * 17 + 1] = "";
  const char *path = getenv(shared);
  const int fd = path != NULL ? open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC) : -1;
  if (fd < 0) return;
  if (read(fd, text, sizeof text - 1) > 0) learn(text);
  close(fd);
}

void sl_said_once(void) {
  learn(getenv(variable));
  learn_shared();
  sl_warn_set_sink(silent ? sl_warn_drop : say, NULL);
}

void sl_said_silence(void) {
  silent = true;
  sl_warn_set_sink(sl_warn_drop, NULL);
}

void sl_said_pass(void) {
  char text[MOST * 17 + 1] = "";
  for (int i = 0; i < count; i++) snprintf(text + 17 * i, sizeof text - 17 * (size_t)i, "%016" PRIx64 " ", said[i]);
  setenv(variable, text, 1);
}

void sl_said_share(const char *file) {
  sl_said_pass();
  setenv(shared, file, 1);
}
