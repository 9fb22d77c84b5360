/* Schedules by name; see action.h. builders.c makes the lists. */
#include "core/schedule/action.h"

#include "core/base/checked.h"
#include "core/base/limits.h"
#include "core/base/nearest.h"
#include "core/schedule/builders.h"

#include <string.h>

const char *sl_schedule_name(int i, const char **summary) {
  const struct sl_schedule_builder *b = sl_schedule_builder_at(i);
  if (b != NULL && summary != NULL) *summary = b->summary;
  return b != NULL ? b->name : NULL;
}

int sl_schedule_default_stages(const char *name) {
  const struct sl_schedule_builder *b = sl_schedule_builder_find(name);
  return b != NULL ? b->default_stages : 1;
}

bool sl_schedule_deals(const char *name, int stages, struct sl_schedule_stages *wanted) {
  const struct sl_schedule_builder *b = sl_schedule_builder_find(name);
  if (b == NULL || (stages >= b->min_stages && (b->max_stages == 0 || stages <= b->max_stages))) return true;
  snprintf(wanted->text, sizeof wanted->text, "%d%s", b->min_stages, b->max_stages > 0 ? "" : " or more");
  return false;
}

static enum sl_status unknown_name(const char *name) {
  const char *words[16];
  char list[256];
  size_t n = 0, used = 0;
  for (const char *word; n < 16 && (word = sl_schedule_name((int)n, NULL)) != NULL; n++) {
    words[n] = word;
    if (used < sizeof list) used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", n > 0 ? ", " : "", word);
  }
  const char *near = sl_nearest(name, words, n);
  return sl_fail(SL_ERR_INPUT, "schedule \"%s\": is unknown; expected one of %s, or a .csv file%s%s%s", name, list,
                 near != NULL ? "; did you mean " : "", near != NULL ? near : "", near != NULL ? "?" : "");
}

static enum sl_status check_numbers(const struct sl_schedule_builder *b, int ranks, int stages, int micro_batches) {
  if (ranks < 1 || ranks > SL_MAX_DEGREE)
    return sl_fail(SL_ERR_INPUT, "schedule %s: %d pipeline ranks; expected 1 to %lld", b->name, ranks,
                   (long long)SL_MAX_DEGREE);
  if (micro_batches < 1)
    return sl_fail(SL_ERR_INPUT, "schedule %s: %d micro-batches; expected 1 or more", b->name, micro_batches);
  struct sl_schedule_stages wanted;
  if (!sl_schedule_deals(b->name, stages, &wanted))
    return sl_fail(SL_ERR_INPUT, "schedule %s: %d stages a rank; expected %s", b->name, stages, wanted.text);
  const int64_t all = sl_product(ranks, stages);
  if (all > INT16_MAX)
    return sl_fail(SL_ERR_INPUT, "schedule %s: %d ranks x %d stages; expected at most %d stages", b->name, ranks,
                   stages, INT16_MAX);
  if (sl_product(all, micro_batches) > SL_MAX_ACTIONS)
    return sl_fail(SL_ERR_INPUT, "schedule %s: %lld stages x %d micro-batches; expected at most %lld in all", b->name,
                   (long long)all, micro_batches, (long long)SL_MAX_ACTIONS);
  const int rounds = micro_batches > ranks ? micro_batches / ranks : 1;
  if (b->rounds && micro_batches % rounds != 0)
    return sl_fail(SL_ERR_INPUT,
                   "schedule %s: %d micro-batches on %d ranks are dealt in %d rounds; expected a multiple of %d",
                   b->name, micro_batches, ranks, rounds, rounds);
  return SL_OK;
}

enum sl_status sl_schedule_generate(struct sl_schedule *s, const char *name, int ranks, int stages, int micro_batches) {
  enum sl_status status;
  const struct sl_schedule_builder *b = sl_schedule_builder_find(name);
  *s = (struct sl_schedule){0};
  if (b == NULL) return unknown_name(name);
  SL_TRY(check_numbers(b, ranks, stages, micro_batches));
  SL_TRY(sl_schedule_open(s, ranks, ranks * stages, micro_batches));
  for (int stage = 0; stage < s->stages; stage++)
    s->stage_rank[stage] = b->v_shape && stage >= ranks ? 2 * ranks - 1 - stage : stage % ranks;
  for (int rank = 0; rank < ranks; rank++) SL_GO_FAIL(b->build(s, rank));
  return SL_OK;
fail:
  sl_schedule_free(s);
  return status;
}

bool sl_schedule_is_file(const char *name) {
  const size_t n = strlen(name);
  return n > 4 && strcmp(name + n - 4, ".csv") == 0;
}

enum sl_status sl_schedule_open_named(struct sl_schedule *s, const char *name, int ranks, int stages,
                                      int micro_batches) {
  if (!sl_schedule_is_file(name)) {
    if (stages == 0) stages = sl_schedule_default_stages(name);
    return sl_schedule_generate(s, name, ranks, stages, micro_batches);
  }
  SL_TRY(sl_schedule_load(s, name));
  const int has[3] = {s->ranks, s->micro_batches, s->stages / s->ranks};
  if (has[0] == ranks && has[1] == micro_batches && (stages == 0 || has[2] == stages) && s->stages % s->ranks == 0)
    return SL_OK;
  sl_schedule_free(s);
  return sl_fail(
      SL_ERR_INPUT,
      "schedule %s: %d pipeline ranks, %d micro-batches, %d stages a rank; expected %d, %d and %d as the plan "
      "has",
      name, has[0], has[1], has[2], ranks, micro_batches, stages == 0 ? 1 : stages);
}
