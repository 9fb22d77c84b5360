/* The batch of elastic training; see elastic.h. Where DeepSpeed's code raises an exception, this names the key. */
#include "core/config/elastic.h"

#include "core/base/checked.h"
#include "core/base/json_get.h"
#include "core/base/limits.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_SIZES 64 /* micro-batch sizes; DeepSpeed has no limit */

struct elastic {
  int64_t most; /* max_train_batch_size */
  int64_t sizes[MOST_SIZES];
  int count;
  int64_t min_gpus, max_gpus, per_node, model_parallel;
  bool larger; /* prefer_larger_batch */
  bool nodes;  /* version 0.2, which counts nodes */
};

static enum sl_status fail(const struct sl_config *config, const char *key, const char *text) {
  char path[64];
  snprintf(path, sizeof path, "elasticity.%s", key);
  return sl_json_fail(&config->doc, path, "%s", text);
}

/* A whole number from `low` to `high`; if the key is absent, `otherwise`, or an error if that is 0. */
static enum sl_status read_count(const struct sl_config *config, const char *key, int64_t low, int64_t high,
                                 int64_t otherwise, int64_t *out) {
  char path[64], shown[48];
  snprintf(path, sizeof path, "elasticity.%s", key);
  const json_t *value = sl_config_at(config, path);
  *out = otherwise;
  if (value == NULL && otherwise == 0) return sl_json_fail(&config->doc, path, "Elasticity config missing %s", key);
  if (value == NULL) return SL_OK;
  if (!sl_json_whole(value, out) || *out < low || *out > high)
    return sl_json_fail(&config->doc, path, "is %s; expected an integer from %lld to %lld",
                        sl_config_show(value, shown, sizeof shown), (long long)low, (long long)high);
  return SL_OK;
}

static enum sl_status read_sizes(const struct sl_config *config, struct elastic *out) {
  const json_t *list = sl_config_at(config, "elasticity.micro_batch_sizes");
  if (list == NULL) return fail(config, "micro_batch_sizes", "Elasticity config missing micro_batch_sizes");
  out->count = (int)json_array_size(list);
  if (out->count < 1 || out->count > MOST_SIZES)
    return fail(config, "micro_batch_sizes", "expected an array of 1 to 64 micro-batch sizes");
  for (int i = 0; i < out->count; i++) {
    if (!sl_json_whole(json_array_get(list, (size_t)i), &out->sizes[i]) || out->sizes[i] < 1)
      return fail(config, "micro_batch_sizes",
                  "Elasticity expected micro_batch_sizes to only contain positive integers");
    if (out->sizes[i] > out->most)
      return fail(
          config, "micro_batch_sizes",
          "All micro batches must be less than or equal to max_acceptable_batch_size, which is max_train_batch_size");
  }
  return SL_OK;
}

/* The version of the rules, 0.1 or 0.2, as a number or as text. */
static enum sl_status read_version(const struct sl_config *config, struct elastic *out) {
  char shown[48];
  static char nothing[] = "";
  char *rest = nothing;
  const json_t *value = sl_config_at(config, "elasticity.version");
  const double version = value == NULL           ? 0.2
                         : json_is_string(value) ? strtod(json_string_value(value), &rest)
                                                 : json_number_value(value);
  out->nodes = version == 0.2;
  if ((version == 0.1 || version == 0.2) && *rest == '\0') return SL_OK;
  return sl_json_fail(&config->doc, "elasticity.version", "is %s; expected 0.1 or 0.2",
                      sl_config_show(value, shown, sizeof shown));
}

static enum sl_status read_elastic(const struct sl_config *config, struct elastic *out) {
  int64_t min_time;
  SL_TRY(read_count(config, "max_train_batch_size", 1, SL_MAX_BATCH, 0, &out->most));
  SL_TRY(read_sizes(config, out));
  SL_TRY(read_count(config, "min_gpus", 1, INT64_MAX, 1, &out->min_gpus));
  SL_TRY(read_count(config, "max_gpus", 1, INT64_MAX, 10000, &out->max_gpus));
  SL_TRY(read_count(config, "min_time", 0, INT64_MAX, 1, &min_time));
  SL_TRY(read_count(config, "num_gpus_per_node", 1, SL_MAX_WORLD, 1, &out->per_node));
  SL_TRY(read_count(config, "model_parallel_size", 1, SL_MAX_WORLD, 1, &out->model_parallel));
  SL_TRY(read_version(config, out));
  out->larger = sl_config_flag(config, "elasticity.prefer_larger_batch", true);
  if (out->max_gpus < out->min_gpus)
    return fail(config, "min_gpus", "Elasticity min_gpus cannot be greater than max_gpus");
  if (out->model_parallel > 1 && !out->nodes)
    return fail(config, "model_parallel_size", "Elasticity V0.1 does not support model-parallel training");
  if (out->nodes && out->per_node % out->model_parallel != 0)
    return fail(config, "num_gpus_per_node",
                "In Elasticity v0.2, number of GPUs per node should be divisible by model parallel size");
  return SL_OK;
}

