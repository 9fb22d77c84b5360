/* The text of a JSON document with hjson's liberties, scalar by scalar; json_scan.c builds the tree of it, nobody else includes
 * this. What hjson takes beyond JSON: comments, strings in single quotes, ''' strings over several lines, text and keys without
 * quotes. Source: hjson 3.1.0, hjson/decoder.py, the reader that DeepSpeed uses. */
#pragma once

#include "core/base/json.h"

/* A place in the text. Every byte is consumed by sl_json_next, so line and column are always those of *at. */
struct sl_json_cursor {
  const char *at, *end;
  int64_t line, column;
  const char *name; /* of the file, for messages */
  char doubt
      [256]; /* what a reader of plain JSON would say of the first text without quotes that swallows brackets or a key
                         on its way to the end of its line; "" without such text. Said where the document then fails. */
};

void sl_json_next(struct sl_json_cursor *c);
bool sl_json_looking_at(const struct sl_json_cursor *c, const char *word);
/* White space and comments. Errors: a comment that is not closed. */
enum sl_status sl_json_skip_space(struct sl_json_cursor *c);
/* Fail at the byte in hand: "expected WHAT, found '}'". */
enum sl_status sl_json_expected(const struct sl_json_cursor *c, const char *what);

/* A scalar at the cursor into *out, a new reference; `path` is its key path, for messages. A key is a string, quoted or bare. */
enum sl_status sl_json_scalar(struct sl_json_cursor *c, const char *path, json_t **out);
enum sl_status sl_json_key(struct sl_json_cursor *c, const char *path, json_t **out);
