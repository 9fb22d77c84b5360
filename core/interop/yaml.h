/* Reads YAML with libyaml into a document that records the places of keys. */
#pragma once

#include "core/base/json.h"

/* Reads text[0..length), called `name` in messages: one document of mappings with plain keys, sequences and scalars. An
 * unquoted scalar has the value that PyYAML's safe_load gives it (YAML 1.1: yes, on, 0x10, 1_000 and ~ have their
 * meaning; 1e-5, which lacks a point, is text). Errors: SL_ERR_INPUT with line and column: invalid YAML, a duplicate
 * key, tags, anchors and aliases, a second document, nesting beyond 64 levels. On failure nothing is allocated. */
enum sl_status sl_yaml_parse(struct sl_json *doc, const char *name, const char *text, size_t length);
