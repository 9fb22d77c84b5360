/* Counters; see trace_counters.h. Format: "Trace Event Format", phase C; a series for each argument. */
#include "core/run/trace_counters.h"

#include "core/op/wire.h"
#include "core/program/memory_report.h"
#include "core/run/traffic.h"

#include <string.h>

/* ---- links ---- */

/* Levels of the same name are one kind. */
static int level_of(const struct sl_cluster *cluster, const struct sl_link *link) {
  for (int i = 0; i < cluster->n_link; i++)
    if (strcmp(cluster->link[i].name, link->name) == 0) return i;
  return 0;
}

/* The slowest link between the first and the last of the ranks that an op connects. */
static const struct sl_link *link_of(const struct sl_plan *plan, const struct sl_op *op, int rank) {
  int64_t first = rank, last = rank;
  if (op->group == SL_GROUP_NONE) {
    struct sl_coord at = sl_plan_coord(plan, rank);
    at.pp = op->peer;
    last = sl_plan_rank(plan, at);
  } else {
    const struct sl_members m = sl_plan_group(plan, op->group, rank);
    first = m.first, last = sl_members_rank(&m, m.size - 1);
  }
  return first < last ? sl_cluster_link(plan->cluster, first, last - first, 2)
                      : sl_cluster_link(plan->cluster, last, first - last, 2);
}

static int kind_of_copy(enum sl_lane lane) {
  return lane == SL_LANE_H2D         ? SL_TRACE_LINK_H2D
         : lane == SL_LANE_D2H       ? SL_TRACE_LINK_D2H
         : lane == SL_LANE_NVME_READ ? SL_TRACE_LINK_NVME_READ
                                     : SL_TRACE_LINK_NVME_WRITE;
}

static int64_t sent_by(const struct sl_trace_slice *s) {
  const struct sl_slice *slices = sl_op_slices(s->program, s->op);
  if (sl_op_is_copy(s->op)) return sl_op_copy_bytes(s->op, slices);
  if (sl_op_class_of(s->op->kind) == SL_CLASS_P2P) return s->op->kind == SL_OP_SEND ? sl_op_comm_bytes(s->op) : 0;
  const struct sl_members m = sl_plan_group(s->trace->job->plan, s->op->group, s->rank);
  return sl_op_wire_bytes(s->op, slices, m.size, m.index);
}

/* A name from the cluster's file, which may contain anything, as part of a JSON string. */
static void plain(char *out, size_t size, const char *name) {
  size_t n = 0;
  for (; name[n] != '\0' && n + 1 < size; n++)
    out[n] = name[n] < ' ' || name[n] == '"' || name[n] == '\\' || name[n] == 127 ? '_' : name[n];
  out[n] = '\0';
}

static void tell_sent(const struct sl_trace_slice *s, const char *name, int kind, int64_t at_us) {
  char text[32];
  plain(text, sizeof text, name);
  if (s->of->sent_us[kind] > at_us) at_us = s->of->sent_us[kind]; /* lanes are observed one after the other */
  s->of->sent_us[kind] = at_us;
  fprintf(s->trace->file,
          "{\"ph\":\"C\",\"name\":\"sent over %s\",\"pid\":%d,\"ts\":%lld,\"args\":{\"bytes\":%lld}},\n", text,
          s->of->pid, (long long)at_us, (long long)s->of->sent_bytes[kind]);
}

void sl_trace_count_sent(const struct sl_trace_slice *s) {
  if (!sl_traffic_counts(s->op)) return;
  const int64_t bytes = sent_by(s);
  if (bytes == 0) return;
  const struct sl_plan *plan = s->trace->job->plan;
  const bool copy = sl_op_is_copy(s->op);
  const struct sl_link *link = copy ? NULL : link_of(plan, s->op, s->rank);
  const int kind = copy ? kind_of_copy(s->op->lane) : level_of(plan->cluster, link);
  const char *name = copy ? sl_lane_name(s->op->lane) : link->name;
  if (s->of->sent_bytes[kind] == 0) tell_sent(s, name, kind, s->begin_us);
  s->of->sent_bytes[kind] += bytes;
  tell_sent(s, name, kind, s->end_us);
}

/* ---- memory ---- */

/* Records when the op that has just ended began, for the samples that belong to it. */
static void note_begin(const struct sl_trace_slice *s, int space) {
  const struct sl_memory_report *r = &s->rank_class->memory[space];
  size_t low = 0, high = r->curve_count;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (r->curve[middle].issue < s->index)
      low = middle + 1;
    else
      high = middle;
  }
  if (low < r->curve_count && r->curve[low].issue == s->index) s->of->live_us[space][low] = s->begin_us;
}

/* Categories that are never used are left out. */
static void tell_live(const struct sl_trace_slice *s, int space, int64_t at_us, const int64_t live[SL_CATEGORY_COUNT]) {
  const struct sl_memory_report *r = &s->rank_class->memory[space];
  const char *separator = "";
  fprintf(s->trace->file, "{\"ph\":\"C\",\"name\":\"%s memory\",\"pid\":%d,\"ts\":%lld,\"args\":{",
          sl_space_name((enum sl_space)space), s->of->pid, (long long)at_us);
  for (int c = 0; c < SL_CATEGORY_COUNT; c++) {
    if (r->category_max[c] == 0) continue;
    fprintf(s->trace->file, "%s\"%s_bytes\":%lld", separator, sl_category_name((enum sl_category)c),
            (long long)live[c]);
    separator = ",";
  }
  fputs("}},\n", s->trace->file);
}

static void tell_persistent(const struct sl_trace_slice *s, int space) {
  int64_t live[SL_CATEGORY_COUNT] = {0};
  for (size_t i = 0; i < s->rank_class->buffer_count; i++) {
    const struct sl_buffer *b = &s->rank_class->buffers[i];
    if (b->persistent && (int)b->space == space) live[b->category] += b->slots * sl_aligned(b->bytes);
  }
  tell_live(s, space, s->of->end_us, live);
}

static void tell_curve(const struct sl_trace_slice *s, int space) {
  const struct sl_memory_report *r = &s->rank_class->memory[space];
  int64_t at_us = 0;
  for (size_t i = 0; i < r->curve_count; i++) {
    if (s->of->live_us[space][i] > at_us) at_us = s->of->live_us[space][i];
    tell_live(s, space, at_us, r->curve[i].live);
  }
}

void sl_trace_count_live(const struct sl_trace_slice *s) {
  const bool last = ++s->of->done == s->program->issue_count;
  for (int space = 0; space < SL_SPACE_COUNT; space++) {
    const struct sl_memory_report *r = &s->rank_class->memory[space];
    const bool curve = s->program->kind == SL_PROGRAM_STEP && r->curve_count > 0;
    if (curve && s->of->live_us[space] == NULL)
      s->trace->status = sl_calloc(&s->of->live_us[space], r->curve_count, sizeof(int64_t));
    if (s->trace->status != SL_OK) return;
    if (curve) note_begin(s, space);
    if (last && curve && r->live_peak_bytes > 0) tell_curve(s, space);
    if (last && r->live_peak_bytes > 0) tell_persistent(s, space);
  }
  if (last) s->of->done = 0;
}
