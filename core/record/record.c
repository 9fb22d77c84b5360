/* Builds the run record from the parts of all processes; see record.h for the keys. */
#include "core/record/record.h"

#include "core/base/stats.h"
#include "core/plan/cut.h"
#include "core/plan/effective.h"
#include "core/program/memory_report.h"
#include "core/record/folded.h"
#include "core/record/part.h"
#include "core/record/verdict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int64_t integer_of(const json_t *object, const char *key) {
  return json_integer_value(json_object_get(object, key));
}

static int64_t arena_of(const json_t *rank, enum sl_space space) {
  return integer_of(json_object_get(rank, "arena_bytes"), sl_space_name(space));
}

json_t *sl_record_stage_layers(const struct sl_plan *plan) {
  json_t *list = json_array();
  for (int i = 0; i < plan->stage_count; i++) json_array_append_new(list, json_integer(plan->stages[i].layer_count));
  return list;
}

/* Where the embedding is whole, of the head. */
static int64_t padded_vocabulary(const struct sl_plan *plan) {
  const struct sl_model *m = plan->model;
  const struct sl_tensor *last = &m->tensors[m->tied_head ? 0 : sl_model_part(m, SL_PART_HEAD, 0)];
  return (sl_cut_is_whole(plan, last) ? 1 : plan->tp) * sl_cut_local_size(plan, last, 0);
}

static json_t *plan_json(const struct sl_plan *plan) {
  json_t *object =
      json_pack("{s:i, s:i, s:i, s:i, s:i, s:i, s:I, s:i, s:s, s:o, s:b, s:I, s:I, s:I, s:I, s:i, s:I}", "world",
                plan->world, "dp", plan->dp, "tp", plan->tp, "pp", plan->pp, "cp", plan->cp, "zero_stage",
                plan->strategy.zero_stage, "shard_size", (json_int_t)plan->shard, "virtual_stages",
                plan->stage_count > plan->pp ? plan->stage_count / plan->pp : 1, "schedule", plan->config->sl.schedule,
                "stages", sl_record_stage_layers(plan), "sequence_parallel", plan->sequence_parallel, "micro_batch",
                (json_int_t)plan->micro_batch, "micro_batches", (json_int_t)plan->n_micro, "global_batch",
                (json_int_t)plan->global_batch, "seq", (json_int_t)plan->seq, "threads", plan->threads, "parameters",
                (json_int_t)sl_model_numel(plan->model));
  if (plan->model->vocab_size > 0) set_integer(object, "padded_vocab_size", padded_vocabulary(plan));
  return object;
}

/* The type whose peak counts: that of the products, or fp32 on a CPU that multiplies 16-bit numbers in it. */
static enum sl_dtype peak_dtype(const struct sl_plan *plan) {
  const struct sl_device *device = &plan->cluster->device;
  const enum sl_dtype products = sl_config_product_dtype(plan->config);
  /* a CPU without 16-bit products multiplies in fp32: cost/share.c */
  return device->kind == SL_DEVICE_CPU && device->peak[products] == 0 ? SL_F32 : products;
}

double sl_record_peak_flops(const struct sl_plan *plan) {
  const struct sl_cluster *cluster = plan->cluster;
  const double peak = cluster->device.peak[peak_dtype(plan)];
  if (cluster->device.kind == SL_DEVICE_GPU) return peak * (double)plan->world;
  int64_t nodes = (plan->world + cluster->devices_per_node - 1) / cluster->devices_per_node;
  if (cluster->nodes > 0 && nodes > cluster->nodes) nodes = cluster->nodes;
  return peak * (double)nodes * cluster->device.cores;
}

/* Medians of the two kinds of steps of 1-bit Adam, if both were taken; a measurement's first step is left out. */
static enum sl_status put_kinds(json_t *record, const struct sl_run *run, const double *times) {
  double *own;
  if (!sl_program_compresses(run->job->plan->config)) return SL_OK;
  SL_TRY(sl_calloc(&own, (size_t)run->steps, sizeof *own));
  for (int compressed = 0; compressed < 2; compressed++) {
    size_t n = 0;
    for (int64_t s = run->steps > 1 && run->exec->measures ? 1 : 0; s < run->steps; s++)
      if ((run->results[s].program == SL_PROGRAM_COMPRESSED) == compressed) own[n++] = times[s];
    if (n == 0) continue;
    sl_stats_sort(own, n);
    set_real(record, compressed ? "compressed_step_time_s" : "warmup_step_time_s", sl_stats_median(own, n));
  }
  free(own);
  return SL_OK;
}

