/* Computes the rows of a comparison and their verdicts; see compare.h. core/record/compare_print.c prints them. */
#include "core/record/compare.h"

#include "core/base/json_write.h"
#include "core/record/record.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Tolerances of a process's memory. */
static const double process_relative = 0.02, process_bytes = 48e6;

struct sides {
  const json_t *predicted, *measured;
};

static struct sides of(struct sides s, const char *key) {
  return (struct sides){json_object_get(s.predicted, key), json_object_get(s.measured, key)};
}

static enum sl_verdict judge(const struct sl_comparison *c, const struct sl_compare_row *row) {
  const double off = fabs(row->predicted - row->measured);
  const bool both = row->has_predicted && row->has_measured;
  switch (row->rule) {
  case SL_COMPARE_EXACT:
    if (row->unit == SL_UNIT_TEXT)
      return both && strcmp(row->predicted_text, row->measured_text) == 0 ? SL_VERDICT_OK : SL_VERDICT_FAIL;
    return both && off == 0 ? SL_VERDICT_OK : SL_VERDICT_FAIL;
  case SL_COMPARE_PROCESS:
    if (!both || row->measured == 0) return SL_VERDICT_NONE; /* 0: unknown to the system */
    return off <= fmax(process_relative * row->measured, process_bytes) ? SL_VERDICT_OK : SL_VERDICT_FAIL;
  case SL_COMPARE_TIME:
    if (!both || c->functional || c->time_tolerance < 0) return SL_VERDICT_NONE;
    return off <= c->time_tolerance * row->measured ? SL_VERDICT_OK : SL_VERDICT_FAIL;
  case SL_COMPARE_SHOWN:
    break;
  }
  return SL_VERDICT_NONE;
}

static enum sl_status add(struct sl_comparison *c, const char *section, const char *name, enum sl_compare_unit unit,
                          enum sl_compare_rule rule, struct sides s) {
  SL_TRY(sl_grow(&c->rows, &c->capacity, c->count + 1, sizeof *c->rows));
  struct sl_compare_row *row = &c->rows[c->count++];
  memset(row, 0, sizeof *row);
  snprintf(row->section, sizeof row->section, "%s", section);
  snprintf(row->name, sizeof row->name, "%s", name);
  row->unit = unit;
  row->rule = rule;
  row->has_predicted = s.predicted != NULL && !json_is_null(s.predicted);
  row->has_measured = s.measured != NULL && !json_is_null(s.measured);
  row->predicted = json_number_value(s.predicted);
  row->measured = json_number_value(s.measured);
  if (json_is_string(s.predicted))
    snprintf(row->predicted_text, sizeof row->predicted_text, "%s", json_string_value(s.predicted));
  if (json_is_string(s.measured))
    snprintf(row->measured_text, sizeof row->measured_text, "%s", json_string_value(s.measured));
  if (row->predicted != row->measured)
    row->error = row->measured != 0 ? (row->predicted - row->measured) / row->measured : INFINITY;
  row->verdict = judge(c, row);
  c->failed += row->verdict == SL_VERDICT_FAIL;
  return SL_OK;
}

/* Adds one row for every key of either object, in the order of the predicted one; sub-objects are handled elsewhere. */
static enum sl_status add_object(struct sl_comparison *c, const char *section, const char *prefix,
                                 enum sl_compare_unit unit, enum sl_compare_rule rule, struct sides s) {
  const char *key;
  json_t *value;
  char name[64];
  json_object_foreach((json_t *)s.predicted, key, value) {
    if (json_is_object(value)) continue;
    snprintf(name, sizeof name, "%s%s", prefix, key);
    SL_TRY(add(c, section, name, unit, rule, of(s, key)));
  }
  json_object_foreach((json_t *)s.measured, key, value) {
    if (json_is_object(value) || json_object_get(s.predicted, key) != NULL) continue;
    snprintf(name, sizeof name, "%s%s", prefix, key);
    SL_TRY(add(c, section, name, unit, rule, of(s, key)));
  }
  return SL_OK;
}

