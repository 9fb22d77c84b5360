/* Builds a document from libyaml's events; see yaml.h. */
#include "core/interop/yaml.h"

#include "core/base/json_places.h"
#include "core/interop/yaml_scalar.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <yaml.h>

enum { MAX_DEPTH = 64, PATH_BYTES = 512 };

struct reader {
  yaml_parser_t parser;
  yaml_event_t event; /* the current one; next() deletes it */
  const char *name;
  struct sl_json_places places;
  char path[PATH_BYTES];
  int depth;
};

static enum sl_status read_value(struct reader *r, json_t **out);

static enum sl_status memory(const struct reader *r) {
  return sl_fail(SL_ERR_MEMORY, "out of memory in %s", r->name);
}

static enum sl_status fail_at(const struct reader *r, const yaml_mark_t *mark, const char *what) {
  return sl_fail(SL_ERR_INPUT, "%s:%zu:%zu: %s", r->name, mark->line + 1, mark->column + 1, what);
}

static enum sl_status fail_here(const struct reader *r, const char *what) {
  return fail_at(r, &r->event.start_mark, what);
}

static enum sl_status next(struct reader *r) {
  yaml_event_delete(&r->event);
  memset(&r->event, 0, sizeof r->event);
  if (yaml_parser_parse(&r->parser, &r->event)) return SL_OK;
  if (r->parser.error == YAML_MEMORY_ERROR) return memory(r);
  const char *problem = r->parser.problem != NULL ? r->parser.problem : "is no YAML";
  if (r->parser.error != YAML_READER_ERROR) return fail_at(r, &r->parser.problem_mark, problem);
  return sl_fail(SL_ERR_INPUT, "%s: byte %zu: %s", r->name, r->parser.problem_offset + 1, problem);
}

static enum sl_status lengthen_path(struct reader *r, const char *before, const char *text) {
  const size_t used = strlen(r->path);
  const int n = snprintf(r->path + used, sizeof r->path - used, "%s%s", used > 0 ? before : "", text);
  if (n < 0 || (size_t)n >= sizeof r->path - used) return fail_here(r, "a key's path has more than 511 bytes");
  return sl_json_places_add(&r->places, r->path, (int64_t)r->event.start_mark.line + 1,
                            (int64_t)r->event.start_mark.column + 1);
}

static enum sl_status add_pair(struct reader *r, json_t *mapping) {
  const char *key = (const char *)r->event.data.scalar.value;
  if (r->event.type != YAML_SCALAR_EVENT || strlen(key) != r->event.data.scalar.length)
    return fail_here(r, "expected a key that is plain text");
  if (json_object_get(mapping, key) != NULL) {
    char text[256];
    snprintf(text, sizeof text, "%.200s: duplicate key", key);
    return fail_here(r, text);
  }
  const size_t outer = strlen(r->path);
  char *copy = strdup(key);
  json_t *value = NULL;
  enum sl_status status = copy != NULL ? lengthen_path(r, ".", copy) : memory(r);
  if (status == SL_OK) status = next(r);
  if (status == SL_OK) status = read_value(r, &value);
  if (status == SL_OK && json_object_set_new(mapping, copy, value) != 0) status = memory(r);
  free(copy);
  if (status == SL_OK) r->path[outer] = '\0';
  return status;
}

static enum sl_status add_element(struct reader *r, json_t *sequence) {
  const size_t outer = strlen(r->path);
  char index[32];
  json_t *value = NULL;
  snprintf(index, sizeof index, "[%zu]", json_array_size(sequence));
  SL_TRY(lengthen_path(r, "", index));
  SL_TRY(read_value(r, &value));
  if (json_array_append_new(sequence, value) != 0) return memory(r);
  r->path[outer] = '\0';
  return SL_OK;
}

static enum sl_status read_holder(struct reader *r, json_t *holder, yaml_event_type_t end) {
  if (r->depth == MAX_DEPTH) return fail_here(r, "nested too deep; expected at most 64 levels");
  r->depth++;
  SL_TRY(next(r));
  while (r->event.type != end) {
    SL_TRY(json_is_object(holder) ? add_pair(r, holder) : add_element(r, holder));
    SL_TRY(next(r));
  }
  r->depth--;
  return SL_OK;
}

/* Refuses anchors and tags, which can change what a value means. */
static enum sl_status check_plain(const struct reader *r) {
  const yaml_event_t *e = &r->event;
  const bool scalar = e->type == YAML_SCALAR_EVENT, sequence = e->type == YAML_SEQUENCE_START_EVENT;
  const yaml_char_t *anchor = scalar     ? e->data.scalar.anchor
                              : sequence ? e->data.sequence_start.anchor
                                         : e->data.mapping_start.anchor;
  const yaml_char_t *tag = scalar     ? e->data.scalar.tag
                           : sequence ? e->data.sequence_start.tag
                                      : e->data.mapping_start.tag;
  if (anchor != NULL) return fail_here(r, "is an anchor; expected the value itself wherever it holds");
  if (tag != NULL) return fail_here(r, "is a tag; expected a value without one");
  return SL_OK;
}

static enum sl_status make_scalar(const struct reader *r, json_t **out) {
  const char *text = (const char *)r->event.data.scalar.value;
  const size_t length = r->event.data.scalar.length;
  const bool plain = r->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE && strlen(text) == length;
  *out = plain ? sl_yaml_plain(text) : json_stringn(text, length);
  return *out != NULL ? SL_OK : memory(r);
}

/* Reads the value that begins at the current event; sets *out, NULL on entry, to a new reference. */
static enum sl_status read_value(struct reader *r, json_t **out) {
  const yaml_event_type_t type = r->event.type;
  if (type == YAML_ALIAS_EVENT) return fail_here(r, "is an alias; expected the value itself");
  SL_TRY(check_plain(r));
  if (type == YAML_SCALAR_EVENT) return make_scalar(r, out);
  json_t *holder = type == YAML_MAPPING_START_EVENT ? json_object() : json_array();
  if (holder == NULL) return memory(r);
  const enum sl_status status =
      read_holder(r, holder, type == YAML_MAPPING_START_EVENT ? YAML_MAPPING_END_EVENT : YAML_SEQUENCE_END_EVENT);
  if (status == SL_OK)
    *out = holder;
  else
    json_decref(holder);
  return status;
}

static enum sl_status read_document(struct reader *r, json_t **root) {
  SL_TRY(next(r)); /* the stream's start */
  SL_TRY(next(r));
  if (r->event.type != YAML_DOCUMENT_START_EVENT) return sl_fail(SL_ERR_INPUT, "%s: is empty; expected keys", r->name);
  SL_TRY(next(r));
  SL_TRY(read_value(r, root));
  SL_TRY(next(r)); /* the document's end */
  SL_TRY(next(r));
  return r->event.type == YAML_STREAM_END_EVENT ? SL_OK : fail_here(r, "expected one document, found a second");
}

enum sl_status sl_yaml_parse(struct sl_json *doc, const char *name, const char *text, size_t length) {
  struct reader r = {.name = name, .places = {.doc = doc}};
  *doc = (struct sl_json){.name = strdup(name)};
  if (doc->name == NULL || !yaml_parser_initialize(&r.parser)) {
    sl_json_free(doc);
    return memory(&r);
  }
  yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, length);
  const enum sl_status status = read_document(&r, &doc->root);
  yaml_event_delete(&r.event);
  yaml_parser_delete(&r.parser);
  if (status != SL_OK) sl_json_free(doc);
  return status;
}