/* The 90 % interval of a normal distribution of ln(step time). */
static void put_interval(json_t *record, double median, double error) {
  const double factor = exp(1.645 * (error > 0 ? error : SL_STEP_ERROR_UNKNOWN));
  json_object_set_new(record, "step_time_calibrated", json_boolean(error > 0));
  set_real(record, "step_time_low_s", median / factor);
  set_real(record, "step_time_high_s", median * factor);
}

/* In every step the slowest process counts; the first step warms caches and is left out of the statistics. */
static enum sl_status put_times(json_t *record, const json_t *parts, const struct sl_record_input *input) {
  const struct sl_plan *plan = input->run->job->plan;
  const size_t steps = (size_t)input->run->steps;
  double *times = NULL;
  SL_TRY(sl_calloc(&times, steps, sizeof *times));
  json_t *list = json_array(), *part;
  size_t i;
  json_array_foreach(parts, i, part) {
    const json_t *own = json_object_get(part, "step_times_s");
    for (size_t s = 0; s < steps; s++) times[s] = fmax(times[s], json_real_value(json_array_get(own, s)));
  }
  for (size_t s = 0; s < steps; s++) json_array_append_new(list, json_real(times[s]));
  const size_t first = steps > 1 ? 1 : 0;
  SL_TRY(put_kinds(record, input->run, times));
  sl_stats_sort(times + first, steps - first);
  const double median = sl_stats_median(times + first, steps - first);
  set_integer(record, "steps", (int64_t)steps);
  set_real(record, "step_time_s", median);
  json_object_set_new(record, "step_times_s", list);
  if (input->run->exec->measures) {
    set_real(record, "step_time_low_s", sl_stats_quantile(times + first, steps - first, 0.05));
    set_real(record, "step_time_high_s", sl_stats_quantile(times + first, steps - first, 0.95));
  } else {
    put_interval(record, median, input->run->reports[0].step_error);
  }
  free(times);
  set_real(record, "init_time_s", json_real_value(json_object_get(json_array_get(parts, 0), "init_time_s")));
  const double tokens = (double)plan->global_batch * (double)plan->seq;
  const double flops = sl_model_flops(plan->model, plan->global_batch * plan->seq, plan->seq);
  const double peak = sl_record_peak_flops(plan);
  set_real(record, "model_flops_per_step", flops);
  if (median > 0) set_real(record, "tokens_per_s", tokens / median);
  if (!(median > 0 && peak > 0)) return SL_OK;
  set_real(record, "mfu", flops / median / peak);
  json_object_set_new(record, "mfu_peak", json_string(sl_dtype_name(peak_dtype(plan))));
  return SL_OK;
}

/* The time of an evaluation, which is not part of the steps. */
static enum sl_status put_evaluation(json_t *record, const struct sl_run *run) {
  const int64_t iters = run->eval_iters > 0 ? run->eval_iters : run->job->plan->config->sl.eval_iters;
  double *times;
  if (run->eval_count == 0) return SL_OK;
  SL_TRY(sl_calloc(&times, (size_t)run->eval_count, sizeof *times));
  for (int64_t i = 0; i < run->eval_count; i++) times[i] = run->evals[i].time_s;
  sl_stats_sort(times, (size_t)run->eval_count);
  set_integer(record, "evaluation_batches", iters);
  set_real(record, "evaluation_time_s", sl_stats_median(times, (size_t)run->eval_count));
  free(times);
  return SL_OK;
}

static bool is_summary(const struct sl_record_input *input) {
  const struct sl_run *run = input->run;
  const int world = run->job->plan->world;
  return !input->per_rank && run->exec->local_of != NULL && world > SL_RECORD_RANKS && run->local_count < world;
}

/* The ranks that were simulated, each with the number of ranks that it stands for. */
static json_t *summary(json_t *const *by_rank, const struct sl_run *run) {
  json_t *list = json_array();
  for (int r = 0; r < run->job->plan->world; r++) {
    json_t *rank = by_rank[run->local_ranks[run->exec->local_of(run->state, r)]];
    set_integer(rank, "stands_for", integer_of(rank, "stands_for") + 1);
    if (by_rank[r] != NULL) json_array_append(list, rank);
  }
  return list;
}

