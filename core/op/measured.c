/* The table of measured costs in a cluster.json; see measured.h. */
#include "core/op/measured.h"

#include "core/base/nearest.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double distance(int a, int b) {
  return fabs(log((double)a / b));
}

/* How bad a substitute a type is: 0 for the same type, more for a worse one, -1 for one that is no substitute. */
static int type_distance(enum sl_dtype wanted, enum sl_dtype have) {
  const bool half = wanted == SL_BF16 || wanted == SL_F16;
  if (wanted == have) return 0;
  if (!half) return -1;
  if (have == SL_BF16 || have == SL_F16) return 1;
  return have == SL_F32 ? 2 : -1;
}

bool sl_op_cost_moves(int kind) {
  const unsigned moves = sl_op_moves((enum sl_op_kind)kind);
  return moves != 0 && !(moves & SL_MOVE_REDUCE);
}

/* Likewise for variants. */
static int variant_distance(enum sl_variant wanted, enum sl_variant have) {
  if (wanted == have) return 0;
  return have == sl_variant_base(wanted) ? 1 : have == SL_VARIANT_PLAIN ? 2 : -1;
}

/* Is `a` the better entry of two of this kind? */
static bool better(const struct sl_op_cost *a, const struct sl_op_cost *b, enum sl_variant variant, enum sl_dtype dtype,
                   int ranks) {
  const int type_a = type_distance(dtype, a->dtype), type_b = type_distance(dtype, b->dtype);
  if (type_a != type_b) return type_a < type_b;
  const int variant_a = variant_distance(variant, a->variant), variant_b = variant_distance(variant, b->variant);
  if (variant_a != variant_b) return variant_a < variant_b;
  const double far_a = distance(a->ranks, ranks), far_b = distance(b->ranks, ranks);
  return far_a < far_b || (far_a == far_b && a->ranks < b->ranks);
}

enum sl_status sl_op_costs_add(struct sl_op_costs *costs, const struct sl_op_cost *cost) {
  SL_TRY(sl_grow(&costs->items, &costs->capacity, (size_t)costs->count + 1, sizeof *costs->items));
  costs->items[costs->count++] = *cost;
  return SL_OK;
}

void sl_op_costs_free(struct sl_op_costs *costs) {
  free(costs->items);
  *costs = (struct sl_op_costs){0};
}

const struct sl_op_cost *sl_op_cost_find(const struct sl_op_costs *costs, int kind, enum sl_variant variant,
                                         enum sl_dtype dtype, int ranks) {
  const struct sl_op_cost *best = NULL;
  for (int i = 0; i < costs->count; i++) {
    const struct sl_op_cost *c = &costs->items[i];
    if (c->kind != kind || type_distance(dtype, c->dtype) < 0) continue;
    if (variant_distance(variant, c->variant) < 0) continue;
    if (best == NULL || better(c, best, variant, dtype, ranks)) best = c;
  }
  return best;
}

double sl_op_cost_seconds(const struct sl_op_cost *cost, const struct sl_work *work) {
  double sum = 0;
  for (int t = 0; t < SL_TERM_COUNT; t++) sum += cost->seconds[t] * work->terms[t];
  return sum;
}

double sl_op_cost_variance(const struct sl_op_cost *cost, const double seconds[SL_TERM_COUNT]) {
  const double misfit = cost->holdout > 0 ? cost->holdout : cost->scatter;
  double sum = 0, parameters = 0;
  for (int t = 0; t < SL_TERM_COUNT; t++) {
    sum += seconds[t];
    for (int u = 0; u < SL_TERM_COUNT; u++)
      parameters +=
          seconds[t] * seconds[u] * cost->correlation[t][u] * cost->relative_stderr[t] * cost->relative_stderr[u];
  }
  return fmax(misfit * misfit * sum * sum, parameters);
}

/* --- reading --- */

static enum sl_status read_kind(const struct sl_json_object *in, int *kind) {
  char text[32] = "";
  const char *names[SL_OP_COUNT];
  SL_TRY(sl_json_get_text(in, "op", text, sizeof text));
  for (int k = 0; k < SL_OP_COUNT; k++) {
    names[k] = sl_op_name((enum sl_op_kind)k);
    if (strcmp(text, names[k]) != 0) continue;
    *kind = k;
    return SL_OK;
  }
  const char *near = sl_nearest(text, names, SL_OP_COUNT);
  return sl_json_get_fail(in, "op", near != NULL ? "the name of an op, as \"%s\"" : "the name of an op", near);
}

