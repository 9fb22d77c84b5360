/* See torchtitan_pipeline.h. Sources: torchtitan at 238fa99, distributed/pipeline_parallel.py, train.py (accumulation);
 * of early pipelines as read_age says. */
#include "core/interop/torchtitan_pipeline.h"

#include "core/base/checked.h"
#include "core/base/limits.h"
#include "core/interop/paths.h"

#include <string.h>

#define TRAINING "training."
#define PARALLELISM "parallelism."
#define EXPERIMENTAL "experimental."
/* A key's current path, and its path at the end of 2024. */
#define MOVED(name) PARALLELISM name "|" EXPERIMENTAL name
const char sl_titan_pp_key[] = MOVED("pipeline_parallel_degree");
static const char schedule_key[] = MOVED("pipeline_parallel_schedule");
static const char microbatch_key[] = MOVED("pipeline_parallel_microbatch_size");
static const char microbatches_key[] = MOVED("pipeline_parallel_microbatches");
static const char each_key[] = MOVED("pipeline_parallel_layers_per_stage");
static const char parts_key[] = PARALLELISM "module_fqns_per_model_part";
static const char batch_key[] = TRAINING "local_batch_size|" TRAINING "batch_size";

enum { MOST_STAGES = 256 }; /* the longest list shardlab.stages */

static void put(struct sl_titan *t, const char *path, json_t *value) {
  sl_interop_put(t->config, path, value);
}

/* ---- the age of a file ---- */

/* An old pipeline has as many micro-batches as stages, or pipeline_parallel_microbatches. On 7 April 2025 the size of one
 * took its place, 1 unless it is given (5e2033c75), and the ends began to count where layers are dealt (8b737fe3c; as
 * today since f64cf3c18 of 15 April). Before, since cec7fb6fc of October 2024, they did not; until 90567fc98 of January
 * 2025 several stages a rank had as many micro-batches as there are ranks, which no key tells.
 *
 * The section tells the age: on 18 March 2025 [experimental] became [parallelism] for these keys (785c34c99). In the
 * weeks until 7 April pipeline_parallel_microbatches does; training.batch_size does not, which stayed until June
 * (8570415c3). */
static enum sl_status read_age(struct sl_titan *t) {
  const bool parts = sl_settings_has(&t->s, microbatches_key), size = sl_settings_has(&t->s, microbatch_key);
  if (parts && size)
    return sl_settings_fail(&t->s, microbatches_key,
                            "none beside pipeline_parallel_microbatch_size, which replaced it");
  t->is_old = !size && (parts || sl_settings_has(&t->s, EXPERIMENTAL "pipeline_parallel_degree"));
  const bool open = !t->is_old && !size && !sl_settings_has(&t->s, each_key) &&
                    !sl_settings_has(&t->s, TRAINING "local_batch_size") &&
                    sl_settings_has(&t->s, TRAINING "batch_size");
  if (open)
    sl_warn(
        "%s: a pipeline of spring 2025: micro-batches are taken as of size 1, as torchtitan's since 7 April; before, "
        "there were as many as stages, which pipeline_parallel_microbatches says",
        t->s.doc->name);
  return SL_OK;
}

/* ---- layers to stages ---- */

/* Counts the blocks, such as "layers.7", in a part's list of names. */
static int64_t count_blocks(const json_t *part) {
  size_t i;
  json_t *name;
  int64_t count = 0;
  json_array_foreach((json_t *)(uintptr_t)part, i, name) {
    if (!json_is_string(name)) return -1;
    count += strncmp(json_string_value(name), "layers.", 7) == 0;
  }
  return json_is_array(part) ? count : -1;
}

static enum sl_status put_named_parts(struct sl_titan *t, const json_t *parts) {
  json_t *stages = json_array();
  put(t, "shardlab.stages", stages);
  for (size_t i = 0; i < json_array_size(parts); i++) {
    const int64_t blocks = count_blocks(json_array_get(parts, i));
    if (blocks < 0) return sl_settings_fail(&t->s, parts_key, "lists of modules' names");
    json_array_append_new(stages, json_integer(blocks));
  }
  t->stages = (int64_t)json_array_size(parts);
  if (t->stages > 0 && t->stages % t->pp == 0) return SL_OK;
  return sl_settings_fail(&t->s, parts_key, "a multiple of pipeline_parallel_degree %lld, as parts", (long long)t->pp);
}

/* As generate_llm_fqn_per_model_part: embedding and output count as `less` layers each, and the first stages take one
 * layer more if the layers do not divide evenly. */
static enum sl_status put_dealt(struct sl_titan *t, const int64_t less[2]) {
  const int64_t all = t->layers + less[0] + less[1], each = all / t->stages, more = all % t->stages;
  if (less[0] > each || less[1] > each || t->stages > MOST_STAGES)
    return sl_settings_fail(&t->s, sl_titan_pp_key,
                            "at most so many stages that each has a layer: there are %lld for %lld",
                            (long long)t->stages, (long long)all);
  json_t *stages = json_array();
  put(t, "shardlab.stages", stages);
  for (int64_t i = 0; i < t->stages; i++)
    json_array_append_new(
        stages, json_integer(each + (i < more) - (i == 0 ? less[0] : 0) - (i == t->stages - 1 ? less[1] : 0)));
  return SL_OK;
}

/* Until April 2025 embedding and output did not count, and the layers that are left over went to the stages behind the
 * first. */
static enum sl_status put_dealt_of_old(struct sl_titan *t) {
  const int64_t each = t->layers / t->stages, more = t->layers % t->stages;
  if (each == 0 || t->stages > MOST_STAGES)
    return sl_settings_fail(&t->s, sl_titan_pp_key, "at most so many stages that each has a layer: there are %lld",
                            (long long)t->stages);
  json_t *stages = json_array();
  put(t, "shardlab.stages", stages);
  for (int64_t i = 0; i < t->stages; i++) json_array_append_new(stages, json_integer(each + (i >= 1 && i <= more)));
  return SL_OK;
}