/* Of the ranks that a summary leaves out, those that send the most: which rank they are `like`, and their own bytes. */
static json_t *busiest(const struct sl_folded *folded, json_t *const *by_rank, const struct sl_run *run) {
  json_t *list = json_array(), *own, *row;
  size_t i;
  for (int r = 0; r < run->job->plan->world; r++) {
    if (by_rank[r] != NULL || sl_folded_even(folded, r)) continue;
    json_t *like = by_rank[run->local_ranks[run->exec->local_of(run->state, r)]];
    json_t *most = json_object_get(like, "busiest");
    if (most == NULL) {
      most = json_deep_copy(json_object_get(like, "traffic"));
      json_object_set_new(like, "busiest", most);
      json_array_append(list, like);
    }
    json_array_foreach(most, i, row) {
      const int64_t bytes = sl_folded_wire_bytes(folded, r, row);
      if (bytes > integer_of(row, "wire_bytes")) set_integer(row, "wire_bytes", bytes);
    }
  }
  json_array_foreach(list, i, own) {
    json_t *entry = json_pack("{s:O}", "traffic", json_object_get(own, "busiest"));
    json_object_del(own, "busiest");
    json_array_set_new(list, i, entry);
  }
  return list;
}

/* Ranks that the simulator folded have the numbers of the rank that stands for them, and say so; only their bytes on
 * the wire are their own. `more`: entries of other ranks whose traffic counts. */
static enum sl_status rank_list(const json_t *parts, const struct sl_record_input *input, json_t **out, json_t **more) {
  const struct sl_run *run = input->run;
  const struct sl_job *job = run->job;
  const int world = job->plan->world;
  json_t **by_rank = NULL, *part, *rank;
  struct sl_folded folded;
  size_t i, j;
  enum sl_status status = SL_OK;
  SL_TRY(sl_folded_open(&folded, job));
  status = sl_calloc(&by_rank, (size_t)world, sizeof(json_t *));
  if (status != SL_OK) {
    sl_folded_close(&folded);
    return status;
  }
  json_array_foreach(parts, i, part) json_array_foreach(json_object_get(part, "ranks"), j, rank)
      by_rank[integer_of(rank, "rank")] = rank;
  const bool all = !is_summary(input);
  json_t *list = all ? json_array() : summary(by_rank, run);
  for (int r = 0; r < world && all; r++) {
    if (by_rank[r] != NULL) {
      json_array_append(list, by_rank[r]);
      continue;
    }
    if (run->options.alone) continue; /* no rank stands for the others */
    const struct sl_coord c = sl_plan_coord(job->plan, r);
    if (run->exec->local_of == NULL) SL_GO(sl_fail(SL_ERR_INTERNAL, "rank %d: nobody reported for it", r));
    const json_t *found = by_rank[run->local_ranks[run->exec->local_of(run->state, r)]];
    json_t *copy = json_deep_copy(found);
    if (!sl_folded_even(&folded, r)) sl_folded_put(&folded, r, run->results[run->steps - 1].program, copy);
    set_integer(copy, "simulated_as", integer_of(found, "rank"));
    set_integer(copy, "rank", r);
    set_integer(copy, "dp", c.dp);
    set_integer(copy, "cp", c.cp);
    set_integer(copy, "tp", c.tp);
    json_array_append_new(list, copy);
  }
  *out = list;
  *more = all ? json_array() : busiest(&folded, by_rank, run);
done:
  if (status != SL_OK) json_decref(list);
  free(by_rank);
  sl_folded_close(&folded);
  return status;
}

static json_t *worst_rank(const json_t *ranks, enum sl_space space) {
  json_t *worst = json_array_get(ranks, 0), *rank;
  size_t i;
  json_array_foreach(ranks, i, rank) if (arena_of(rank, space) > arena_of(worst, space)) worst = rank;
  return worst;
}

