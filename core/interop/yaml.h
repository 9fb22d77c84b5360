/* YAML as a document whose keys know their places; the text is read by libyaml. */
#pragma once

#include "core/base/json.h"

/* Read text[0..length), called `name` in messages: one document, of mappings with plain keys, sequences and scalars. A scalar without quotes is
 * what PyYAML's safe_load makes of it (YAML 1.1: yes, on, 0x10, 1_000 and ~ have their meaning; 1e-5, which lacks a point, is a text). Errors:
 * SL_ERR_INPUT with line and column: what is no YAML, a key given twice, tags, anchors and aliases, a second document, nesting beyond 64
 * levels. On failure nothing is held. */
enum sl_status sl_yaml_parse(struct sl_json *doc, const char *name, const char *text, size_t length);
