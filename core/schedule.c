/* Schedules: builders by name, and the text form of actions; see schedule.h. */
#include "core/schedule.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char *const action_text[] = {
#define X(name, text) text,
    SL_ACTION_MAP(X)
#undef X
};

enum sl_status sl_schedule_append(struct sl_schedule *s, int rank, struct sl_action action) {
  SL_TRY(sl_grow(&s->actions[rank], &s->capacities[rank], s->counts[rank] + 1, sizeof action));
  s->actions[rank][s->counts[rank]++] = action;
  return SL_OK;
}

/* 1F1B of rank p of P: min(P - p - 1, m) forwards to warm up, then one forward and one backward in turn, then the
 * backwards that are left. With one rank: F0 B0 F1 B1 ... */
static enum sl_status build_1f1b(struct sl_schedule *s, int rank, int micro_batches) {
  int warm_up = s->ranks - rank - 1, forward = 0, backward = 0;
  if (warm_up > micro_batches) warm_up = micro_batches;
  while (backward < micro_batches) {
    if (forward < micro_batches && forward - backward <= warm_up) {
      SL_TRY(sl_schedule_append(s, rank, (struct sl_action){SL_ACTION_FORWARD, rank, forward++}));
    } else {
      SL_TRY(sl_schedule_append(s, rank, (struct sl_action){SL_ACTION_BACKWARD, rank, backward++}));
    }
  }
  return SL_OK;
}

/* GPipe: all forwards, then all backwards. */
static enum sl_status build_gpipe(struct sl_schedule *s, int rank, int micro_batches) {
  for (int m = 0; m < micro_batches; m++) {
    SL_TRY(sl_schedule_append(s, rank, (struct sl_action){SL_ACTION_FORWARD, rank, m}));
  }
  for (int m = 0; m < micro_batches; m++) {
    SL_TRY(sl_schedule_append(s, rank, (struct sl_action){SL_ACTION_BACKWARD, rank, m}));
  }
  return SL_OK;
}

static const struct {
  const char *name;
  enum sl_status (*build)(struct sl_schedule *s, int rank, int micro_batches);
} builders[] = {{"1f1b", build_1f1b}, {"gpipe", build_gpipe}};

enum sl_status sl_schedule_build(struct sl_schedule *s, const struct sl_plan *plan) {
  enum sl_status status;
  const char *name = plan->config->sl.schedule;
  size_t i = 0;
  *s = (struct sl_schedule){.ranks = plan->pp};
  while (i < sizeof builders / sizeof *builders && strcmp(builders[i].name, name) != 0) i++;
  if (i == sizeof builders / sizeof *builders) {
    return sl_json_fail(&plan->config->doc, "shardlab.schedule", "is \"%s\"; expected 1f1b or gpipe", name);
  }
  SL_GO(sl_calloc(&s->actions, (size_t)s->ranks, sizeof *s->actions));
  SL_GO(sl_calloc(&s->counts, (size_t)s->ranks, sizeof *s->counts));
  SL_GO(sl_calloc(&s->capacities, (size_t)s->ranks, sizeof *s->capacities));
  for (int rank = 0; rank < s->ranks; rank++) {
    SL_GO(builders[i].build(s, rank, (int)plan->n_micro));
    SL_GO(sl_schedule_append(s, rank, (struct sl_action){SL_ACTION_STEP, rank, -1}));
  }
  return SL_OK;
fail:
  sl_schedule_free(s);
  return status;
}

void sl_schedule_free(struct sl_schedule *s) {
  for (int i = 0; s->actions != NULL && i < s->ranks; i++) free(s->actions[i]);
  free(s->actions);
  free(s->counts);
  free(s->capacities);
  *s = (struct sl_schedule){0};
}

void sl_action_print(char *out, size_t size, const struct sl_action *a) {
  if (a->micro_batch < 0) {
    snprintf(out, size, "%d%s", a->stage, action_text[a->kind]);
  } else {
    snprintf(out, size, "%d%s%d", a->stage, action_text[a->kind], a->micro_batch);
  }
}

/* The longest action name that `text` starts with, so that "SEND_F3" is not read as "S...". */
static int match_kind(const char *text, size_t *length) {
  int best = -1;
  *length = 0;
  for (int k = 0; k < SL_ACTION_COUNT; k++) {
    const size_t n = strlen(action_text[k]);
    if (n > *length && strncmp(text, action_text[k], n) == 0) best = k, *length = n;
  }
  return best;
}

enum sl_status sl_action_parse(struct sl_action *a, const char *text) {
  char *rest;
  size_t length;
  const long stage = isdigit((unsigned char)text[0]) ? strtol(text, &rest, 10) : -1;
  const int kind = stage < 0 || stage > INT16_MAX ? -1 : match_kind(rest, &length);
  if (kind >= 0) {
    *a = (struct sl_action){(enum sl_action_kind)kind, (int)stage, -1};
    rest += length;
    if (*rest == '\0') return SL_OK;
    const long micro_batch = isdigit((unsigned char)*rest) ? strtol(rest, &rest, 10) : -1;
    if (micro_batch >= 0 && micro_batch < INT32_MAX && *rest == '\0') {
      a->micro_batch = (int)micro_batch;
      return SL_OK;
    }
  }
  return sl_fail(SL_ERR_INPUT, "action \"%s\": expected <stage><OP><micro-batch>, such as 0F3 or 1SEND_F2", text);
}

void sl_schedule_print(const struct sl_schedule *s, FILE *out) {
  char text[32];
  for (int rank = 0; rank < s->ranks; rank++) {
    for (size_t i = 0; i < s->counts[rank]; i++) {
      sl_action_print(text, sizeof text, &s->actions[rank][i]);
      fprintf(out, "%s%s", i > 0 ? "," : "", text);
    }
    fputc('\n', out);
  }
}