static json_t *space_json(const json_t *ranks, enum sl_space space) {
  json_t *object = json_object(), *list = json_array(), *rank;
  size_t i;
  set_integer(object, "peak_bytes", arena_of(worst_rank(ranks, space), space));
  json_array_foreach(ranks, i, rank) {
    json_t *item = json_object();
    set_integer(item, "rank", integer_of(rank, "rank"));
    set_integer(item, "peak_bytes", arena_of(rank, space));
    if (space == SL_SPACE_DEVICE) set_integer(item, "process_bytes", integer_of(rank, "process_bytes"));
    json_array_append_new(list, item);
  }
  json_object_set_new(object, "ranks", list);
  return object;
}

/* The planner's report on the worst rank of a space: bytes live at the peak by category, and by phase. */
static void add_report(json_t *object, const json_t *worst, int space, const struct sl_job *job) {
  const struct sl_memory_report *report =
      &job->classes[sl_job_class_of(job, (int)integer_of(worst, "rank"))].memory[space];
  json_t *category = json_object(), *category_max = json_object(), *phase = json_object();
  int64_t live = 0;
  for (int c = 0; c < SL_CATEGORY_COUNT; c++) {
    set_integer(category, sl_category_name(c), report->at_peak[c]);
    set_integer(category_max, sl_category_name(c), report->category_max[c]);
    live += report->at_peak[c];
  }
  set_integer(category, "fragmentation", arena_of(worst, space) - live);
  for (int p = 0; p < SL_PHASE_COUNT; p++) set_integer(phase, sl_phase_name(p), report->phase_peak[p]);
  json_object_set_new(object, "by_category", category);
  json_object_set_new(object, "by_category_max", category_max);
  json_object_set_new(object, "by_phase", phase);
  json_object_set_new(object, "peak_phase", json_string(sl_phase_name(report->peak_phase)));
  set_integer(object, "peak_rank", integer_of(worst, "rank"));
}

static json_t *memory_json(const json_t *ranks, const struct sl_job *job) {
  json_t *memory = json_object(), *rank;
  int64_t process = 0;
  size_t i;
  for (int space = 0; space < SL_SPACE_COUNT; space++) {
    json_t *object = space_json(ranks, space);
    add_report(object, worst_rank(ranks, space), space, job);
    json_object_set_new(memory, sl_space_name(space), object);
  }
  json_t *device = json_object_get(memory, sl_space_name(SL_SPACE_DEVICE));
  json_array_foreach(ranks, i, rank) {
    if (integer_of(rank, "process_bytes") > process) process = integer_of(rank, "process_bytes");
  }
  set_integer(device, "process_bytes", process);
  set_integer(device, "context_bytes", integer_of(worst_rank(ranks, SL_SPACE_DEVICE), "context_bytes"));
  return memory;
}

/* Do two rows of traffic agree in the first `count` of the keys that identify a row? */
static bool same_traffic(const json_t *a, const json_t *b, int count) {
  static const char *const keys[] = {"group", "op", "payload", "step", "dtype"};
  for (int k = 0; k < count; k++) {
    const json_t *x = json_object_get(a, keys[k]), *y = json_object_get(b, keys[k]);
    if (x != y && !json_equal(x, y)) return false;
  }
  return true;
}

const json_t *sl_record_traffic_row(const json_t *list, const json_t *like) {
  const json_t *row;
  size_t i;
  json_array_foreach(list, i, row) if (same_traffic(row, like, 5)) return row;
  return NULL;
}

bool sl_record_traffic_twins(const json_t *list, const json_t *row) {
  const json_t *other;
  size_t i;
  json_array_foreach(list, i, other) if (same_traffic(other, row, 4) && !same_traffic(other, row, 5)) return true;
  return false;
}

/* What receives, and a group of one rank, sends nothing: there the bytes of the calls decide. */
static bool is_more(const json_t *a, const json_t *b) {
  const int64_t sent = integer_of(a, "wire_bytes"), other = integer_of(b, "wire_bytes");
  return sent != other ? sent > other : integer_of(a, "bytes") > integer_of(b, "bytes");
}

/* The largest of all ranks, row by row: ranks of a collective may hold pieces of different sizes. */
static void add_most(json_t *list, const json_t *ranks) {
  json_t *rank, *row;
  size_t i, j;
  json_array_foreach(ranks, i, rank) json_array_foreach(json_object_get(rank, "traffic"), j, row) {
    json_t *total = (json_t *)(uintptr_t)sl_record_traffic_row(list, row);
    if (total == NULL)
      json_array_append_new(list, json_copy(row));
    else if (is_more(row, total))
      json_object_update(total, row);
  }
}

