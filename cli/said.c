/* Remembers warnings that were printed, by a hash of their text; see said.h. */
#include "cli/said.h"

#include "core/base/hash.h"
#include "core/base/status.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64 }; /* further ones may be printed again */

static const char variable[] = "SHARDLAB_SAID"; /* the hashes in hexadecimal, separated by blanks */
static uint64_t said[MOST];
static int count;

static bool is_new(uint64_t hash) {
  for (int i = 0; i < count; i++)
    if (said[i] == hash) return false;
  if (count < MOST) said[count++] = hash;
  return true;
}

static void say(void *context, const char *message) {
  (void)context;
  if (is_new(sl_hash_bytes(message, strlen(message)))) fprintf(stderr, "shardlab: warning: %s\n", message);
}

void sl_said_once(void) {
  const char *at = getenv(variable);
  for (char *end; at != NULL && *at != '\0' && count < MOST; at = end) {
    const uint64_t hash = strtoull(at, &end, 16);
    if (end == at) break;
    is_new(hash);
  }
  sl_warn_set_sink(say, NULL);
}

void sl_said_pass(void) {
  char text[MOST * 17 + 1] = "";
  for (int i = 0; i < count; i++) snprintf(text + 17 * i, sizeof text - 17 * (size_t)i, "%016" PRIx64 " ", said[i]);
  setenv(variable, text, 1);
}
