/* See megatron_account.h. */
#include "core/interop/megatron_account.h"

#include "core/base/listing.h"
#include "core/base/nearest.h"
#include "core/base/status.h"
#include "core/interop/megatron_names.h"
#include "core/interop/megatron_refused.h"
#include "core/interop/megatron_rows.h"
#include "core/interop/unsaid.h"

#include <stdlib.h>
#include <string.h>

/* ---- names ---- */

struct names {
  const struct sl_arguments *arguments;
  const char **list;
  size_t count, capacity;
};

static enum sl_status add(struct names *n, const char *name) {
  SL_TRY(sl_grow(&n->list, &n->capacity, n->count + 1, sizeof *n->list));
  n->list[n->count++] = name;
  return SL_OK;
}

static enum sl_status collect(struct names *asked, struct names *others) {
  const char *name;
  json_t *value;
  json_object_foreach(asked->arguments->asked, name, value) SL_TRY(add(asked, name));
  for (const char *const *beside = sl_megatron_beside; *beside != NULL; beside++) SL_TRY(add(others, *beside));
  for (const struct sl_megatron_refusal *r = sl_megatron_refused; r->name != NULL; r++) SL_TRY(add(others, r->name));
  return SL_OK;
}

static enum sl_status check_name(const struct sl_argument_given *g, const struct names *asked,
                                 const struct names *others, bool strict) {
  char where[1024];
  if (g->used || sl_interop_among(sl_megatron_beside, g->name) || sl_megatron_knows(g->name)) return SL_OK;
  const char *near = sl_nearest(g->name, asked->list, asked->count);
  if (near == NULL) near = sl_misspelt(g->name, others->list, others->count);
  if (near != NULL && sl_arguments_find(asked->arguments, near) != NULL) near = NULL; /* given, too */
  if (near == NULL && !strict) return SL_OK;
  sl_arguments_where(asked->arguments, g, where, sizeof where);
  return sl_fail(SL_ERR_INPUT, "%s: --%s: is no argument of Megatron-LM's%s%s%s", where, g->name,
                 near != NULL ? "; did you mean --" : "", near != NULL ? near : "", near != NULL ? "?" : "");
}

enum sl_status sl_megatron_check_names(const struct sl_arguments *a, bool strict) {
  struct names asked = {.arguments = a}, others = {.arguments = a};
  enum sl_status status = collect(&asked, &others);
  for (size_t i = 0; i < a->count && status == SL_OK; i++) status = check_name(&a->list[i], &asked, &others, strict);
  free(asked.list);
  free(others.list);
  return status;
}

/* ---- warnings ---- */

void sl_megatron_say_doubts(const struct sl_arguments *a) {
  struct sl_listing doubts = {.separator = "; "};
  for (size_t i = 0; i < a->count; i++) {
    const struct sl_argument_given *g = &a->list[i];
    bool is_new = g->doubt != NULL && g->used && !sl_interop_among(sl_megatron_beside, g->name);
    for (size_t k = 0; k < i && is_new; k++) is_new = a->list[k].doubt != g->doubt || !a->list[k].used;
    if (is_new) sl_listing_add(&doubts, g->doubt);
  }
  const char *text = sl_listing_end(&doubts);
  if (text != NULL) sl_warn("%.256s: a condition decides, so the last value is taken: %s", a->name, text);
}

/* Whole families of real arguments: paths, intervals, logs, schedules of learning rates. */
static bool is_beside(const char *name) {
  static const char *const families[] = {"log-",
                                         "save-",
                                         "load-",
                                         "ckpt-",
                                         "dist-ckpt-",
                                         "async-ckpt-",
                                         "non-persistent-",
                                         "wandb-",
                                         "tensorboard-",
                                         "one-logger-",
                                         "profile-",
                                         "pytorch-profiler-",
                                         "memory-snapshot-",
                                         "otel-",
                                         "tokenizer-",
                                         "tiktoken-",
                                         "null-tokenizer-",
                                         "inprocess-",
                                         "straggler-",
                                         "flight-recorder-",
                                         "error-injection-",
                                         "lr-",
                                         "data-",
                                         "object-storage-"};
  if (sl_interop_among(sl_megatron_beside, name)) return true;
  for (size_t i = 0; i < sizeof families / sizeof *families; i++)
    if (strncmp(name, families[i], strlen(families[i])) == 0) return sl_megatron_knows(name);
  return false;
}

void sl_megatron_say_rest(const struct sl_arguments *a) {
  struct sl_listing rest = {.separator = " "};
  for (size_t i = 0; i < a->count; i++) {
    char name[160];
    if (a->list[i].used || is_beside(a->list[i].name)) continue;
    snprintf(name, sizeof name, "--%.150s", a->list[i].name);
    sl_listing_add(&rest, name);
  }
  const char *text = sl_listing_end(&rest);
  if (text != NULL) sl_warn("%.256s: no counterpart, so without effect: %s", a->name, text);
}
