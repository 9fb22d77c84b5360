/* One process's part of the run record, and the exchange of all parts as JSON text; see record/part.h. */
#include "core/record/part.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Processes of the run's backend: 1 without exchange(). */
static int processes_of(const struct sl_run *run) {
  if (run->options.alone) return 1;
  return run->exec->exchange != NULL && run->local_count > 0 ? run->job->plan->world / run->local_count : 1;
}

static json_t *traffic_json(const struct sl_exec_report *report) {
  json_t *list = json_array();
  for (int i = 0; i < report->traffic_count; i++) {
    const struct sl_traffic *row = &report->traffic[i];
    json_t *item = json_object();
    const char *group = row->link != 0 ? sl_lane_name(row->link) : sl_group_name(row->group);
    json_object_set_new(item, "group", json_string(group));
    json_object_set_new(item, "op", json_string(sl_op_name(row->op)));
    json_object_set_new(item, "payload", json_string(sl_payload_name(row->payload)));
    json_object_set_new(item, "dtype", json_string(sl_dtype_name(row->dtype)));
    if (row->program == SL_PROGRAM_COMPRESSED) json_object_set_new(item, "step", json_string("compressed"));
    if (row->program == SL_PROGRAM_EVAL) json_object_set_new(item, "step", json_string("evaluation"));
    set_integer(item, "calls", row->calls);
    set_integer(item, "bytes", row->bytes);
    set_integer(item, "wire_bytes", row->wire_bytes);
    if (row->time_s > 0) {
      set_real(item, "time_s", row->time_s);
      set_real(item, "busbw_GBps", (double)row->wire_bytes / row->time_s * 1e-9);
    }
    if (row->algorithms[0] != '\0') json_object_set_new(item, "algorithms", json_string(row->algorithms));
    json_array_append_new(list, item);
  }
  return list;
}

static json_t *rank_json(const struct sl_run *run, int local) {
  const struct sl_exec_report *report = &run->reports[local];
  const struct sl_coord c = sl_plan_coord(run->job->plan, run->local_ranks[local]);
  json_t *object = json_object(), *arena = json_object();
  int64_t calls = 0, bytes = 0, wire_bytes = 0;
  char hash[24];
  for (int i = 0; i < report->traffic_count; i++) {
    if (report->traffic[i].link != 0) continue; /* no communication between ranks */
    if (report->traffic[i].program != run->results[run->steps - 1].program) continue;
    calls += report->traffic[i].calls;
    bytes += report->traffic[i].bytes;
    wire_bytes += report->traffic[i].wire_bytes;
  }
  set_integer(object, "rank", run->local_ranks[local]);
  set_integer(object, "pp", c.pp);
  set_integer(object, "dp", c.dp);
  set_integer(object, "cp", c.cp);
  set_integer(object, "tp", c.tp);
  set_integer(object, "calls", calls);
  set_integer(object, "bytes", bytes);
  set_integer(object, "wire_bytes", wire_bytes);
  snprintf(hash, sizeof hash, "%016llx", (unsigned long long)report->call_hash);
  json_object_set_new(object, "call_hash", json_string(hash));
  for (int space = 0; space < SL_SPACE_COUNT; space++)
    set_integer(arena, sl_space_name(space), report->arena_bytes[space]);
  json_object_set_new(object, "arena_bytes", arena);
  /* a predicted process has its arenas; what libraries and the MPI or CUDA context use is in a separate line */
  set_integer(object, "process_bytes",
              run->exec->measures ? report->process_bytes
                                  : report->arena_bytes[SL_SPACE_DEVICE] + report->arena_bytes[SL_SPACE_HOST]);
  set_integer(object, "context_bytes", report->context_bytes);
  json_object_set_new(object, "traffic", traffic_json(report));
  return object;
}

static void set_exposed(json_t *object, const struct sl_breakdown *b, enum sl_group group) {
  if (b->exposed_s[group] > 0) set_real(object, sl_group_name(group), b->exposed_s[group]);
}

static json_t *breakdown_json(const struct sl_breakdown *b, bool pipeline) {
  json_t *object = json_object(), *exposed = json_object();
  set_real(object, "step", b->step_s);
  set_real(object, "compute", b->compute_s);
  set_real(object, "exposed_total", b->exposed_all_s);
  set_real(object, "idle", b->idle_s);
  if (b->host_s > 0) set_real(object, "host", b->host_s);
  if (pipeline) set_real(object, "bubble", b->bubble_s);
  for (int i = 0; i < SL_CLASS_COUNT; i++)
    if (b->busy_s[i] > 0) set_real(object, sl_op_class_name(i), b->busy_s[i]);
  if (b->copies_s > 0) set_real(object, "host_link", b->copies_s);
  if (b->nvme_s > 0) set_real(object, "nvme", b->nvme_s);
  for (int group = SL_GROUP_NONE + 1; group < SL_GROUP_COUNT; group++) set_exposed(exposed, b, group);
  set_exposed(exposed, b, SL_GROUP_NONE);
  if (b->exposed_copies_s > 0) set_real(exposed, "host_link", b->exposed_copies_s);
  if (b->exposed_nvme_s > 0) set_real(exposed, "nvme", b->exposed_nvme_s);
  json_object_set_new(object, "exposed", exposed);
  return object;
}

