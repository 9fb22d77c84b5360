/* Loads, frees and saves JSON documents, and finds places; json_scan.c walks the text itself. */
#include "core/base/json.h"

#include "core/base/json_places.h"
#include "core/base/json_scan.h"
#include "core/base/json_write.h"
#include "core/base/limits.h"
#include "core/base/new_file.h"
#include "core/base/piped.h"
#include "core/base/printable.h"
#include "core/base/was_read.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_standard(const char *path) {
  static const char *const standard[] = {"/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"};
  for (int i = 0; i < 3; i++)
    if (strcmp(path, standard[i]) == 0) return true;
  return false;
}

bool sl_json_is_piped(const char *path) {
  struct stat info;
  return is_standard(path) || (stat(path, &info) == 0 && S_ISFIFO(info.st_mode));
}

/* Of a pipe that nobody has opened to write to, the end comes at once: a while for that, and not for ever. */
static void await_writer(int handle) {
  enum { MOST_MS = 1000 };
  struct pollfd pipe = {.fd = handle, .events = POLLIN};
  (void)poll(&pipe, 1, MOST_MS);
  (void)fcntl(handle, F_SETFL, fcntl(handle, F_GETFL) & ~O_NONBLOCK);
}

/* Standard input may be anything. Another path that is a device could block forever, so it is refused. */
static FILE *open_file(const char *path) {
  if (is_standard(path)) return fopen(path, "rbe");
  const int handle = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  struct stat info = {.st_mode = 0};
  const bool there = handle >= 0 && fstat(handle, &info) == 0, piped = S_ISFIFO(info.st_mode);
  const bool plain = there && (S_ISREG(info.st_mode) || S_ISDIR(info.st_mode));
  if (plain) sl_was_read_add(handle, path);
  if (piped) await_writer(handle);
  if (plain || piped) return fdopen(handle, "rb");
  if (handle >= 0) close(handle), errno = ESPIPE;
  return NULL;
}

static enum sl_status read_file(const char *path, char **text, size_t *length) {
  enum sl_status status = SL_OK;
  const bool piped = sl_json_is_piped(path);
  size_t capacity = 0, n;
  *text = NULL;
  *length = 0;
  FILE *file = open_file(path);
  if (file == NULL && errno == ESPIPE)
    return sl_fail(SL_ERR_INPUT, "%s: is a device; expected a JSON file, or a pipe", path);
  if (file == NULL)
    return sl_fail(SL_ERR_INPUT, "%s: cannot be opened: %s; expected a JSON file", path, strerror(errno));
  do {
    SL_GO(sl_grow(text, &capacity, *length + 4096, 1));
    n = fread(*text + *length, 1, capacity - *length, file);
    *length += n;
    if (*length > SL_MAX_TEXT)
      SL_GO(sl_fail(SL_ERR_INPUT, "%s: has more than %lld bytes; expected a JSON file of at most that", path,
                    (long long)SL_MAX_TEXT));
  } while (n > 0);
  if (ferror(file)) SL_GO(sl_fail(SL_ERR_INPUT, "%s: cannot be read: %s; expected a JSON file", path, strerror(errno)));
  if (piped && *length == 0 && !is_standard(path))
    SL_GO(sl_fail(SL_ERR_INPUT, "%s: is a pipe that nothing comes from; expected JSON", path));
  if (piped) SL_GO(sl_piped_keep(path, *text, *length));
done:
  fclose(file);
  return status;
}

static enum sl_status parse(struct sl_json *doc, const char *name, const char *text, size_t length, bool plain) {
  memset(doc, 0, sizeof *doc);
  doc->name = strdup(name);
  if (doc->name == NULL) return sl_fail(SL_ERR_MEMORY, "out of memory in %s", name);
  const enum sl_status status = sl_json_scan(doc, text, length, plain);
  if (status != SL_OK) sl_json_free(doc);
  return status;
}

static enum sl_status load(struct sl_json *doc, const char *path, bool plain) {
  char *text = NULL;
  size_t length;
  memset(doc, 0, sizeof *doc);
  const char *kept = sl_piped_text(path, &length);
  if (kept != NULL) return parse(doc, path, kept, length, plain);
  enum sl_status status = read_file(path, &text, &length);
  if (status == SL_OK) status = parse(doc, path, text, length, plain);
  free(text);
  return status;
}