static json_t *traffic_json(const json_t *ranks, const json_t *more) {
  json_t *list = json_array();
  add_most(list, ranks);
  add_most(list, more);
  return list;
}

/* The breakdown of the process with the longest step. */
static json_t *slowest_breakdown(const json_t *parts) {
  json_t *worst = NULL, *part;
  double longest = -1;
  size_t i;
  json_array_foreach(parts, i, part) {
    json_t *b = json_object_get(part, "breakdown_s");
    const double step = json_real_value(json_object_get(b, "step"));
    if (step > longest) worst = b, longest = step;
  }
  return worst;
}

/* Every rank reads the loss after an all-reduce over the world, so all must have the same. */
static enum sl_status put_losses(json_t *record, const json_t *parts) {
  static const char *const keys[] = {"losses",        "grad_norms",        "learning_rates",
                                     "skipped_steps", "evaluation_losses", "evaluation_steps"};
  const json_t *first = json_array_get(parts, 0);
  if (json_object_get(first, "losses") == NULL) return SL_OK;
  for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
    json_t *mine = json_object_get(first, keys[k]);
    if (mine == NULL) continue; /* nothing was evaluated */
    for (size_t i = 1; i < json_array_size(parts); i++)
      if (!json_equal(mine, json_object_get(json_array_get(parts, i), keys[k])))
        return sl_fail(SL_ERR_PEER, "process %zu disagrees with process 0 about %s", i, keys[k]);
    json_object_set(record, keys[k], mine);
  }
  return SL_OK;
}

static void put_head(json_t *record, const struct sl_record_input *input) {
  const struct sl_plan *plan = input->run->job->plan;
  set_integer(record, "schema", SL_RECORD_SCHEMA);
  json_object_set_new(record, "kind", json_string(input->run->exec->measures ? "measured" : "predicted"));
  json_object_set_new(record, "functional", json_boolean(input->functional));
  json_object_set_new(record, "command", json_string(input->command));
  json_object_set_new(record, "backend", json_string(input->run->exec->name));
  if (input->run->options.alone) {
    set_integer(record, "as_rank", input->run->options.alone_rank);
    json_object_set_new(
        record, "as_rank_measured",
        json_string("compute time and memory of this rank; communication was looped back: its times are "
                    "copies on the device, and losses mean nothing"));
  }
  json_object_set(record, "options", input->options);
  json_object_set_new(record, "model", sl_model_to_json(plan->model));
  json_t *config = sl_effective_json(plan->config), *layout = plan_json(plan);
  const json_t *section = json_object_get(config, "shardlab");
  json_object_set(layout, "recompute", json_object_get(section, "recompute"));
  json_object_set(layout, "rank_order", json_object_get(section, "rank_order"));
  json_object_set_new(record, "config", config);
  json_object_set_new(record, "cluster", sl_cluster_to_json(plan->cluster));
  json_object_set_new(record, "plan", layout);
  json_object_set(record, "environment", input->environment);
}

enum sl_status sl_record_build(const struct sl_record_input *input, json_t **out) {
  json_t *record = json_object(), *part = NULL, *parts = NULL, *ranks = NULL, *more = NULL;
  enum sl_status status;
  SL_GO(sl_record_part(input->run, input->timeline, &part));
  SL_GO(sl_record_gather(input->run, part, &parts));
  SL_GO(rank_list(parts, input, &ranks, &more));
  put_head(record, input);
  SL_GO(put_times(record, parts, input));
  SL_GO(put_evaluation(record, input->run));
  json_object_set(record, "breakdown_s", slowest_breakdown(parts));
  json_object_set_new(record, "memory", memory_json(ranks, input->run->job));
  json_object_set_new(record, "traffic", traffic_json(ranks, more));
  json_object_set(record, "ranks", ranks);
  if (!input->run->exec->measures) json_object_set_new(record, "verdict", sl_verdict_json(input->run));
  SL_GO(put_losses(record, parts));
  *out = record;
done:
  if (status != SL_OK) json_decref(record);
  json_decref(parts);
  json_decref(ranks);
  json_decref(more);
  return status;
}
