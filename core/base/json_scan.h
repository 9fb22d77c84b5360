/* The scanner behind json.c; nobody else includes this. */
#pragma once

#include "core/base/json.h"

/* Build doc->root and the places from text[0..length). doc->name is set; on failure the caller frees `doc`. */
enum sl_status sl_json_scan(struct sl_json *doc, const char *text, size_t length);
