/* Reads the text of a JSON document with hjson's extensions, scalar by scalar; json_scan.c builds the tree from it, no
 * other file includes this. Beyond JSON, hjson accepts comments, strings in single quotes, ''' strings over several
 * lines, and text and keys without quotes. Source: hjson 3.1.0, hjson/decoder.py, the reader that DeepSpeed uses. */
#pragma once

#include "core/base/json.h"

/* A position in the text. Every byte is consumed by sl_json_next, so line and column are always those of *at. */
struct sl_json_cursor {
  const char *at, *end;
  int64_t line, column;
  const char *name; /* of the file, for messages */
  bool plain;       /* JSON: of hjson's extensions only comments and trailing commas */
  /* the error that plain JSON would give for the first unquoted text that swallows brackets or a key up to the end of
   * its line; "" if there was none. It is reported if the document fails later. */
  char doubt[256];
};

void sl_json_next(struct sl_json_cursor *c);
bool sl_json_looking_at(const struct sl_json_cursor *c, const char *word);
/* Skips white space and comments. Errors: a comment that is not closed. */
enum sl_status sl_json_skip_space(struct sl_json_cursor *c);
/* Fails at the current byte: "expected WHAT, found '}'". */
enum sl_status sl_json_expected(const struct sl_json_cursor *c, const char *what);

/* Reads the scalar at the cursor into *out, a new reference; `path` is its key path, for messages. A key is a string,
 * with or without quotes. */
enum sl_status sl_json_scalar(struct sl_json_cursor *c, const char *path, json_t **out);
enum sl_status sl_json_key(struct sl_json_cursor *c, const char *path, json_t **out);
