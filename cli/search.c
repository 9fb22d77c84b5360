/* A search over a quantity that is nearly monotone; see search.h. */
#include "cli/search.h"

#include "cli/setup.h"
#include "cli/trial.h"
#include "core/base/checked.h"
#include "core/base/limits.h"
#include "core/base/units.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What can be searched for. */
enum what { MICRO_BATCH, WORLD, SEQ, WHATS };
static const struct {
  const char *flag, *sets, *name; /* the flag that asks for the search, the flag whose value it finds, and its name in
                                   * messages */
  const char *limit;              /* what limits the values if even the last one fits */
} whats[WHATS] = {{"max-micro-batch", "micro-batch", "largest micro-batch", "the batch allows no larger one"},
                  {"min-world", "world", "smallest world", NULL},
                  {"max-seq", "seq", "longest sequence", "the model has no more positions"}};

enum { MOST_RANKS = 1 << 16 }; /* the limit if the cluster has as many nodes as the world needs */

/* The values in ascending order: value[i], or else unit * (i + 1). */
struct values {
  int64_t *value; /* owned; NULL: all multiples of unit */
  int64_t unit, count;
  size_t capacity;
};

struct search {
  enum what what;
  const struct sl_options *options;
  int64_t replica; /* ranks per replica of the model: tp x pp x cp */
  int64_t
      share; /* if the global batch is kept: sequences per step of a data-parallel rank (MICRO_BATCH), or micro-batches
              * per step of all of them (WORLD); 0: gradient accumulation is kept */
  struct values values;
  json_t *probes; /* owned until the end */
  bool bare;      /* a value fits if it does without what a framework's allocator reserves */
  char why[512];  /* what the first value lacks that makes no plan, or why there is none; empty: each makes one */
};

static int64_t value_of(const struct search *s, int64_t i) {
  return s->values.value != NULL ? s->values.value[i] : s->values.unit * (i + 1);
}

bool sl_search_asked(const struct sl_options *options) {
  return options->max_micro_batch || options->min_world || options->max_seq;
}

/* ---- candidate values ---- */

/* The least multiple of two numbers above 0. */
static int64_t common_multiple(int64_t a, int64_t b) {
  return sl_product(a / sl_common_divisor(a, b), b);
}

static enum sl_status add_value(struct values *values, int64_t value) {
  SL_TRY(sl_grow(&values->value, &values->capacity, (size_t)values->count + 1, sizeof *values->value));
  values->value[values->count++] = value;
  return SL_OK;
}

/* All divisors of n up to `most`, ascending. */
static enum sl_status divisors(struct values *values, int64_t n, int64_t most) {
  for (int64_t d = 1; d <= n && d <= most; d++)
    if (n % d == 0) SL_TRY(add_value(values, d));
  return SL_OK;
}

static enum sl_status list_micro_batches(struct search *s) {
  struct sl_setup setup;
  SL_TRY(sl_setup_plan(&setup, s->options));
  enum sl_status status = SL_OK;
  const int64_t most = SL_MAX_TOKENS / setup.plan.seq;
  s->values = (struct values){.unit = 1, .count = most};
  if (sl_config_at(&setup.config, "train_batch_size") != NULL) {
    s->share = sl_product(setup.plan.micro_batch, setup.plan.n_micro);
    s->values.count = 0;
    status = divisors(&s->values, s->share, most);
  }
  sl_setup_free(&setup);
  return status;
}

/* Ranks that a world has a multiple of: replicas, and groups of the ranks that hold the same parameters (dp x cp) which
 * shard, or keep second copies, by themselves. */
static int64_t unit_of_worlds(const struct sl_config *c) {
  const int64_t groups[] = {sl_config_shard_size(c), c->zero.hpz_partition_size};
  int64_t same = c->sl.cp;
  for (int i = 0; i < 2; i++)
    if (groups[i] > 1) same = common_multiple(same, groups[i]);
  return sl_product(sl_product(c->sl.tp, c->sl.pp), same);
}

/* The worlds up to `most` that are multiples of `unit`: parts of one node, or whole nodes, since nobody has a part of
 * one beside others. Their replicas divide `share`; 0: any number of them will do. */
static enum sl_status add_worlds(struct search *s, int64_t unit, int64_t node, int64_t most, int64_t share) {
  for (int64_t world = unit; world <= most && world <= SL_MAX_WORLD; world += unit) {
    const bool whole = world <= node || world % node == 0, divides = share == 0 || share % (world / s->replica) == 0;
    if (whole && divides) SL_TRY(add_value(&s->values, world));
  }
  return SL_OK;
}

