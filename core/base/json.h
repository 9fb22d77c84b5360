/* JSON with places: every key path knows its line and column.
 *
 * Files are read as DeepSpeed reads them (hjson): //, # and slash-star comments, trailing commas, commas left out, keys and
 * strings in single quotes or without quotes (such a string ends with its line, and holds what stands there: a comma too),
 * strings over several lines in ''', a root object without braces. Not taken over: a file without anything but comments
 * (hjson: an empty object), numbers too large for a double or int64, control bytes and half surrogates in strings.
 * A duplicate key is an error, as in DeepSpeed. jansson decodes the scalars and holds the tree; a small scanner
 * (json_scan.c, json_text.c) walks the text and keeps the place of each key, so that an error found long after parsing
 * still names file, line and column. Lines and columns count from 1; a column is a character (UTF-8), a tab is one column. */
#pragma once

#include "core/base/status.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct sl_json {
  json_t *root;                 /* owned */
  char *name;                   /* file name for messages, owned */
  struct sl_json_place *places; /* in file order, owned */
  size_t place_count;
  char *paths; /* the text of all paths, which places point into, owned */
};

/* Read the file `path` / the text `text` (called `name` in messages). A leading UTF-8 byte order mark is skipped;
 * nesting deeper than 64 is refused. On failure nothing is held. Errors: SL_ERR_INPUT with file:line:column and what
 * was expected. */
enum sl_status sl_json_load(struct sl_json *doc, const char *path);
enum sl_status sl_json_parse(struct sl_json *doc, const char *name, const char *text, size_t length);
/* Read `spec`, the JSON itself where it begins with '{' (white space may stand before it; called `name` in messages), else the file
 * of that path. Errors as above. */
enum sl_status sl_json_open(struct sl_json *doc, const char *name, const char *spec);
bool sl_json_is_text(const char *spec);
void sl_json_free(struct sl_json *doc);

/* Fail with SL_ERR_INPUT at the place of the key `path` ("zero_optimization.stage", "layers[2]"):
 *   ds.json:4:12: zero_optimization.stage: is 7; expected 0, 1, 2 or 3 */
enum sl_status sl_json_fail(const struct sl_json *doc, const char *path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Write `root` to `out`, a terminal perhaps, with a line's end: DEL and U+0080 to U+009F, which JSON leaves as they are, become
 * \u escapes too. Errors: SL_ERR_MEMORY; SL_ERR_IO. */
enum sl_status sl_json_print(const json_t *root, FILE *out);
/* Write `root` to `path` through a temporary name and a rename; nothing half-written remains on failure. */
enum sl_status sl_json_save(const json_t *root, const char *path);
