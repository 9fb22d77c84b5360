/* Reads keys and scalars of a TOML text; toml.c builds the tree. Internal to core/interop. */
#pragma once

#include "core/base/status.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* A position in the text. Lines and columns count bytes from 1, without UTF-8 continuation bytes. */
struct sl_toml_cursor {
  const char *at, *end;
  int64_t line, column;
  const char *name; /* of the file, for messages */
};

/* Advance by one byte, and over a given word; sl_toml_skip: over blanks and tabs and, with `lines`, over newlines and
 * comments too. */
void sl_toml_next(struct sl_toml_cursor *c);
bool sl_toml_at(const struct sl_toml_cursor *c, const char *word);
enum sl_status sl_toml_skip(struct sl_toml_cursor *c, bool lines);
/* Fails at the current byte: "expected WHAT, found 'x'". */
enum sl_status sl_toml_expected(const struct sl_toml_cursor *c, const char *what);

/* Read one part of a key, bare or quoted, and a scalar, each as a new reference in *out. Errors: SL_ERR_INPUT with the
 * place. */
enum sl_status sl_toml_key(struct sl_toml_cursor *c, json_t **out);
enum sl_status sl_toml_scalar(struct sl_toml_cursor *c, json_t **out);