enum sl_status sl_json_keep(const char *path) {
  char *text = NULL;
  size_t length;
  if (!sl_json_is_piped(path) || sl_piped_text(path, &length) != NULL) return SL_OK;
  const enum sl_status status = read_file(path, &text, &length);
  free(text);
  return status;
}

bool sl_json_is_text(const char *spec) {
  return spec[strspn(spec, " \t\r\n")] == '{';
}

enum sl_status sl_json_load(struct sl_json *doc, const char *path) {
  return load(doc, path, true);
}

enum sl_status sl_json_parse(struct sl_json *doc, const char *name, const char *text, size_t length) {
  return parse(doc, name, text, length, true);
}

enum sl_status sl_json_open(struct sl_json *doc, const char *name, const char *spec) {
  return sl_json_is_text(spec) ? parse(doc, name, spec, strlen(spec), true) : load(doc, spec, true);
}

enum sl_status sl_hjson_load(struct sl_json *doc, const char *path) {
  return load(doc, path, false);
}

enum sl_status sl_hjson_parse(struct sl_json *doc, const char *name, const char *text, size_t length) {
  return parse(doc, name, text, length, false);
}

enum sl_status sl_hjson_open(struct sl_json *doc, const char *name, const char *spec) {
  return sl_json_is_text(spec) ? parse(doc, name, spec, strlen(spec), false) : load(doc, spec, false);
}

enum sl_status sl_json_parse_made(struct sl_json *doc, const char *name, const char *text) {
  SL_TRY(sl_json_parse(doc, name, text, strlen(text)));
  doc->place_count = 0;
  return SL_OK;
}

void sl_json_free(struct sl_json *doc) {
  json_decref(doc->root);
  free(doc->name);
  free(doc->places);
  free(doc->paths);
  json_decref(doc->words);
  memset(doc, 0, sizeof *doc);
}

void sl_json_set_by(struct sl_json *doc, const char *path, const char *word) {
  if (doc->words == NULL) doc->words = json_object();
  json_object_set_new(doc->words, path, json_string(word));
}

void sl_json_name(const struct sl_json *doc, const char *path, char *out, size_t size) {
  char where[1024];
  const char *word = json_string_value(json_object_get(doc->words, path));
  sl_json_where(doc, path, where, sizeof where);
  if (word != NULL)
    snprintf(out, size, "%s", word);
  else
    snprintf(out, size, "%s%s%s", where, path[0] != '\0' ? ": " : "", path);
}

enum sl_status sl_json_fail(const struct sl_json *doc, const char *path, const char *format, ...) {
  char name[1600], text[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  sl_json_name(doc, path, name, sizeof name);
  return sl_fail(SL_ERR_INPUT, "%s: %s", name, text);
}

enum sl_status sl_json_print(const json_t *root, FILE *out) {
  char *text = sl_json_text(root, JSON_INDENT(2));
  if (text == NULL) return sl_fail(SL_ERR_MEMORY, "out of memory: a result");
  for (const char *at = text; *at != '\0';) {
    struct sl_printable_piece piece = {"\n"};
    at += *at == '\n' ? 1 : sl_printable_one(at, &piece);
    fputs(piece.text, out);
  }
  free(text);
  return fputc('\n', out) != EOF && !ferror(out) ? SL_OK : sl_fail(SL_ERR_IO, "the output: %s", strerror(errno));
}

enum sl_status sl_json_save(const json_t *root, const char *path) {
  struct sl_new_file file;
  SL_TRY(sl_new_file_open(&file, path));
  char *text = sl_json_text(root, JSON_INDENT(2));
  const bool written = text != NULL && fputs(text, file.stream) != EOF && fputc('\n', file.stream) != EOF;
  free(text);
  if (written) return sl_new_file_finish(&file);
  sl_new_file_discard(&file);
  return sl_fail(SL_ERR_IO, "%s: cannot be written: %s", path, strerror(errno));
}