static void steps_json(json_t *part, const struct sl_run *run) {
  json_t *times = json_array(), *losses = json_array(), *norms = json_array(), *rates = json_array();
  int64_t skipped = 0, with_loss = 0;
  for (int64_t i = 0; i < run->steps; i++) {
    const struct sl_step_result *r = &run->results[i];
    json_array_append_new(times, json_real(r->end_s - r->start_s));
    if (!r->has_loss) continue;
    with_loss++;
    skipped += r->skipped;
    /* JSON has no NaN: such a loss becomes null */
    json_array_append_new(losses, r->loss - r->loss == 0 ? json_real(r->loss) : json_null());
    json_array_append_new(norms, r->grad_norm - r->grad_norm == 0 ? json_real(r->grad_norm) : json_null());
    json_array_append_new(rates, json_real(r->lr));
  }
  json_object_set_new(part, "step_times_s", times);
  if (with_loss > 0) {
    json_object_set(part, "losses", losses);
    json_object_set(part, "grad_norms", norms);
    json_object_set(part, "learning_rates", rates);
    set_integer(part, "skipped_steps", skipped);
  }
  json_decref(losses);
  json_decref(norms);
  json_decref(rates);
}

/* Evaluations, each with the number of steps before it. */
static void evaluations_json(json_t *part, const struct sl_run *run) {
  if (run->eval_count == 0 || !run->evals[0].has_loss) return;
  json_t *losses = json_array(), *steps = json_array();
  for (int64_t i = 0; i < run->eval_count; i++) {
    const struct sl_eval_result *e = &run->evals[i];
    json_array_append_new(losses, e->loss - e->loss == 0 ? json_real(e->loss) : json_null());
    json_array_append_new(steps, json_integer(e->step));
  }
  json_object_set_new(part, "evaluation_losses", losses);
  json_object_set_new(part, "evaluation_steps", steps);
}

enum sl_status sl_record_part(const struct sl_run *run, const struct sl_timeline *timeline, json_t **out) {
  struct sl_breakdown breakdown;
  enum sl_status status;
  SL_TRY(sl_timeline_breakdown(timeline, sl_timeline_slowest(timeline), &breakdown));
  json_t *part = json_object(), *ranks = json_array();
  steps_json(part, run);
  evaluations_json(part, run);
  set_real(part, "init_time_s", run->init_s);
  json_object_set_new(part, "breakdown_s", breakdown_json(&breakdown, run->job->plan->pp > 1));
  for (int local = 0; local < run->local_count; local++) {
    double compute, bubble;
    json_t *rank = rank_json(run, local);
    json_array_append_new(ranks, rank);
    SL_GO_FAIL(sl_timeline_bubble(timeline, local, &compute, &bubble));
    set_real(rank, "compute_s", compute);
    if (run->job->plan->pp > 1) set_real(rank, "bubble_s", bubble);
  }
  json_object_set_new(part, "ranks", ranks);
  *out = part;
  return SL_OK;
fail:
  json_decref(part);
  json_decref(ranks);
  return status;
}

enum sl_status sl_record_gather(const struct sl_run *run, json_t *mine, json_t **all) {
  const int processes = processes_of(run);
  *all = json_array();
  if (processes == 1) {
    json_array_append_new(*all, mine);
    return SL_OK;
  }
  enum sl_status status;
  int64_t *sizes = NULL, size = 0;
  char *texts = NULL, *padded = NULL, *text = json_dumps(mine, JSON_COMPACT | JSON_REAL_PRECISION(17));
  json_decref(mine);
  if (text == NULL) SL_GO(sl_fail(SL_ERR_MEMORY, "out of memory: a part of the run record"));
  size = (int64_t)strlen(text) + 1;
  SL_GO(sl_calloc(&sizes, (size_t)processes, sizeof *sizes));
  SL_GO(run->exec->exchange(run->state, &size, sizeof size, sizes));
  const int64_t own = size;
  for (int i = 0; i < processes; i++) size = sizes[i] > size ? sizes[i] : size;
  SL_GO(sl_calloc(&padded, (size_t)size, 1));
  SL_GO(sl_calloc(&texts, (size_t)size, (size_t)processes));
  memcpy(padded, text, (size_t)own);
  SL_GO(run->exec->exchange(run->state, padded, (size_t)size, texts));
  for (int i = 0; i < processes; i++) {
    json_t *part = json_loadb(texts + i * size, (size_t)sizes[i] - 1, 0, NULL);
    if (part == NULL) SL_GO(sl_fail(SL_ERR_PEER, "process %d sent a broken part of the run record", i));
    json_array_append_new(*all, part);
  }
done:
  if (status != SL_OK) {
    json_decref(*all);
    *all = NULL;
  }
  free(sizes);
  free(text);
  free(texts);
  free(padded);
  return status;
}
