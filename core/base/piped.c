/* A list of texts by their paths; see piped.h. */
#include "core/base/piped.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static struct kept {
  struct kept *next;
  char *path, *text; /* owned */
  size_t length;
} * list;
static bool keeping;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void sl_piped_begin(void) {
  keeping = true;
}

const char *sl_piped_text(const char *path, size_t *length) {
  pthread_mutex_lock(&lock);
  const struct kept *kept = list;
  while (kept != NULL && strcmp(kept->path, path) != 0) kept = kept->next;
  pthread_mutex_unlock(&lock);
  if (kept == NULL) return NULL;
  *length = kept->length;
  return kept->text;
}

enum sl_status sl_piped_keep(const char *path, const char *text, size_t length) {
  struct kept *kept = NULL;
  if (!keeping) return SL_OK;
  SL_TRY(sl_calloc(&kept, 1, sizeof *kept));
  kept->path = strdup(path);
  kept->text = malloc(length + 1);
  if (kept->path == NULL || kept->text == NULL) {
    free(kept->path), free(kept->text), free(kept);
    return sl_fail(SL_ERR_MEMORY, "out of memory: the text of %s", path);
  }
  memcpy(kept->text, text, length);
  kept->length = length;
  pthread_mutex_lock(&lock);
  kept->next = list, list = kept;
  pthread_mutex_unlock(&lock);
  return SL_OK;
}
