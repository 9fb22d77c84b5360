/* JSON documents in which the line and column of every key path are known.
 *
 * ds_config.json is read as DeepSpeed reads it (hjson), other files as JSON, an object or a list, with comments and
 * trailing commas. Of hjson: //, # and slash-star comments, trailing commas, omitted commas, keys and strings in single
 * quotes or without quotes (such a string extends to the end of its line, commas included), strings over several lines
 * in ''', a root object without braces. Not adopted from hjson: a file with nothing but comments (an empty object
 * there), numbers too large for a double or int64, control bytes and half surrogates in strings. A duplicate key is an
 * error, as in DeepSpeed.
 *
 * jansson decodes the scalars and holds the tree; a small scanner (json_scan.c, json_text.c) walks the text and keeps
 * the place of each key, so that an error found long after parsing can still name file, line and column. Lines and
 * columns count from 1; a column is a character (UTF-8), a tab is one column. */
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
  /* for keys that another word of the user's set, "--tp", that word: {"shardlab.tp": "--tp"}; owned, NULL: none */
  json_t *words;
};

/* Reads the file `path`, or the text `text` (called `name` in messages). A UTF-8 byte order mark at the start is
 * skipped; nesting deeper than 64 is refused. On failure nothing is allocated. Errors: SL_ERR_INPUT with
 * file:line:column and what was expected. */
enum sl_status sl_json_load(struct sl_json *doc, const char *path);
enum sl_status sl_json_parse(struct sl_json *doc, const char *name, const char *text, size_t length);
/* Whether the path is a pipe or means standard input: another process does not find there what this one has read. */
bool sl_json_is_piped(const char *path);
/* Reads and keeps (piped.h) what is at such a path, before children are forked that will load it. Errors as above. */
enum sl_status sl_json_keep(const char *path);
/* Reads `spec`: if it begins with '{' (after white space) it is the JSON itself, called `name` in messages, otherwise
 * the path of a file. Errors as above. */
enum sl_status sl_json_open(struct sl_json *doc, const char *name, const char *spec);
/* Parses a text that was made of what a user gave as `name`, which has no such lines and columns, so errors have
 * none. */
enum sl_status sl_json_parse_made(struct sl_json *doc, const char *name, const char *text);
/* The same of hjson. */
enum sl_status sl_hjson_load(struct sl_json *doc, const char *path);
enum sl_status sl_hjson_parse(struct sl_json *doc, const char *name, const char *text, size_t length);
enum sl_status sl_hjson_open(struct sl_json *doc, const char *name, const char *spec);
bool sl_json_is_text(const char *spec);
void sl_json_free(struct sl_json *doc);

/* Notes that `word` set the key `path`: messages about the key then begin with it, and not with a place in the file. */
void sl_json_set_by(struct sl_json *doc, const char *path, const char *word);
/* What a message about the key `path` begins with: "ds.json:4:12: zero_optimization.stage", or the word that set it. */
void sl_json_name(const struct sl_json *doc, const char *path, char *out, size_t size);
/* Fails with SL_ERR_INPUT at the place of the key `path` ("zero_optimization.stage", "layers[2]"):
 *   ds.json:4:12: zero_optimization.stage: is 7; expected 0, 1, 2 or 3
 *   --zero-stage: is 7; expected 0, 1, 2 or 3 */
enum sl_status sl_json_fail(const struct sl_json *doc, const char *path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Writes `root` and a newline to `out`, possibly a terminal: DEL and U+0080 to U+009F, which JSON does not escape,
 * become \u escapes too. Errors: SL_ERR_MEMORY; SL_ERR_IO. */
enum sl_status sl_json_print(const json_t *root, FILE *out);
/* Writes `root` to `path` through a temporary name and a rename; on failure no partial file remains. */
enum sl_status sl_json_save(const json_t *root, const char *path);