static enum sl_status put_stages(struct sl_titan *t, bool several) {
  int64_t less[2] = {1, 1}, each = 0;
  SL_TRY(sl_settings_int(&t->s, PARALLELISM "pipeline_parallel_first_stage_less_layers", 0, SL_MAX_ROWS, &less[0]));
  SL_TRY(sl_settings_int(&t->s, PARALLELISM "pipeline_parallel_last_stage_less_layers", 0, SL_MAX_ROWS, &less[1]));
  SL_TRY(sl_settings_int(&t->s, each_key, 1, SL_MAX_ROWS, &each));
  const json_t *parts = sl_settings_value(&t->s, parts_key);
  t->stages = t->pp * (several ? 2 : 1);
  if (parts != NULL) return put_named_parts(t, parts);
  if (t->layers == 0)
    return sl_settings_fail(&t->s, "model.flavor", "a known one, or --model: its layers are dealt to %lld stages",
                            (long long)t->stages);
  if (t->is_old && each == 0) return put_dealt_of_old(t);
  if (each > 0) t->stages = (t->layers + less[0] + less[1] + each - 1) / each;
  if (t->stages % t->pp != 0 || (t->stages > t->pp) != several)
    return sl_settings_fail(&t->s, each_key, "%s stages a rank, of pipeline_parallel_degree %lld",
                            several ? "two or more" : "one: this schedule has no more", (long long)t->pp);
  return put_dealt(t, less);
}

static enum sl_status put_schedule(struct sl_titan *t) {
  static const struct {
    const char *theirs, *ours;
    bool several;
  } schedules[] = {{"1F1B", "1f1b", false},
                   {"GPipe", "gpipe", false},
                   {"Interleaved1F1B", "interleaved", true},
                   {"LoopedBFS", "looped-bfs", true},
                   {"InterleavedZeroBubble", "interleaved-zb", true},
                   {"ZBVZeroBubble", "zbv", true}};
  char name[32] = "1F1B";
  int i = 0;
  SL_TRY(sl_settings_word(&t->s, schedule_key,
                          "1F1B|GPipe|Interleaved1F1B|LoopedBFS|InterleavedZeroBubble|ZBVZeroBubble", name));
  while (strcmp(schedules[i].theirs, name) != 0) i++;
  t->stages = t->pp;
  if (t->pp == 1) return SL_OK;
  SL_TRY(read_age(t));
  SL_TRY(put_stages(t, schedules[i].several));
  put(t, "shardlab.schedule", json_string(schedules[i].ours));
  put(t, "shardlab.virtual_stages", json_integer(t->stages / t->pp));
  return SL_OK;
}

/* ---- micro-batches ---- */

/* Of an old pipeline, which splits the batch into a number of micro-batches. */
static enum sl_status read_old_microbatch(struct sl_titan *t, int64_t local, int64_t *micro) {
  int64_t parts = t->stages;
  SL_TRY(sl_settings_int(&t->s, microbatches_key, 1, SL_MAX_ROWS, &parts));
  *micro = local / parts;
  if (local % parts == 0) return SL_OK;
  if (sl_settings_has(&t->s, microbatches_key))
    return sl_settings_fail(&t->s, microbatches_key, "a divisor of batch_size %lld", (long long)local);
  return sl_settings_fail(&t->s, batch_key,
                          "a multiple of the %lld stages, as many micro-batches as torchtitan of then made, or "
                          "pipeline_parallel_microbatches",
                          (long long)parts);
}

/* Only a pipeline splits a rank's batch into micro-batches. A global batch larger than one batch of each rank is
 * accumulated; between those runs a pipeline would drain, which is not modelled. */
static enum sl_status put_batch(struct sl_titan *t) {
  int64_t local = 8, whole = -1, micro = 1;
  const int64_t dp = t->replicate * t->shard;
  SL_TRY(sl_settings_int(&t->s, batch_key, 1, SL_MAX_ROWS, &local));
  SL_TRY(sl_settings_int(&t->s, TRAINING "global_batch_size", -1, SL_MAX_ROWS, &whole));
  SL_TRY(sl_settings_int(&t->s, microbatch_key, 1, SL_MAX_ROWS, &micro));
  if (t->is_old) SL_TRY(read_old_microbatch(t, local, &micro));
  if (t->pp == 1) micro = local;
  const int64_t step = sl_product(local, dp);
  if (whole > 0 && (step == SL_HUGE || whole % step != 0))
    return sl_settings_fail(&t->s, TRAINING "global_batch_size", "a multiple of local_batch_size %lld x %lld replicas",
                            (long long)local, (long long)dp);
  const int64_t times = whole > 0 ? whole / step : 1;
  if (t->pp > 1 && times > 1)
    return sl_settings_fail(&t->s, TRAINING "global_batch_size",
                            "%lld: beside a pipeline, several runs of it a step are not modelled", (long long)step);
  if (local % micro != 0)
    return sl_settings_fail(&t->s, batch_key, "a multiple of pipeline_parallel_microbatch_size %lld", (long long)micro);
  put(t, "train_micro_batch_size_per_gpu", json_integer(micro));
  put(t, "gradient_accumulation_steps", json_integer(local / micro * times));
  return SL_OK;
}

enum sl_status sl_titan_put_pipeline(struct sl_titan *t) {
  sl_settings_has(&t->s, microbatches_key); /* without a pipeline it says nothing */
  SL_TRY(put_schedule(t));
  return put_batch(t);
}