enum sl_status sl_config_check_elasticity(const struct sl_config *config) {
  static const char *const batch[] = {"train_batch_size", "train_micro_batch_size_per_gpu",
                                      "gradient_accumulation_steps"};
  struct elastic elastic;
  if (!sl_config_flag(config, "elasticity.enabled", false)) return SL_OK;
  SL_TRY(read_elastic(config, &elastic));
  const bool ignored = sl_config_flag(config, "elasticity.ignore_non_elastic_batch_info", false);
  for (size_t i = 0; i < 3; i++) {
    if (json_object_get(config->doc.root, batch[i]) == NULL) continue;
    if (ignored) {
      sl_config_warn(config, batch[i], "ignored, because elasticity.enabled is true and chooses it");
      continue;
    }
    return sl_json_fail(
        &config->doc, batch[i],
        "One or more batch related parameters were found in your ds_config (train_batch_size, "
        "train_micro_batch_size_per_gpu, and/or gradient_accumulation_steps). These parameters *will not "
        "be used* since elastic training is enabled, which takes control of these parameters; remove "
        "them or set elasticity.ignore_non_elastic_batch_info to true");
  }
  return SL_OK;
}

/* Do `gpus` divide the batch into whole micro-batches of one of the sizes before index `end`? */
static bool divides(const struct elastic *e, int end, int64_t batch, int64_t gpus) {
  for (int i = 0; i < end; i++)
    if (batch % e->sizes[i] == 0 && batch / e->sizes[i] % gpus == 0) return true;
  return false;
}

/* Is `gpus` within [least, most], and does it divide the batch for size i but for none before it? */
static bool counts(const struct elastic *e, int i, int64_t batch, int64_t gpus, int64_t least, int64_t most) {
  return gpus >= least && gpus <= most && !divides(e, i, batch, gpus);
}

/* How many numbers of GPUs within [least, most] divide `batch`. */
static int64_t count_gpus(const struct elastic *e, int64_t batch, int64_t least, int64_t most) {
  int64_t count = 0;
  for (int i = 0; i < e->count; i++) {
    if (batch % e->sizes[i] != 0) continue;
    const int64_t quotient = batch / e->sizes[i];
    for (int64_t d = 1; d <= quotient / d; d++) {
      if (quotient % d != 0) continue;
      count += counts(e, i, batch, d, least, most);
      if (d != quotient / d) count += counts(e, i, batch, quotient / d, least, most);
    }
  }
  return count;
}

/* `base` times the largest highly composite number that keeps the product within `most`; the list is DeepSpeed's, up to
 * 720720. */
static int64_t scale(int64_t base, int64_t most) {
  static const int64_t composite[] = {1,      2,      4,      6,      12,     24,     36,     48,    60,    120,
                                      180,    240,    360,    720,    840,    1260,   1680,   2520,  5040,  7560,
                                      10080,  15120,  20160,  25200,  27720,  45360,  50400,  55440, 83160, 110880,
                                      166320, 221760, 277200, 332640, 498960, 554400, 665280, 720720};
  int64_t factor = 1;
  for (size_t i = 0; i < sizeof composite / sizeof *composite; i++)
    if (composite[i] <= most / base) factor = composite[i];
  return sl_product(base, factor);
}

static int64_t common_multiple(const struct elastic *e) {
  int64_t multiple = 1;
  for (int i = 0; i < e->count && multiple < SL_HUGE; i++)
    multiple = sl_product(multiple / sl_common_divisor(multiple, e->sizes[i]), e->sizes[i]);
  return multiple;
}

/* DeepSpeed's version 0.1: the batch within `most` that the most numbers from `least_gpus` to `most_gpus` divide. 0 if
 * none does and smaller ones are preferred, since then DeepSpeed has no candidate either. */
static int64_t best_batch(const struct elastic *e, int64_t most, int64_t least_gpus, int64_t most_gpus) {
  int64_t best = 0, best_count = 0;
  for (int i = 0; i <= e->count; i++) {
    const int64_t base = i < e->count ? e->sizes[i] : common_multiple(e);
    if (base > most) continue;
    const int64_t batch = scale(base, most), count = count_gpus(e, batch, least_gpus, most_gpus);
    if (count < best_count || (count == best_count && (e->larger ? batch <= best : count == 0 || batch >= best)))
      continue;
    best = batch;
    best_count = count;
  }
  return best;
}

/* Version 0.2 counts nodes; where they do not divide the batch, it takes the largest (or smallest) batch that fits
 * `dp`. */