/* Needs no plan, because the search is for the number of ranks that have one. */
static enum sl_status list_worlds(struct search *s) {
  struct sl_config config;
  struct sl_cluster cluster;
  SL_TRY(sl_setup_config(&config, s->options));
  enum sl_status status = sl_cluster_load(&cluster, s->options->cluster);
  if (status == SL_OK) {
    const int64_t node = cluster.devices_per_node,
                  most = cluster.nodes > 0 ? sl_product(cluster.nodes, node) : MOST_RANKS;
    const int64_t unit = unit_of_worlds(&config), least = unit <= node ? unit : common_multiple(unit, node);
    const int64_t batch = config.train_batch_size, micro = config.train_micro_batch_size_per_gpu,
                  accumulation = config.gradient_accumulation_steps;
    s->replica = sl_product(sl_product(config.sl.tp, config.sl.pp), config.sl.cp);
    if (batch > 0 && micro > 0) s->share = batch / micro;
    if (most < least)
      snprintf(s->why, sizeof s->why, ": the ranks are a multiple of %lld, and the cluster has %lld devices",
               (long long)least, (long long)most);
    else if (batch > 0)
      status = add_worlds(s, unit, node, most, micro > 0 ? s->share : batch / (accumulation > 0 ? accumulation : 1));
    else
      status = add_worlds(s, unit, node, most, 0);
    sl_cluster_free(&cluster);
  }
  sl_config_free(&config);
  return status;
}

static enum sl_status list_lengths(struct search *s) {
  struct sl_model model;
  struct sl_config config;
  SL_TRY(sl_model_load(&model, s->options->model));
  const int64_t longest = sl_model_reads_tokens(&model) ? model.n_positions : 0;
  sl_model_free(&model);
  if (longest == 0) return sl_fail(SL_ERR_INPUT, "--max-seq: the model reads no sequences; expected a language model");
  int64_t unit = 1;
  while (unit < 128 && unit * 2 * 64 <= longest) unit *= 2;
  SL_TRY(sl_setup_config(&config, s->options));
  if (config.sl.cp > 1) unit = common_multiple(unit, sl_product(2, config.sl.cp)); /* two chunks a rank */
  if (config.sl.sequence_parallel) unit = common_multiple(unit, sl_product(config.sl.tp, config.sl.cp));
  sl_config_free(&config);
  s->values = (struct values){.unit = unit, .count = longest / unit};
  return SL_OK;
}

static enum sl_status list_values(struct search *s) {
  /* reports that it is missing */
  if (s->options->model == NULL) return sl_setup_plan(&(struct sl_setup){0}, s->options);
  if (s->what == SEQ) return list_lengths(s);
  return s->what == WORLD ? list_worlds(s) : list_micro_batches(s);
}

/* ---- trying one value ---- */

static enum sl_status apply(const struct search *s, int64_t value, struct sl_options *options,
                            struct sl_search_texts *texts) {
  *options = *s->options;
  options->max_micro_batch = options->min_world = options->max_seq = false;
  snprintf(texts->value, sizeof texts->value, "%lld", (long long)value);
  SL_TRY(sl_options_set(options, SL_CMD_PREDICT, whats[s->what].sets, texts->value));
  if (s->share == 0) return SL_OK;
  const int64_t accumulation = s->share / (s->what == WORLD ? value / s->replica : value);
  snprintf(texts->accumulation, sizeof texts->accumulation, "%lld", (long long)accumulation);
  return sl_options_set(options, SL_CMD_PREDICT, "grad-accum", texts->accumulation);
}

/* The probe of a value, if there has been one. */
static const json_t *find_probe(const struct search *s, int64_t value) {
  const json_t *probe;
  size_t i;
  json_array_foreach(s->probes, i,
                     probe) if (json_integer_value(json_object_get(probe, "value")) == value) return probe;
  return NULL;
}

/* Would it fit if the allocator reserved nothing? */
static bool fits_bare(const struct sl_trial *trial) {
  struct sl_fits f = trial->prediction.spaces;
  bool fits = true;
  f.space[SL_SPACE_DEVICE].need_bytes -= f.reserve_bytes;
  for (int i = 0; i < SL_SPACE_COUNT; i++) fits = fits && sl_fits_over(&f.space[i]) == 0;
  return fits;
}