static enum sl_status add_times(struct sl_comparison *c, struct sides root) {
  const struct sides breakdown = of(root, "breakdown_s");
  if (json_object_get(root.predicted, "compressed_step_time_s") == NULL) {
    SL_TRY(add(c, "time", "step", SL_UNIT_SECONDS, SL_COMPARE_TIME, of(root, "step_time_s")));
  } else {
    SL_TRY(add(c, "time", "warm-up step", SL_UNIT_SECONDS, SL_COMPARE_TIME, of(root, "warmup_step_time_s")));
    SL_TRY(add(c, "time", "compressed step", SL_UNIT_SECONDS, SL_COMPARE_TIME, of(root, "compressed_step_time_s")));
  }
  if (json_object_get(root.measured, "evaluation_time_s") != NULL)
    SL_TRY(add(c, "time", "evaluation", SL_UNIT_SECONDS, SL_COMPARE_SHOWN, of(root, "evaluation_time_s")));
  SL_TRY(add(c, "time", "load average", SL_UNIT_RATIO, SL_COMPARE_SHOWN, of(of(root, "environment"), "load_average")));
  SL_TRY(add(c, "time", "init", SL_UNIT_SECONDS, SL_COMPARE_SHOWN, of(root, "init_time_s")));
  SL_TRY(add(c, "time", "tokens per second", SL_UNIT_COUNT, SL_COMPARE_SHOWN, of(root, "tokens_per_s")));
  SL_TRY(add(c, "time", "mfu", SL_UNIT_RATIO, SL_COMPARE_SHOWN, of(root, "mfu")));
  SL_TRY(add_object(c, "last step", "", SL_UNIT_SECONDS, SL_COMPARE_SHOWN, breakdown));
  return add_object(c, "last step", "exposed ", SL_UNIT_SECONDS, SL_COMPARE_SHOWN, of(breakdown, "exposed"));
}

/* The entry of rank `rank` in a list of ranks. The search starts at index `near`, where it is if both lists have the
 * same order. */
static const json_t *find_rank(const json_t *list, json_int_t rank, size_t near) {
  const size_t n = json_array_size(list);
  for (size_t i = 0; i < n; i++) {
    const json_t *row = json_array_get(list, (near + i) % n);
    if (json_integer_value(json_object_get(row, "rank")) == rank) return row;
  }
  return NULL;
}

/* Adds one row for every measured rank: `key` of its entry in both lists. */
static enum sl_status add_ranks(struct sl_comparison *c, const char *section, enum sl_compare_unit unit,
                                enum sl_compare_rule rule, struct sides lists, const char *key) {
  const json_t *rank;
  size_t i;
  json_array_foreach(lists.measured, i, rank) {
    const json_int_t r = json_integer_value(json_object_get(rank, "rank"));
    const struct sides both = {find_rank(lists.predicted, r, i), rank};
    char name[64];
    snprintf(name, sizeof name, "rank %lld", (long long)r);
    SL_TRY(add(c, section, name, unit, rule, of(both, key)));
  }
  return SL_OK;
}

/* Compares checkpoints if both sides saved one. */
static enum sl_status add_checkpoint(struct sl_comparison *c, struct sides root) {
  static const char *const keys[][2] = {
      {"bytes", "bytes"}, {"largest of a rank", "rank_bytes"}, {"copy in host memory", "copy_bytes"}};
  const struct sides both = of(root, "checkpoint");
  if (both.predicted == NULL || both.measured == NULL) return SL_OK;
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    SL_TRY(add(c, "checkpoint", keys[i][0], SL_UNIT_BYTES, SL_COMPARE_EXACT, of(both, keys[i][1])));
  return add(c, "checkpoint", "steps wait", SL_UNIT_SECONDS, SL_COMPARE_SHOWN, of(both, "wait_s"));
}

static enum sl_status add_memory(struct sl_comparison *c, struct sides root) {
  const struct sides memory = of(root, "memory"), device = of(memory, "device");
  SL_TRY(add(c, "memory", "device peak", SL_UNIT_BYTES, SL_COMPARE_EXACT, of(device, "peak_bytes")));
  SL_TRY(add_object(c, "memory", "at peak: ", SL_UNIT_BYTES, SL_COMPARE_EXACT, of(device, "by_category")));
  SL_TRY(add_object(c, "memory", "phase ", SL_UNIT_BYTES, SL_COMPARE_EXACT, of(device, "by_phase")));
  SL_TRY(add(c, "memory", "host peak", SL_UNIT_BYTES, SL_COMPARE_EXACT, of(of(memory, "host"), "peak_bytes")));
  SL_TRY(add(c, "memory", "nvme peak", SL_UNIT_BYTES, SL_COMPARE_EXACT, of(of(memory, "nvme"), "peak_bytes")));
  SL_TRY(add(c, "memory", "process", SL_UNIT_BYTES, SL_COMPARE_PROCESS, of(device, "process_bytes")));
  SL_TRY(add_ranks(c, "arena by rank", SL_UNIT_BYTES, SL_COMPARE_EXACT, of(device, "ranks"), "peak_bytes"));
  return add_ranks(c, "process by rank", SL_UNIT_BYTES, SL_COMPARE_PROCESS, of(device, "ranks"), "process_bytes");
}

static const char *text_of(const json_t *row, const char *key) {
  const char *text = json_string_value(json_object_get(row, key));
  return text != NULL ? text : "";
}

