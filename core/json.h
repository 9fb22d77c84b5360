/* JSON with places: every key path knows its line and column.
 *
 * Files are read as DeepSpeed reads them (hjson): // and # and slash-star comments, trailing commas. A duplicate key is an error, as in
 * DeepSpeed. jansson does the parsing; a small tokenizer beside it keeps the place of each key, so that an error found
 * long after parsing still names file, line and column. */
#ifndef SL_CORE_JSON_H
#define SL_CORE_JSON_H

#include "core/status.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct sl_json {
  json_t *root;        /* owned */
  char *name;          /* file name for messages, owned */
  struct sl_json_place *places; /* sorted by path, owned */
  size_t place_count;
};

/* Read the file `path` / the text `text` (called `name` in messages). On failure nothing is held.
 * Errors: SL_ERR_INPUT with file:line:column and what was expected. */
enum sl_status sl_json_load(struct sl_json *doc, const char *path);
enum sl_status sl_json_parse(struct sl_json *doc, const char *name, const char *text, size_t length);
void sl_json_free(struct sl_json *doc);

/* Fail with SL_ERR_INPUT at the place of the key `path` ("zero_optimization.stage", "layers[2]"):
 *   ds.json:4:12: zero_optimization.stage: is 7; expected 0, 1, 2 or 3 */
enum sl_status sl_json_fail(const struct sl_json *doc, const char *path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* "file:line:column" of `path` into `out` ("file" alone where the path has no place). */
void sl_json_where(const struct sl_json *doc, const char *path, char *out, size_t size);

/* Write `root` to `path` through a temporary name and a rename; nothing half-written remains on failure. */
enum sl_status sl_json_save(const json_t *root, const char *path);

#endif