static enum sl_status read_variant(const struct sl_json_object *in, enum sl_variant *variant) {
  char text[24] = "", expected[160] = "one of";
  SL_TRY(sl_json_get_text(in, "variant", text, sizeof text));
  for (int v = 0; v < SL_VARIANT_COUNT; v++) {
    const size_t used = strlen(expected);
    if (v > 0)
      snprintf(expected + used, sizeof expected - used, "%s %s", v > 1 ? "," : "", sl_variant_name((enum sl_variant)v));
    if (strcmp(text, sl_variant_name((enum sl_variant)v)) != 0) continue;
    *variant = (enum sl_variant)v;
    return SL_OK;
  }
  return sl_json_get_fail(in, "variant", "%s", expected);
}

static enum sl_status read_dtype(const struct sl_json_object *in, enum sl_dtype *dtype) {
  char text[16] = "fp32";
  SL_TRY(sl_json_get_text(in, "dtype", text, sizeof text));
  for (int t = 0; t < SL_DTYPE_COUNT; t++) {
    if (strcmp(text, sl_dtype_name((enum sl_dtype)t)) != 0) continue;
    *dtype = (enum sl_dtype)t;
    return SL_OK;
  }
  return sl_json_get_fail(in, "dtype", "fp32, bf16, fp16, fp64, int32, uint8, tf32 or fp8");
}

enum sl_status sl_op_cost_names(const struct sl_json_object *in, int *kind, enum sl_variant *variant,
                                enum sl_dtype *dtype) {
  SL_TRY(read_kind(in, kind));
  SL_TRY(read_variant(in, variant));
  return read_dtype(in, dtype);
}

static const char *const words[] = {"op",      "variant", "dtype",  "ranks",      "scatter",
                                    "holdout", "points",  "source", "correlation"};

static enum sl_status check_keys(const struct sl_json_object *in) {
  const char *known[sizeof words / sizeof *words + SL_TERM_COUNT], *key;
  json_t *value;
  size_t n = 0;
  for (; n < sizeof words / sizeof *words; n++) known[n] = words[n];
  for (int t = 0; t < SL_TERM_COUNT; t++) known[n++] = sl_term_key((enum sl_term)t);
  json_object_foreach((json_t *)(uintptr_t)in->object, key, value) {
    const size_t length = strlen(key);
    const bool error = length > 7 && strcmp(key + length - 7, "_stderr") == 0;
    const size_t stem = error ? length - 7 : length;
    size_t i = 0;
    while (i < n && (strlen(known[i]) != stem || strncmp(known[i], key, stem) != 0)) i++;
    if (i < n) continue;
    char path[256];
    const char *near = sl_nearest(key, known, n);
    sl_json_get_path(in, key, path, sizeof path);
    return sl_json_fail(in->doc, path, near != NULL ? "unknown key; did you mean \"%s\"?" : "unknown key", near);
  }
  return SL_OK;
}

/* A rate of 0 would be an infinite time: rates start above it. */
static enum sl_status read_terms(const struct sl_json_object *in, struct sl_op_cost *out) {
  int count = 0;
  for (int t = 0; t < SL_TERM_COUNT; t++) {
    char key[48];
    double value = 0, error = 0;
    if (sl_json_get(in, sl_term_key((enum sl_term)t)) == NULL) continue;
    SL_TRY(
        sl_json_get_real(in, sl_term_key((enum sl_term)t), sl_term_is_rate((enum sl_term)t) ? 1e-9 : 0, 1e12, &value));
    snprintf(key, sizeof key, "%s_stderr", sl_term_key((enum sl_term)t));
    SL_TRY(sl_json_get_real(in, key, 0, 1e15, &error));
    out->seconds[t] = sl_term_seconds((enum sl_term)t, value);
    out->relative_stderr[t] = value > 0 ? error / value : 0;
    count++;
  }
  return count > 0 ? SL_OK : sl_json_get_fail(in, sl_term_key(SL_TERM_LAUNCH), "a term of the cost, or another one");
}

static void pair_key(char *out, size_t size, int a, int b) {
  snprintf(out, size, "%s:%s", sl_term_key((enum sl_term)a), sl_term_key((enum sl_term)b));
}

