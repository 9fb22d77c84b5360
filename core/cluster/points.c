/* Reading and writing measured points; see points.h. */
#include "core/cluster/points.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum sl_status sl_points_add(struct sl_points *points, const struct sl_point *point) {
  SL_TRY(sl_grow(&points->items, &points->capacity, points->count + 1, sizeof *points->items));
  points->items[points->count++] = *point;
  return SL_OK;
}

enum sl_status sl_points_add_step(struct sl_points *points, const struct sl_point_step *step) {
  SL_TRY(sl_grow(&points->steps, &points->step_capacity, points->step_count + 1, sizeof *points->steps));
  points->steps[points->step_count++] = *step;
  return SL_OK;
}

void sl_points_free(struct sl_points *points) {
  free(points->items);
  free(points->steps);
  json_decref(points->cluster);
  memset(points, 0, sizeof *points);
}

bool sl_point_alike(const struct sl_point *a, const struct sl_point *b) {
  return a->kind == b->kind && a->variant == b->variant && a->dtype == b->dtype && a->ranks == b->ranks &&
         a->parts == b->parts && a->bytes == b->bytes && memcmp(a->dim, b->dim, sizeof a->dim) == 0 &&
         strcmp(a->source, b->source) == 0;
}

struct sl_work sl_point_work(const struct sl_point *p) {
  return sl_work_of_shape((enum sl_op_kind)p->kind, p->variant, p->dtype, p->dim, p->parts, p->bytes);
}

/* --- reading --- */

static enum sl_status read_times(const struct sl_json_object *in, double *low, double *median, double *high,
                                 int *repeats) {
  int64_t count = 1;
  if (sl_json_get(in, "median_s") == NULL) return sl_json_get_fail(in, "median_s", "seconds above 0");
  SL_TRY(sl_json_get_real(in, "median_s", 1e-12, 1e6, median));
  *low = *high = *median;
  SL_TRY(sl_json_get_real(in, "low_s", 0, *median, low));
  SL_TRY(sl_json_get_real(in, "high_s", *median, 1e6, high));
  SL_TRY(sl_json_get_int(in, "repeats", 1, 1000000000, &count));
  *repeats = (int)count;
  return SL_OK;
}

static enum sl_status read_ranks(const struct sl_json_object *in, int *ranks) {
  int64_t value = 0;
  if (sl_json_get(in, "ranks") == NULL) return sl_json_get_fail(in, "ranks", "the ranks that ran at once");
  SL_TRY(sl_json_get_int(in, "ranks", 1, 1 << 20, &value));
  *ranks = (int)value;
  return SL_OK;
}

static enum sl_status read_shape(const struct sl_json_object *in, int64_t dim[SL_OP_DIMS]) {
  const json_t *list = sl_json_get(in, "shape");
  const size_t n = json_array_size(list);
  if (!json_is_array(list) || n > SL_OP_DIMS)
    return sl_json_get_fail(in, "shape", "a list of at most %d whole numbers", SL_OP_DIMS);
  for (size_t i = 0; i < n; i++) {
    const json_t *value = json_array_get(list, i);
    if (!json_is_integer(value) || json_integer_value(value) < 0 || json_integer_value(value) > 1000000000000)
      return sl_json_get_fail(in, "shape", "a list of at most %d whole numbers from 0 to 1e12", SL_OP_DIMS);
    dim[i] = json_integer_value(value);
  }
  return SL_OK;
}

static enum sl_status read_parts(const struct sl_json_object *in, const char *key, int *out) {
  int64_t value = *out;
  SL_TRY(sl_json_get_int(in, key, 0, 1 << 20, &value));
  *out = (int)value;
  return SL_OK;
}

static enum sl_status read_point(const struct sl_json_object *in, struct sl_point *p) {
  memset(p, 0, sizeof *p);
  p->parts = p->count = 1;
  if (!json_is_object(in->object)) return sl_json_fail(in->doc, in->path, "expected an object");
  SL_TRY(sl_op_cost_names(in, &p->kind, &p->variant, &p->dtype));
  SL_TRY(read_ranks(in, &p->ranks));
  SL_TRY(read_shape(in, p->dim));
  SL_TRY(read_parts(in, "parts", &p->parts));
  SL_TRY(read_parts(in, "count", &p->count));
  SL_TRY(sl_json_get_real(in, "bytes", 0, 1e15, &p->bytes));
  SL_TRY(sl_json_get_text(in, "source", p->source, sizeof p->source));
  return read_times(in, &p->low_s, &p->median_s, &p->high_s, &p->repeats);
}

static enum sl_status read_call(const struct sl_json_object *in, struct sl_point_call *call) {
  call->parts = call->count = 1;
  SL_TRY(sl_op_cost_names(in, &call->kind, &call->variant, &call->dtype));
  SL_TRY(read_parts(in, "parts", &call->parts));
  SL_TRY(read_parts(in, "count", &call->count));
  return sl_json_get_real(in, "bytes", 0, 1e15, &call->bytes);
}

static enum sl_status read_step(const struct sl_json_object *in, struct sl_point_step *s) {
  const json_t *calls = sl_json_get(in, "calls");
  memset(s, 0, sizeof *s);
  if (!json_is_object(in->object)) return sl_json_fail(in->doc, in->path, "expected an object");
  SL_TRY(sl_json_get_text(in, "name", s->name, sizeof s->name));
  SL_TRY(read_ranks(in, &s->ranks));
  SL_TRY(read_parts(in, "ops", &s->ops));
  SL_TRY(sl_json_get_real(in, "compute_s", 0, 1e6, &s->compute_s));
  if (json_array_size(calls) > SL_MAX_POINT_CALLS || (calls != NULL && !json_is_array(calls)))
    return sl_json_get_fail(in, "calls", "a list of at most %d calls", SL_MAX_POINT_CALLS);
  for (size_t i = 0; i < json_array_size(calls); i++) {
    char path[96];
    snprintf(path, sizeof path, "%s.calls[%zu]", in->path, i);
    const struct sl_json_object call = {in->doc, json_array_get(calls, i), path};
    SL_TRY(read_call(&call, &s->calls[s->call_count++]));
  }
  return read_times(in, &s->low_s, &s->median_s, &s->high_s, &s->repeats);
}

