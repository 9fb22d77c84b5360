/* Annotations of the numbers of a cluster.json: "<key>_source" (text: a data sheet, a fit, a guess) and "<key>_stderr"
 * (a number >= 0 in the unit of the key). All annotations of a file are kept in one flat JSON object, by full key path:
 *   {"device.memory_GiB_source": "data sheet", "links[0].latency_us_stderr": 0.3} */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum sl_annotation { SL_ANNOTATION_NONE, SL_ANNOTATION_SOURCE, SL_ANNOTATION_STDERR };

/* Which kind of annotation `key` is, by its ending; *stem: the length of the key that it annotates (of `key` itself for
 * NONE). */
enum sl_annotation sl_annotation_kind(const char *key, size_t *stem);
/* The source of the number at `path` ("device.memory_GiB"); NULL if there is none. */
const char *sl_annotation_source(const json_t *annotations, const char *path);
/* The standard error of the number at `path`, in the unit of its key; 0 if unknown. */
double sl_annotation_stderr(const json_t *annotations, const char *path);
/* Sets the source of the number at `path` and its standard error `error` (below 0 or NAN: unknown), replacing earlier
 * annotations. */
void sl_annotation_set(json_t *annotations, const char *path, const char *source, double error);
/* The same for a number that has no source yet; its standard error is kept. */
void sl_annotation_default(json_t *annotations, const char *path, const char *source);
/* Replaces the source of every number that has one, and removes the standard errors. */
void sl_annotation_set_all(json_t *annotations, const char *source);
/* A new object: `object` of key path `path` ("" at the top) with each key followed by its annotations. Takes ownership
 * of `object`; `annotations` may be NULL. */
json_t *sl_annotation_join(const json_t *annotations, const char *path, json_t *object);