static int64_t node_batch(const struct elastic *e, int dp, bool *good) {
  const int64_t per_node = e->per_node / e->model_parallel; /* data-parallel ranks of a node */
  const int64_t least = e->min_gpus / e->per_node > 0 ? e->min_gpus / e->per_node : 1;
  /* A node count of 0 means as many as the batch allows, since 0 is false in Python. */
  const int64_t most = e->most / per_node;
  int64_t smallest = INT64_MAX, chosen = 0;
  for (int i = 0; i < e->count; i++)
    if (e->sizes[i] < smallest) smallest = e->sizes[i];
  *good = smallest <= most;
  for (int i = 0; i < e->count; i++) *good = *good && e->sizes[i] <= most;
  if (!*good) return 0;
  const int64_t nodes = e->max_gpus / e->per_node > 0 ? e->max_gpus / e->per_node : most / smallest;
  const int64_t batch = best_batch(e, most, least, nodes), gpus = dp / e->model_parallel;
  const bool whole =
      batch > 0 && gpus % per_node == 0 && gpus / per_node >= least && gpus / per_node <= nodes && gpus > 0;
  *good = whole && divides(e, e->count, batch, gpus / per_node);
  if (*good) {
    *good = dp == gpus || (dp % per_node == 0 && dp / per_node >= least && dp / per_node <= nodes &&
                           divides(e, e->count, batch, dp / per_node));
    return batch * per_node;
  }
  if (batch == 0) return 0;
  const double ranks = (double)dp / (double)e->per_node * (double)per_node;
  *good = ranks == dp;
  for (int i = 0; i < e->count; i++) {
    const double step = (double)e->sizes[i] * ranks;
    const int64_t fits = (int64_t)(floor((double)e->most / step) * step);
    if (i == 0 || (e->larger ? fits > chosen : fits < chosen)) chosen = fits;
  }
  return chosen;
}

/* The largest micro-batch that divides a rank's share of the batch, 0 if there is none. */
static int64_t best_micro(const struct elastic *e, int64_t share) {
  int64_t best = 0;
  for (int i = 0; i < e->count; i++)
    if (share % e->sizes[i] == 0 && e->sizes[i] > best) best = e->sizes[i];
  return best;
}

/* The world sizes that divide the batch, as DeepSpeed lists them, but no more than a line holds: "1, 2, 3, 6". */
static void list_gpus(const struct elastic *e, int64_t batch, char *out, size_t size) {
  const int64_t most = e->max_gpus < SL_MAX_WORLD ? e->max_gpus : SL_MAX_WORLD; /* also of a batch of billions */
  size_t used = 0;
  out[0] = '\0';
  for (int64_t gpus = e->min_gpus; gpus <= most; gpus++) {
    if (!divides(e, e->count, batch, gpus)) continue;
    used += (size_t)snprintf(out + used, size - used, "%s%lld", used > 0 ? ", " : "", (long long)gpus);
    if (used + 32 < size) continue;
    snprintf(out + used, size - used, ", ...");
    return;
  }
}

static enum sl_status refuse(const struct sl_config *config, const struct elastic *e, int dp, int64_t batch) {
  char list[192];
  if (e->nodes)
    return sl_json_fail(&config->doc, "elasticity",
                        "World size (%d) is not valid with the GPU counts that divide the batch of %lld into these "
                        "micro-batches",
                        dp, (long long)batch);
  list_gpus(e, batch, list, sizeof list);
  return sl_json_fail(&config->doc, "elasticity",
                      "World size (%d) is not valid with the current list of valid GPU counts: [%s] of a batch of %lld",
                      dp, list, (long long)batch);
}

enum sl_status sl_config_elastic_batch(struct sl_config *config, int dp) {
  struct elastic e;
  bool good;
  int64_t batch;
  if (!sl_config_flag(config, "elasticity.enabled", false)) return SL_OK;
  if (config->sl.pp > 1)
    return sl_json_fail(&config->doc, "elasticity.enabled",
                        "Elasticity is not currently supported with pipeline parallelism; pp is %d", config->sl.pp);
  SL_TRY(read_elastic(config, &e));
  if (e.nodes) {
    batch = node_batch(&e, dp, &good);
  } else {
    batch = best_batch(&e, e.most, e.min_gpus, e.max_gpus);
    good = batch > 0 && dp >= e.min_gpus && dp <= e.max_gpus && divides(&e, e.count, batch, dp);
  }
  const int64_t micro = good ? best_micro(&e, batch / dp) : 0;
  if (micro == 0 || batch < dp) return refuse(config, &e, dp, batch);
  config->train_batch_size = batch;
  config->train_micro_batch_size_per_gpu = micro;
  config->gradient_accumulation_steps = batch / (micro * dp);
  return SL_OK;
}
