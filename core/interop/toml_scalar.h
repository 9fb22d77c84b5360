/* Keys and scalars of a TOML text; toml.c builds the tree of them. Internal to core/interop. */
#pragma once

#include "core/base/status.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* A place in the text; a line or a column is a byte's, counted from 1, but continuation bytes of UTF-8 count no column. */
struct sl_toml_cursor {
  const char *at, *end;
  int64_t line, column;
  const char *name; /* of the file, for messages */
};

/* Over one byte, and over a word that stands there; sl_toml_skip: over blanks and tabs, and with `lines` over line ends and comments too. */
void sl_toml_next(struct sl_toml_cursor *c);
bool sl_toml_at(const struct sl_toml_cursor *c, const char *word);
enum sl_status sl_toml_skip(struct sl_toml_cursor *c, bool lines);
/* Fail at the byte in hand: "expected WHAT, found 'x'". */
enum sl_status sl_toml_expected(const struct sl_toml_cursor *c, const char *what);

/* One part of a key, bare or quoted, and a scalar, each a new reference in *out. Errors: SL_ERR_INPUT with the place. */
enum sl_status sl_toml_key(struct sl_toml_cursor *c, json_t **out);
enum sl_status sl_toml_scalar(struct sl_toml_cursor *c, json_t **out);
