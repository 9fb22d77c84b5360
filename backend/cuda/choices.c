/* A file of choices; see choices.h. */
#include "backend/cuda/choices.h"

#include "core/base/file.h"
#include "core/base/folders.h"
#include "core/base/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_BYTES = 256, LINE_BYTES = 4 * MOST_BYTES + 32 }; /* of a key or a choice; of a line */

struct line {
  unsigned char key[MOST_BYTES], choice[MOST_BYTES];
  size_t key_bytes, choice_bytes;
};

struct sl_choices {
  char *path; /* owned */
  int file;
  off_t read;         /* so many bytes of the file are in `lines` */
  struct line *lines; /* owned */
  size_t count, capacity;
};

/* ---- the file ---- */

/* *out, to be freed, is NULL where there is none. */
static enum sl_status cache_folder(char **out) {
  const char *own = getenv("SHARDLAB_CACHE"), *caches = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  *out = NULL;
  if (own) return *own == '/' ? sl_file_join(out, own, ".") : SL_OK;
  if (caches && *caches == '/') return sl_file_join(out, caches, "shardlab");
  return home && *home == '/' ? sl_file_join(out, home, ".cache/shardlab") : SL_OK;
}

/* FOLDER/products-HASH.txt. What the hash is of stands in the file's first line. */
static enum sl_status path_of(char **out, const char *folder, const char *about) {
  char name[64];
  snprintf(name, sizeof name, "products-%016llx.txt", (unsigned long long)sl_hash_bytes(about, strlen(about)));
  return sl_file_join(out, folder, name);
}

