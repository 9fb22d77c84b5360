/* The scanner behind json.c; no other file includes this. */
#pragma once

#include "core/base/json.h"

/* Builds doc->root and the places from text[0..length); `plain`: JSON with comments and trailing commas, not hjson.
 * doc->name must be set; on failure the caller frees `doc`. */
enum sl_status sl_json_scan(struct sl_json *doc, const char *text, size_t length, bool plain);