static enum sl_status add_traffic_row(struct sl_comparison *c, const json_t *like, struct sides lists,
                                      struct sides both) {
  char name[64], column[64];
  const bool twins = sl_record_traffic_twins(lists.predicted, like) || sl_record_traffic_twins(lists.measured, like);
  const char *step = text_of(like, "step");
  const char *when = strcmp(step, "compressed") == 0 ? "after: " : *step != '\0' ? "eval: " : "";
  snprintf(name, sizeof name, "%s%.14s %.16s %.12s%s%.6s", when, text_of(like, "group"), text_of(like, "op"),
           text_of(like, "payload"), twins ? " " : "", twins ? text_of(like, "dtype") : "");
  snprintf(column, sizeof column, "%.50s calls", name);
  SL_TRY(add(c, "traffic", column, SL_UNIT_COUNT, SL_COMPARE_EXACT, of(both, "calls")));
  snprintf(column, sizeof column, "%.50s bytes", name);
  SL_TRY(add(c, "traffic", column, SL_UNIT_BYTES, SL_COMPARE_EXACT, of(both, "bytes")));
  snprintf(column, sizeof column, "%.50s wire", name);
  return add(c, "traffic", column, SL_UNIT_BYTES, SL_COMPARE_EXACT, of(both, "wire_bytes"));
}

static enum sl_status add_traffic(struct sl_comparison *c, struct sides root) {
  const struct sides lists = of(root, "traffic"), ranks = of(root, "ranks");
  const json_t *row;
  size_t i;
  json_array_foreach(lists.predicted, i, row)
      SL_TRY(add_traffic_row(c, row, lists, (struct sides){row, sl_record_traffic_row(lists.measured, row)}));
  json_array_foreach(lists.measured, i, row) if (sl_record_traffic_row(lists.predicted, row) == NULL)
      SL_TRY(add_traffic_row(c, row, lists, (struct sides){NULL, row}));
  SL_TRY(add_ranks(c, "order of calls", SL_UNIT_TEXT, SL_COMPARE_EXACT, ranks, "call_hash"));
  SL_TRY(add_ranks(c, "bytes by rank", SL_UNIT_BYTES, SL_COMPARE_EXACT, ranks, "bytes"));
  return add_ranks(c, "wire by rank", SL_UNIT_BYTES, SL_COMPARE_EXACT, ranks, "wire_bytes");
}

/* Losses exist on one side, or on both if two measurements are compared. How closely they must agree depends on the
 * experiment, so they are only shown. */
static enum sl_status add_losses(struct sl_comparison *c, struct sides root) {
  const struct sides losses = of(root, "losses");
  const size_t n = json_array_size(losses.measured), m = json_array_size(losses.predicted);
  if (n == 0) return SL_OK;
  struct sides first = {m > 0 ? json_array_get(losses.predicted, 0) : NULL, json_array_get(losses.measured, 0)};
  struct sides last = {m > 0 ? json_array_get(losses.predicted, m - 1) : NULL, json_array_get(losses.measured, n - 1)};
  SL_TRY(add(c, "loss", "first step", SL_UNIT_RATIO, SL_COMPARE_SHOWN, first));
  return add(c, "loss", "last step", SL_UNIT_RATIO, SL_COMPARE_SHOWN, last);
}

/* One rank of a plan that ran alone: its own memory, calls and compute were measured and are compared with the
 * prediction for that rank. Whatever needs its peers is still a prediction, and is shown without a second side. */
static enum sl_status add_alone(struct sl_comparison *c, struct sides root, json_int_t rank) {
  const struct sides ranks = of(root, "ranks"), device = of(of(root, "memory"), "device");
  const struct sides own = {find_rank(ranks.predicted, rank, 0), find_rank(ranks.measured, rank, 0)};
  const json_t *breakdown = json_object_get(root.predicted, "breakdown_s");
  SL_TRY(add(c, "measured alone", "compute", SL_UNIT_SECONDS, SL_COMPARE_TIME, of(own, "compute_s")));
  SL_TRY(add_ranks(c, "arena by rank", SL_UNIT_BYTES, SL_COMPARE_EXACT, of(device, "ranks"), "peak_bytes"));
  SL_TRY(add_ranks(c, "process by rank", SL_UNIT_BYTES, SL_COMPARE_PROCESS, of(device, "ranks"), "process_bytes"));
  SL_TRY(add_ranks(c, "order of calls", SL_UNIT_TEXT, SL_COMPARE_EXACT, ranks, "call_hash"));
  SL_TRY(add_ranks(c, "bytes by rank", SL_UNIT_BYTES, SL_COMPARE_EXACT, ranks, "bytes"));
  const struct {
    const char *name;
    const json_t *value;
  } rest[] = {{"step", json_object_get(root.predicted, "step_time_s")},
              {"bubble", json_object_get(breakdown, "bubble")},
              {"exposed communication", json_object_get(breakdown, "exposed_total")}};
  for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
    SL_TRY(add(c, "prediction only", rest[i].name, SL_UNIT_SECONDS, SL_COMPARE_SHOWN,
               (struct sides){rest[i].value, NULL}));
  return SL_OK;
}