/* The file of this user, and nobody's link to something else; -1: none. */
static int open_file(const char *path, const char *about) {
  struct stat facts;
  const int file = open(path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
  if (file < 0) return -1;
  if (fstat(file, &facts) != 0 || !S_ISREG(facts.st_mode) || facts.st_uid != geteuid()) return close(file), -1;
  if (facts.st_size == 0 && dprintf(file, "# %s\n", about) < 0) return close(file), -1;
  return file;
}

enum sl_status sl_choices_open(struct sl_choices **out, const char *about) {
  char *folder, *path = NULL;
  int file = -1;
  *out = NULL;
  SL_TRY(cache_folder(&folder));
  if (!folder) return SL_OK;
  enum sl_status status = path_of(&path, folder, about);
  if (status == SL_OK && sl_folders_make(folder) == 0) file = open_file(path, about);
  free(folder);
  if (status != SL_OK || file < 0) return free(path), status;
  struct sl_choices *c;
  status = sl_calloc(&c, 1, sizeof *c);
  if (status != SL_OK) return close(file), free(path), status;
  c->path = path;
  c->file = file;
  *out = c;
  return SL_OK;
}

void sl_choices_close(struct sl_choices *c) {
  if (!c) return;
  close(c->file);
  free(c->path);
  free(c->lines);
  free(c);
}

/* ---- lines: KEY CHOICE HASH, each in hexadecimal ---- */

static uint64_t hash_of(const struct line *l) {
  return sl_hash_bytes((const char *)l->key, l->key_bytes) * 31 ^
         sl_hash_bytes((const char *)l->choice, l->choice_bytes);
}

static int nibble(char c) {
  return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads a word of hexadecimal bytes; returns what follows it, NULL if it is none. */
static const char *parse_bytes(const char *text, unsigned char *out, size_t *count) {
  for (*count = 0; nibble(text[0]) >= 0; text += 2) {
    if (*count == MOST_BYTES || nibble(text[1]) < 0) return NULL;
    out[(*count)++] = (unsigned char)(nibble(text[0]) << 4 | nibble(text[1]));
  }
  return *count > 0 ? text : NULL;
}

static bool parse(const char *text, struct line *l) {
  unsigned char told[MOST_BYTES];
  size_t bytes;
  if (!(text = parse_bytes(text, l->key, &l->key_bytes)) || *text++ != ' ') return false;
  if (!(text = parse_bytes(text, l->choice, &l->choice_bytes)) || *text++ != ' ') return false;
  if (!(text = parse_bytes(text, told, &bytes)) || *text != '\n' || bytes != sizeof(uint64_t)) return false;
  const uint64_t hash = hash_of(l);
  return memcmp(told, &hash, sizeof hash) == 0;
}

static size_t print_bytes(char *out, const void *bytes, size_t count, char end) {
  static const char digits[] = "0123456789abcdef";
  const unsigned char *from = bytes;
  for (size_t i = 0; i < count; i++) {
    out[2 * i] = digits[from[i] >> 4];
    out[2 * i + 1] = digits[from[i] & 15];
  }
  out[2 * count] = end;
  return 2 * count + 1;
}

static enum sl_status add(struct sl_choices *c, const struct line *l) {
  SL_TRY(sl_grow(&c->lines, &c->capacity, c->count + 1, sizeof *c->lines));
  c->lines[c->count++] = *l;
  return SL_OK;
}

/* Reads the lines that others have added, up to the last whole one. */
static enum sl_status read_on(struct sl_choices *c) {
  char text[LINE_BYTES + 1];
  for (;;) {
    const ssize_t got = pread(c->file, text, LINE_BYTES, c->read);
    if (got < 0) return sl_fail(SL_ERR_IO, "%s: %s", c->path, strerror(errno));
    text[got] = 0;
    const char *const end = memchr(text, '\n', (size_t)got);
    if (!end && got < LINE_BYTES) return SL_OK;
    struct line l;
    if (end && parse(text, &l)) SL_TRY(add(c, &l));
    c->read += end ? end + 1 - text : got; /* what is longer than a line is none */
  }
}

static const struct line *find(const struct sl_choices *c, const void *key, size_t key_bytes, size_t choice_bytes) {
  for (size_t i = 0; i < c->count; i++) {
    const struct line *l = &c->lines[i];
    if (l->key_bytes == key_bytes && l->choice_bytes == choice_bytes && memcmp(l->key, key, key_bytes) == 0) return l;
  }
  return NULL;
}

/* ---- choices ---- */

static enum sl_status lock(struct sl_choices *c) {
  while (flock(c->file, LOCK_EX) != 0)
    if (errno != EINTR) return sl_fail(SL_ERR_IO, "%s cannot be locked: %s", c->path, strerror(errno));
  return SL_OK;
}

enum sl_status sl_choices_begin(struct sl_choices *c, const void *key, size_t key_bytes, void *choice,
                                size_t choice_bytes, bool *made) {
  const struct line *l = find(c, key, key_bytes, choice_bytes);
  *made = true;
  if (!l) {
    SL_TRY(lock(c));
    const enum sl_status status = read_on(c);
    if (status != SL_OK) return flock(c->file, LOCK_UN), status;
    l = find(c, key, key_bytes, choice_bytes);
    *made = l != NULL;
    if (*made) flock(c->file, LOCK_UN);
  }
  if (l) memcpy(choice, l->choice, choice_bytes);
  return SL_OK;
}

void sl_choices_end(struct sl_choices *c, const void *key, size_t key_bytes, const void *choice, size_t choice_bytes) {
  char text[LINE_BYTES];
  if (choice && key_bytes <= MOST_BYTES && choice_bytes <= MOST_BYTES) {
    struct line l = {.key_bytes = key_bytes, .choice_bytes = choice_bytes};
    memcpy(l.key, key, key_bytes);
    memcpy(l.choice, choice, choice_bytes);
    const uint64_t hash = hash_of(&l);
    size_t n = 0;
    if (lseek(c->file, 0, SEEK_END) > c->read) text[n++] = '\n'; /* behind what a crash has left of a line */
    n += print_bytes(text + n, key, key_bytes, ' ');
    n += print_bytes(text + n, choice, choice_bytes, ' ');
    n += print_bytes(text + n, &hash, sizeof hash, '\n');
    if (write(c->file, text, n) != (ssize_t)n) sl_warn("%s: %s", c->path, strerror(errno));
  }
  flock(c->file, LOCK_UN);
}
