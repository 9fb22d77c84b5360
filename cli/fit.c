/* A plan against a limit of device memory; see fit.h. */
#include "cli/fit.h"

#include "core/base/checked.h"
#include "core/base/units.h"

#include <stdio.h>
#include <string.h>

static int64_t limit_of(const struct sl_options *options, const struct sl_setup *setup) {
  return options->device_memory > 0 ? options->device_memory : setup->cluster.device.device_memory;
}

/* The most that a rank's arena takes of the device, and the first rank that needs it. */
static int64_t needed(const struct sl_setup *setup, int *rank) {
  int64_t most = -1;
  for (int i = 0; i < setup->job.class_count; i++) {
    const struct sl_class *c = &setup->job.classes[i];
    if (c->arena_bytes[SL_SPACE_DEVICE] <= most) continue;
    most = c->arena_bytes[SL_SPACE_DEVICE];
    *rank = c->first_rank;
  }
  return most;
}

/* What may be tried, mildest first: what it is called, and the keys that it sets. */
enum { MAX_TRIES = 16, NAMED = 3 };

struct tries {
  char name[MAX_TRIES][96];
  json_t *keys[MAX_TRIES]; /* owned */
  int count;
};

#define OPTIMIZER "zero_optimization.offload_optimizer.device"
#define PARAM "zero_optimization.offload_param.device"

static void add(struct tries *tries, const char *name, json_t *keys) {
  if (tries->count == MAX_TRIES || keys == NULL) {
    json_decref(keys);
    return;
  }
  snprintf(tries->name[tries->count], sizeof tries->name[0], "%s", name);
  tries->keys[tries->count++] = keys;
}

/* Smaller micro-batches, more of them: the global batch stays. */
static void add_batches(struct tries *tries, const struct sl_plan *plan) {
  for (int64_t parts = 2; plan->micro_batch % parts == 0; parts *= 2) {
    char name[96];
    const int64_t micro = plan->micro_batch / parts, n = sl_product(plan->n_micro, parts);
    snprintf(name, sizeof name, "--micro-batch %lld --grad-accum %lld", (long long)micro, (long long)n);
    add(tries, name,
        json_pack("{s:I, s:I}", "train_micro_batch_size_per_gpu", (json_int_t)micro, "gradient_accumulation_steps",
                  (json_int_t)n));
  }
}

static void list(struct tries *tries, const struct sl_setup *setup) {
  const struct sl_strategy *s = &setup->plan.strategy;
  const bool optimizer = s->offload_optimizer, param = s->offload_params, whole = setup->config.zero.stage != 3;
  *tries = (struct tries){0};
  if (!optimizer) add(tries, "offload_optimizer on the cpu", json_pack("{s:s}", OPTIMIZER, "cpu"));
  if (!param && !whole) add(tries, "offload_param on the cpu", json_pack("{s:s}", PARAM, "cpu"));
  if (!optimizer && !param && !whole)
    add(tries, "offload_optimizer and offload_param on the cpu",
        json_pack("{s:s, s:s}", OPTIMIZER, "cpu", PARAM, "cpu"));
  if (whole) add(tries, "--zero-stage 3", json_pack("{s:i}", "zero_optimization.stage", 3));
  add_batches(tries, &setup->plan);
  add(tries, "--recompute full", json_pack("{s:s}", "shardlab.recompute", "full"));
  add(tries, "--recompute full with cpu_checkpointing",
      json_pack("{s:s, s:b}", "shardlab.recompute", "full", "activation_checkpointing.cpu_checkpointing", 1));
  json_t *all = json_pack("{s:i, s:s, s:s, s:s}", "zero_optimization.stage", 3, OPTIMIZER, "cpu", PARAM, "cpu",
                          "shardlab.recompute", "full");
  json_t *least = json_copy(all);
  add(tries, "--zero-stage 3, both offloaded to the cpu, --recompute full", all);
  json_object_set_new(least, "train_micro_batch_size_per_gpu", json_integer(1));
  json_object_set_new(least, "gradient_accumulation_steps",
                      json_integer(sl_product(setup->plan.n_micro, setup->plan.micro_batch)));
  add(tries, "--zero-stage 3, both offloaded to the cpu, --recompute full, --micro-batch 1", least);
}

static void keep_quiet(void *context, const char *text) {
  (void)context;
  (void)text;
}

/* Device memory of the configuration with these keys changed; -1: it cannot be built. */
static int64_t try(const struct sl_options *options, const json_t *keys) {
  struct sl_setup setup;
  int rank;
  if (sl_setup_changed(&setup, options, keys) != SL_OK) {
    sl_error_clear();
    return -1;
  }
  const int64_t bytes = needed(&setup, &rank);
  sl_setup_free(&setup);
  return bytes;
}

/* "what fits: offload_optimizer on the cpu (400 MiB); or ...": at most NAMED of them. */
static void advise(char *out, size_t size, const struct sl_options *options, const struct sl_setup *setup) {
  struct tries tries;
  const int64_t limit = limit_of(options, setup);
  int64_t least = INT64_MAX;
  int fitting = 0;
  char text[32];
  size_t used = 0;
  list(&tries, setup);
  sl_warn_set_sink(keep_quiet, NULL);
  for (int i = 0; i < tries.count && fitting < NAMED; i++) {
    const int64_t bytes = try(options, tries.keys[i]);
    if (bytes < 0) continue;
    if (bytes < least) least = bytes;
    if (bytes > limit) continue;
    sl_format_bytes(text, sizeof text, (double)bytes);
    used += (size_t)snprintf(out + used, size - used, "%s%s (%s)", fitting == 0 ? "what fits: " : "; or ",
                             tries.name[i], text);
    if (used >= size) used = size - 1;
    fitting++;
  }
  sl_warn_set_sink(NULL, NULL);
  if (fitting == 0 && least < INT64_MAX) {
    sl_format_bytes(text, sizeof text, (double)least);
    snprintf(out, size, "nothing that was tried fits: the least takes %s", text);
  } else if (fitting == 0) {
    snprintf(out, size, "there is nothing to try");
  }
  for (int i = 0; i < tries.count; i++) json_decref(tries.keys[i]);
}

enum sl_status sl_fit_check(const struct sl_options *options, const struct sl_setup *setup) {
  const int64_t limit = limit_of(options, setup);
  int rank = 0;
  char need[32], have[32], over[32], advice[512] = "";
  const int64_t bytes = needed(setup, &rank);
  if (limit == 0 || bytes <= limit) return SL_OK;
  advise(advice, sizeof advice, options, setup);
  sl_format_bytes(need, sizeof need, (double)bytes);
  sl_format_bytes(have, sizeof have, (double)limit);
  sl_format_bytes(over, sizeof over, (double)(bytes - limit));
  return sl_fail(SL_ERR_INPUT, "%s: rank %d needs %s of device memory, %s more than the %s it may have; %s",
                 options->device_memory > 0 ? "--device-memory" : "device.device_memory_GiB", rank, need, over, have,
                 advice);
}