static enum sl_status read_correlation(const struct sl_json_object *top, struct sl_op_cost *out) {
  char path[256], key[64];
  const json_t *object = sl_json_get(top, "correlation");
  for (int t = 0; t < SL_TERM_COUNT; t++) out->correlation[t][t] = 1;
  if (object == NULL) return SL_OK;
  if (!json_is_object(object)) return sl_json_get_fail(top, "correlation", "an object");
  sl_json_get_path(top, "correlation", path, sizeof path);
  const struct sl_json_object in = {top->doc, object, path};
  for (int a = 0; a < SL_TERM_COUNT; a++) {
    for (int b = a + 1; b < SL_TERM_COUNT; b++) {
      pair_key(key, sizeof key, a, b);
      SL_TRY(sl_json_get_real(&in, key, -1, 1, &out->correlation[a][b]));
      out->correlation[b][a] = out->correlation[a][b];
    }
  }
  return SL_OK;
}

static enum sl_status read_entry(const struct sl_json_object *in, struct sl_op_cost *out) {
  int64_t ranks = 1;
  if (!json_is_object(in->object)) return sl_json_fail(in->doc, in->path, "expected an object");
  memset(out, 0, sizeof *out);
  SL_TRY(check_keys(in));
  SL_TRY(sl_op_cost_names(in, &out->kind, &out->variant, &out->dtype));
  SL_TRY(sl_json_get_int(in, "ranks", 1, 1 << 20, &ranks));
  SL_TRY(sl_json_get_real(in, "scatter", 0, 10, &out->scatter));
  SL_TRY(sl_json_get_real(in, "holdout", 0, 10, &out->holdout));
  SL_TRY(sl_json_get_int(in, "points", 0, INT64_MAX, &out->points));
  SL_TRY(sl_json_get_text(in, "source", out->source, sizeof out->source));
  out->ranks = (int)ranks;
  SL_TRY(read_terms(in, out));
  return read_correlation(in, out);
}

enum sl_status sl_op_costs_read(struct sl_op_costs *costs, const struct sl_json *doc, const json_t *list) {
  enum sl_status status = SL_OK;
  *costs = (struct sl_op_costs){0};
  if (list == NULL || json_is_null(list)) return SL_OK;
  if (!json_is_array(list)) return sl_json_fail(doc, "op_costs", "expected a list of costs of ops");
  for (size_t i = 0; i < json_array_size(list); i++) {
    char path[32];
    struct sl_op_cost cost;
    snprintf(path, sizeof path, "op_costs[%zu]", i);
    const struct sl_json_object in = {doc, json_array_get(list, i), path};
    SL_GO(read_entry(&in, &cost));
    SL_GO(sl_op_costs_add(costs, &cost));
  }
done:
  if (status != SL_OK) sl_op_costs_free(costs);
  return status;
}

/* --- writing --- */

static json_t *correlation_json(const struct sl_op_cost *c) {
  json_t *object = json_object();
  char key[64];
  for (int a = 0; a < SL_TERM_COUNT; a++) {
    for (int b = a + 1; b < SL_TERM_COUNT; b++) {
      if (c->correlation[a][b] == 0) continue;
      pair_key(key, sizeof key, a, b);
      json_object_set_new(object, key, json_real(c->correlation[a][b]));
    }
  }
  return object;
}

static json_t *entry_json(const struct sl_op_cost *c) {
  json_t *object = json_pack("{s:s}", "op", sl_op_name((enum sl_op_kind)c->kind));
  if (c->variant != SL_VARIANT_PLAIN) json_object_set_new(object, "variant", json_string(sl_variant_name(c->variant)));
  json_object_set_new(object, "dtype", json_string(sl_dtype_name(c->dtype)));
  json_object_set_new(object, "ranks", json_integer(c->ranks));
  for (int t = 0; t < SL_TERM_COUNT; t++) {
    char key[48];
    if (!(c->seconds[t] > 0)) continue;
    const double value = sl_term_number((enum sl_term)t, c->seconds[t]);
    json_object_set_new(object, sl_term_key((enum sl_term)t), json_real(value));
    snprintf(key, sizeof key, "%s_stderr", sl_term_key((enum sl_term)t));
    json_object_set_new(object, key, json_real(value * c->relative_stderr[t]));
  }
  json_object_set_new(object, "scatter", json_real(c->scatter));
  if (c->holdout > 0) json_object_set_new(object, "holdout", json_real(c->holdout));
  json_t *correlation = correlation_json(c);
  if (json_object_size(correlation) > 0) json_object_set(object, "correlation", correlation);
  json_decref(correlation);
  if (c->points > 0) json_object_set_new(object, "points", json_integer(c->points));
  if (c->source[0] != '\0') json_object_set_new(object, "source", json_string(c->source));
  return object;
}

json_t *sl_op_costs_json(const struct sl_op_costs *costs) {
  json_t *list = json_array();
  for (int i = 0; i < costs->count; i++) json_array_append_new(list, entry_json(&costs->items[i]));
  return list;
}