static enum sl_status read_list(struct sl_points *points, const struct sl_json *doc, const char *key, bool steps) {
  const struct sl_json_object top = {doc, doc->root, ""};
  const json_t *list = sl_json_get(&top, key);
  if (list == NULL && steps) return SL_OK;
  if (!json_is_array(list) || (!steps && json_array_size(list) == 0))
    return sl_json_get_fail(&top, key, "a list of measured points");
  for (size_t i = 0; i < json_array_size(list); i++) {
    char path[48];
    snprintf(path, sizeof path, "%s[%zu]", key, i);
    const struct sl_json_object in = {doc, json_array_get(list, i), path};
    struct sl_point point;
    struct sl_point_step step;
    SL_TRY(steps ? read_step(&in, &step) : read_point(&in, &point));
    SL_TRY(steps ? sl_points_add_step(points, &step) : sl_points_add(points, &point));
  }
  return SL_OK;
}

enum sl_status sl_points_read(struct sl_points *points, const struct sl_json *doc) {
  const struct sl_json_object top = {doc, doc->root, ""};
  int64_t schema = 0;
  if (!json_is_object(doc->root)) return sl_json_fail(doc, "", "expected a JSON object");
  SL_TRY(sl_json_get_int(&top, "schema", 0, 1000000, &schema));
  if (schema != 1) return sl_json_get_fail(&top, "schema", "1, the points of shardlab calibrate");
  SL_TRY(sl_json_get_text(&top, "machine", points->machine, sizeof points->machine));
  SL_TRY(sl_json_get_real(&top, "load", 0, 1e6, &points->load));
  const json_t *cluster = sl_json_get(&top, "cluster");
  if (cluster != NULL && !json_is_object(cluster)) return sl_json_get_fail(&top, "cluster", "an object");
  if (cluster != NULL && points->cluster == NULL) points->cluster = json_deep_copy(cluster);
  SL_TRY(read_list(points, doc, "points", false));
  return read_list(points, doc, "steps", true);
}

/* --- writing --- */

static json_t *names_json(int kind, enum sl_variant variant, enum sl_dtype dtype) {
  json_t *object = json_pack("{s:s}", "op", sl_op_name((enum sl_op_kind)kind));
  if (variant != SL_VARIANT_PLAIN) json_object_set_new(object, "variant", json_string(sl_variant_name(variant)));
  json_object_set_new(object, "dtype", json_string(sl_dtype_name(dtype)));
  return object;
}

static void put_times(json_t *object, double low, double median, double high, int repeats) {
  json_object_set_new(object, "median_s", json_real(median));
  json_object_set_new(object, "low_s", json_real(low));
  json_object_set_new(object, "high_s", json_real(high));
  json_object_set_new(object, "repeats", json_integer(repeats));
}

static json_t *point_json(const struct sl_point *p) {
  json_t *object = names_json(p->kind, p->variant, p->dtype), *shape = json_array();
  int n = SL_OP_DIMS;
  while (n > 0 && p->dim[n - 1] == 0) n--;
  for (int i = 0; i < n; i++) json_array_append_new(shape, json_integer(p->dim[i]));
  json_object_set_new(object, "ranks", json_integer(p->ranks));
  json_object_set_new(object, "shape", shape);
  json_object_set_new(object, "parts", json_integer(p->parts));
  json_object_set_new(object, "bytes", json_real(p->bytes));
  json_object_set_new(object, "source", json_string(p->source));
  json_object_set_new(object, "count", json_integer(p->count));
  put_times(object, p->low_s, p->median_s, p->high_s, p->repeats);
  return object;
}

static json_t *step_json(const struct sl_point_step *s) {
  json_t *object = json_object(), *calls = json_array();
  for (int i = 0; i < s->call_count; i++) {
    const struct sl_point_call *c = &s->calls[i];
    json_t *call = names_json(c->kind, c->variant, c->dtype);
    json_object_set_new(call, "parts", json_integer(c->parts));
    json_object_set_new(call, "bytes", json_real(c->bytes));
    json_object_set_new(call, "count", json_integer(c->count));
    json_array_append_new(calls, call);
  }
  json_object_set_new(object, "name", json_string(s->name));
  json_object_set_new(object, "ranks", json_integer(s->ranks));
  json_object_set_new(object, "ops", json_integer(s->ops));
  json_object_set_new(object, "compute_s", json_real(s->compute_s));
  json_object_set_new(object, "calls", calls);
  put_times(object, s->low_s, s->median_s, s->high_s, s->repeats);
  return object;
}

json_t *sl_points_json(const struct sl_points *points) {
  json_t *top = json_object(), *items = json_array(), *steps = json_array();
  for (size_t i = 0; i < points->count; i++) json_array_append_new(items, point_json(&points->items[i]));
  for (size_t i = 0; i < points->step_count; i++) json_array_append_new(steps, step_json(&points->steps[i]));
  json_object_set_new(top, "schema", json_integer(1));
  json_object_set_new(top, "machine", json_string(points->machine));
  json_object_set_new(top, "load", json_real(points->load));
  if (points->cluster != NULL) json_object_set(top, "cluster", points->cluster);
  json_object_set_new(top, "points", items);
  json_object_set_new(top, "steps", steps);
  return top;
}
