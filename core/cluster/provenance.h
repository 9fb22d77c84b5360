/* What a cluster.json says beside its numbers: "<key>_source" (text: a data sheet, a fit, a guess) and "<key>_stderr" (a
 * number >= 0 in the unit of the key). All of a file are kept in one flat JSON object, by their full key path:
 *   {"device.memory_GiB_source": "data sheet", "links[0].latency_us_stderr": 0.3} */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum sl_annotation { SL_ANNOTATION_NONE, SL_ANNOTATION_SOURCE, SL_ANNOTATION_STDERR };

/* What `key` is, by its ending; *stem: the length of the key that it stands beside (of `key` itself where NONE). */
enum sl_annotation sl_annotation_kind(const char *key, size_t *stem);
/* The source of the number at `path` ("device.memory_GiB"); NULL where there is none. */
const char *sl_annotation_source(const json_t *annotations, const char *path);
/* The standard error of the number at `path`, in the unit of its key; 0 where none is known. */
double sl_annotation_stderr(const json_t *annotations, const char *path);
/* The number at `path` comes from `source` with standard error `error` (below 0 or NAN: none is known), in place of what
 * was said of it before. */
void sl_annotation_set(json_t *annotations, const char *path, const char *source, double error);
/* The same of a number that has no source yet; its standard error stays. */
void sl_annotation_default(json_t *annotations, const char *path, const char *source);
/* All numbers that have a source now have this one, and no standard error. */
void sl_annotation_set_all(json_t *annotations, const char *source);
/* A new object: that of key path `path` ("" at the top), each key followed by its annotations. Takes `object`;
 * `annotations` may be NULL. */
json_t *sl_annotation_join(const json_t *annotations, const char *path, json_t *object);
