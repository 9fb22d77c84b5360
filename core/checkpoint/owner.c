/* See owner.h. */
#include "core/checkpoint/owner.h"

#include "core/base/file.h"
#include "core/checkpoint/manifest.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
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

enum { HEAD = SL_MANIFEST_LINE + 7 + SL_OWNER_SIZE }; /* the first line, then "job":" and the name with its end */

/* The first bytes of a manifest, of which there may be fewer; the result is their number. What is no file has none. */
static size_t read_head(const char *path, char head[HEAD + 1]) {
  char *name;
  struct stat about;
  ssize_t got = 0;
  if (sl_file_join(&name, path, "manifest.json") != SL_OK) return 0;
  const int file = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe would have us wait for a writer */
  free(name);
  if (file < 0) return 0;
  if (fstat(file, &about) == 0 && S_ISREG(about.st_mode)) got = read(file, head, HEAD);
  close(file);
  head[got > 0 ? got : 0] = '\0';
  return got > 0 ? (size_t)got : 0;
}

enum sl_owner sl_owner_of(const char *path, const char *job) {
  static const char first[] = "{\"xxh3\": \"", named[] = "\"job\":\"", unnamed[] = "\"format\":";
  char head[HEAD + 1];
  if (read_head(path, head) < HEAD || strncmp(head, first, strlen(first)) != 0) return SL_OWNER_UNKNOWN;
  const char *line = &head[SL_MANIFEST_LINE];
  if (strncmp(line, unnamed, strlen(unnamed)) == 0) return SL_OWNER_OTHER;
  if (strncmp(line, named, strlen(named)) != 0 || head[HEAD - 1] != '"') return SL_OWNER_UNKNOWN;
  head[HEAD - 1] = '\0';
  if (!sl_owner_is_name(&line[strlen(named)])) return SL_OWNER_UNKNOWN;
  return strcmp(&line[strlen(named)], job) == 0 ? SL_OWNER_THIS : SL_OWNER_OTHER;
}