/* Whether value i fits. A configuration that cannot be built does not, and `status` says why. */
static bool probe(struct search *s, int64_t i, enum sl_status *status) {
  struct sl_search_texts texts;
  struct sl_options options;
  struct sl_trial trial;
  const int64_t value = value_of(s, i);
  const json_t *known = find_probe(s, value);
  *status = SL_OK;
  if (known != NULL && !s->bare) return json_is_true(json_object_get(known, "fits"));
  *status = apply(s, value, &options, &texts);
  if (*status == SL_OK) *status = sl_trial_run(&trial, &options, SL_SETUP_SIMULATION);
  if (*status != SL_OK && s->why[0] == '\0')
    snprintf(s->why, sizeof s->why, ", not even %lld: %s", (long long)value, sl_error_message());
  if (*status != SL_OK) return false;
  json_array_append_new(
      s->probes, json_pack("{s:I, s:b, s:I, s:f}", "value", (json_int_t)value, "fits", (int)sl_trial_fits(&trial),
                           "need_bytes", (json_int_t)sl_trial_need(&trial), "step_time_s", trial.prediction.step_s));
  return s->bare ? fits_bare(&trial) : sl_trial_fits(&trial);
}

/* The index of the last value that fits, between `fits`, which does, and `fails`, which does not. */
static int64_t bisect(struct search *s, int64_t fits, int64_t fails) {
  while (llabs(fails - fits) > 1) {
    const int64_t middle = fits + (fails - fits) / 2;
    enum sl_status status;
    if (probe(s, middle, &status))
      fits = middle;
    else
      fails = middle;
    sl_error_clear();
  }
  return fits;
}

/* The smallest value that fits. Small worlds are tried first, since large ones take longer to build. */
static enum sl_status find_smallest(struct search *s, int64_t *index) {
  enum sl_status status;
  int64_t fails = -1, at = 0;
  if (s->values.count == 0) return SL_DONE;
  while (!probe(s, at, &status)) {
    sl_error_clear();
    fails = at;
    if (at + 1 >= s->values.count) return SL_DONE;
    at = 2 * at + 1 < s->values.count ? 2 * at + 1 : s->values.count - 1;
  }
  *index = bisect(s, at, fails);
  return SL_OK;
}

/* The first value that makes a plan, and whether it fits. Where the batch is kept, the smallest micro-batches may be
 * too many for a step. Fails as the first value does if none makes one. */
static enum sl_status find_plan(struct search *s, int64_t *index, bool *fits) {
  enum sl_status first;
  char said[2048];
  *index = 0;
  *fits = probe(s, 0, &first);
  if (first == SL_OK || s->values.value == NULL) return first;
  snprintf(said, sizeof said, "%s", sl_error_message());
  for (enum sl_status status = first; status != SL_OK; sl_error_clear()) {
    if (++*index == s->values.count) return sl_error_clear(), sl_error_relay(first, said);
    *fits = probe(s, *index, &status);
  }
  return SL_OK;
}

static enum sl_status find_largest(struct search *s, int64_t *index) {
  enum sl_status status;
  bool any;
  int64_t fits, next;
  if (s->values.count == 0) return SL_DONE;
  SL_TRY(find_plan(s, &fits, &any));
  if (!any) return SL_DONE;
  next = 2 * fits + 1;
  while (next < s->values.count && probe(s, next, &status)) {
    fits = next;
    next = 2 * next + 1;
  }
  sl_error_clear();
  *index = bisect(s, fits, next < s->values.count ? next : s->values.count);
  return SL_OK;
}

static enum sl_status find_edge(struct search *s, int64_t *index) {
  return s->what == WORLD ? find_smallest(s, index) : find_largest(s, index);
}

/* What is live grows with the value, but not what an allocator reserves beyond it: a value may fit behind one that does
 * not. So the search is for the last that fits without, and goes back from there. Beyond the last few it takes the
 * others for monotone. */
static enum sl_status find_best(struct search *s, int64_t *index) {
  enum { STEPS_BACK = 16 };
  const int back = s->what == WORLD ? 1 : -1;
  enum sl_status status;
  int64_t at = 0;
  s->bare = true;
  SL_TRY(find_edge(s, &at));
  s->bare = false;
  for (int i = 0; i < STEPS_BACK && at >= 0 && at < s->values.count; i++, at += back) {
    *index = at;
    if (probe(s, at, &status)) return SL_OK;
    if (status != SL_OK && status != SL_ERR_INPUT) return status;
    sl_error_clear(); /* it makes no plan, but the next may */
  }
  if (s->what != WORLD && at >= 0) s->values.count = at + 1;
  return find_edge(s, index);
}