/* Records are comparable if plan and model are the same. */
static enum sl_status check_same(const struct sl_json *predicted, const struct sl_json *measured, const char *section) {
  const json_t *a = json_object_get(predicted->root, section), *b = json_object_get(measured->root, section);
  const char *key;
  json_t *value;
  json_object_foreach((json_t *)a, key, value) {
    const json_t *other = json_object_get(b, key);
    if (strcmp(key, "rank_order") == 0) continue; /* left to check_same_order */
    if (other != NULL && json_equal(value, other)) continue;
    char path[96];
    snprintf(path, sizeof path, "%s.%s", section, key);
    char *x = sl_json_text(value, JSON_ENCODE_ANY | JSON_COMPACT);
    char *y = other != NULL ? sl_json_text(other, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
    const enum sl_status status = sl_json_fail(measured, path, "is %s, but %s in %s; expected records of the same %s",
                                               y != NULL ? y : "absent", x != NULL ? x : "?", predicted->name, section);
    free(x);
    free(y);
    return status;
  }
  return SL_OK;
}

/* Records without this key are from before there was a choice. */
static const char *rank_order_of(const struct sl_json *doc) {
  const char *order = text_of(json_object_get(doc->root, "plan"), "rank_order");
  return order[0] != '\0' ? order : "tp-dp-pp";
}

static enum sl_status check_same_order(const struct sl_json *predicted, const struct sl_json *measured) {
  const char *a = rank_order_of(predicted), *b = rank_order_of(measured);
  if (strcmp(a, b) == 0) return SL_OK;
  return sl_json_fail(measured, "plan.rank_order", "is %s, but %s in %s; expected records of the same plan", b, a,
                      predicted->name);
}

/* With 1-bit Adam steps up to freeze_step and behind it send other bytes, and a record has those of its last step. */
static enum sl_status check_same_steps(const struct sl_json *predicted, const struct sl_json *measured) {
  const bool a = json_object_get(predicted->root, "compressed_step_time_s") != NULL;
  const bool b = json_object_get(measured->root, "compressed_step_time_s") != NULL;
  const long long steps = (long long)json_integer_value(json_object_get(measured->root, "steps"));
  if (a == b) return SL_OK;
  return sl_json_fail(measured, "steps",
                      "is %lld, %s behind freeze_step, and %s has %s there; expected a prediction of as many steps: "
                      "predict --steps %lld",
                      steps, b ? "some of them" : "none of them", predicted->name, a ? "one" : "none", steps);
}

static void kind_of(char out[16], const struct sl_json *doc) {
  snprintf(out, 16, "%s", json_string_value(json_object_get(doc->root, "kind")));
}

enum sl_status sl_compare_records(struct sl_comparison *out, const struct sl_json *predicted,
                                  const struct sl_json *measured, double time_tolerance) {
  const struct sides root = {predicted->root, measured->root};
  enum sl_status status;
  *out = (struct sl_comparison){.time_tolerance = time_tolerance};
  SL_TRY(check_same(predicted, measured, "plan"));
  SL_TRY(check_same_order(predicted, measured));
  SL_TRY(check_same(predicted, measured, "model"));
  SL_TRY(check_same_steps(predicted, measured));
  kind_of(out->predicted_kind, predicted);
  kind_of(out->measured_kind, measured);
  out->functional = json_is_true(json_object_get(predicted->root, "functional")) ||
                    json_is_true(json_object_get(measured->root, "functional"));
  const json_t *alone = json_object_get(measured->root, "as_rank");
  if (alone != NULL) {
    SL_GO_FAIL(add_alone(out, root, json_integer_value(alone)));
    return SL_OK;
  }
  SL_GO_FAIL(add_times(out, root));
  SL_GO_FAIL(add_memory(out, root));
  SL_GO_FAIL(add_checkpoint(out, root));
  SL_GO_FAIL(add_traffic(out, root));
  SL_GO_FAIL(add_losses(out, root));
  return SL_OK;
fail:
  sl_comparison_free(out);
  return status;
}

enum sl_status sl_comparison_judge(const struct sl_comparison *comparison) {
  const struct sl_compare_row *row = comparison->rows;
  if (comparison->failed == 0) return SL_OK;
  while (row->verdict != SL_VERDICT_FAIL) row++;
  return sl_fail(SL_ERR_CHECK, "%d judged value%s out of tolerance%s '%s: %s'", comparison->failed,
                 comparison->failed == 1 ? " is" : "s are", comparison->failed == 1 ? ":" : "; the first is",
                 row->section, row->name);
}

void sl_comparison_free(struct sl_comparison *comparison) {
  free(comparison->rows);
  comparison->rows = NULL;
  comparison->count = comparison->capacity = 0;
}
