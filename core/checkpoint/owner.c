/* See owner.h. */
#include "core/checkpoint/owner.h"

#include "core/base/file.h"
#include "core/checkpoint/manifest.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

/* The name that SHARDLAB_JOB or a launcher gives is no use here: it may be the same for several trainings. */
void sl_owner_name(char out[SL_OWNER_SIZE]) {
  uint64_t word;
  if (getrandom(&word, sizeof word, 0) != (ssize_t)sizeof word) word = (uint64_t)time(NULL) << 24 ^ (uint64_t)getpid();
  snprintf(out, SL_OWNER_SIZE, "%016" PRIx64, word);
}

bool sl_owner_is_name(const char *text) {
  return strlen(text) == SL_OWNER_SIZE - 1 && strspn(text, "0123456789abcdef") == SL_OWNER_SIZE - 1;
}

bool sl_owner_is(const char *path, const char *job) {
  char want[64], head[64], *name;
  const int size = snprintf(want, sizeof want, "\"job\":\"%s\",", job);
  if (sl_file_join(&name, path, "manifest.json") != SL_OK) return false;
  FILE *file = fopen(name, "re");
  free(name);
  if (file == NULL) return false;
  const bool same = fseek(file, SL_MANIFEST_LINE, SEEK_SET) == 0 &&
                    fread(head, 1, (size_t)size, file) == (size_t)size && memcmp(head, want, (size_t)size) == 0;
  fclose(file);
  return same;
}