/* ---- the search ---- */

static enum sl_status choose(struct search *s) {
  const bool asked[WHATS] = {s->options->max_micro_batch, s->options->min_world, s->options->max_seq};
  int count = 0;
  for (int i = 0; i < WHATS; i++) {
    if (!asked[i]) continue;
    s->what = (enum what)i;
    count++;
  }
  if (count > 1)
    return sl_fail(SL_ERR_INPUT,
                   "--%s: one search at a time; expected one of --max-micro-batch, --min-world, --max-seq",
                   whats[s->what].flag);
  if (s->what == WORLD && s->options->hostfile != NULL)
    return sl_fail(SL_ERR_INPUT,
                   "--hostfile: says how many ranks there are, which --min-world searches; expected one of "
                   "the two");
  if (sl_options_given(s->options, whats[s->what].sets))
    return sl_fail(SL_ERR_INPUT, "--%s: is what --%s searches; expected one of the two", whats[s->what].sets,
                   whats[s->what].flag);
  return SL_OK;
}

static json_t *result(const struct search *s, int64_t index) {
  const char *limit = index == s->values.count - 1 ? whats[s->what].limit : NULL;
  return json_pack("{s:s, s:I, s:s*, s:O}", "what", whats[s->what].sets, "found", (json_int_t)value_of(s, index),
                   "limit", limit, "probes", s->probes);
}

static enum sl_status nothing_fits(const struct search *s) {
  const json_t *last = json_array_get(s->probes, json_array_size(s->probes) - 1);
  char need[32];
  if (last == NULL)
    return sl_fail(SL_ERR_INPUT, "--%s: none makes a plan of this configuration%s%s", whats[s->what].flag,
                   s->why[0] != '\0' ? "" : ": no value can be tried", s->why);
  sl_format_bytes(need, sizeof need, (double)json_integer_value(json_object_get(last, "need_bytes")));
  return sl_fail(SL_ERR_CHECK,
                 "--%s: nothing fits: %lld needs %s of the device; without the flag, predict says what would help",
                 whats[s->what].flag, (long long)json_integer_value(json_object_get(last, "value")), need);
}

enum sl_status sl_search_run(const struct sl_options *options, struct sl_options *found, struct sl_search_texts *texts,
                             json_t **search) {
  struct search s = {.options = options, .probes = json_array()};
  enum sl_status status;
  int64_t index = 0;
  SL_GO(choose(&s));
  SL_GO(list_values(&s));
  status = find_best(&s, &index);
  if (status == SL_DONE) status = nothing_fits(&s);
  if (status != SL_OK) goto done;
  SL_GO(apply(&s, value_of(&s, index), found, texts));
  *search = result(&s, index);
done:
  json_decref(s.probes);
  free(s.values.value);
  return status;
}

void sl_search_tell(const json_t *search, FILE *out) {
  const char *sets = json_string_value(json_object_get(search, "what"));
  const char *limit = json_string_value(json_object_get(search, "limit"));
  const long long found = (long long)json_integer_value(json_object_get(search, "found"));
  const json_t *probe, *beyond = NULL;
  size_t i;
  int at = 0;
  while (at + 1 < WHATS && strcmp(whats[at].sets, sets) != 0) at++;
  json_array_foreach(json_object_get(search, "probes"), i, probe) {
    const long long value = (long long)json_integer_value(json_object_get(probe, "value"));
    if (json_is_true(json_object_get(probe, "fits"))) continue;
    const long long best = beyond != NULL ? (long long)json_integer_value(json_object_get(beyond, "value")) : 0;
    if (at == WORLD ? value > found : value < found) continue;
    if (beyond == NULL || llabs(value - found) < llabs(best - found)) beyond = probe;
  }
  fprintf(out, "%s that fits: %lld", whats[at].name, found);
  if (beyond != NULL) {
    char need[32];
    sl_format_bytes(need, sizeof need, (double)json_integer_value(json_object_get(beyond, "need_bytes")));
    fprintf(out, "; %lld needs %s of the device", (long long)json_integer_value(json_object_get(beyond, "value")),
            need);
  }
  if (limit != NULL) fprintf(out, "; %s", limit);
  fprintf(out, " (%zu looked at)\n", json_array_size(json_object_get(search, "probes")));
}
