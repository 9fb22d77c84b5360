/* Tries changes, kind by kind; see changes.h. */
#include "cli/changes.h"

#include "core/base/checked.h"

#include <stdio.h>
#include <string.h>

/* The state of the search. Changes of one kind are tried from the smallest on, so the first that fits is the
 * smallest. */
struct search {
  const struct sl_options *options;
  const struct sl_setup *setup;
  struct sl_changes *out;
};

static struct sl_change with(struct sl_change change, const char *name, const char *value) {
  if (change.count == SL_CHANGE_FLAGS) return change;
  change.flag[change.count].name = name;
  snprintf(change.flag[change.count].value, sizeof change.flag[0].value, "%s", value);
  change.count++;
  return change;
}

static struct sl_change with_number(struct sl_change change, const char *name, int64_t value) {
  char text[24];
  snprintf(text, sizeof text, "%lld", (long long)value);
  return with(change, name, text);
}

/* The change's texts are borrowed. */
static void apply(const struct sl_change *change, struct sl_options *options) {
  for (int i = 0; i < change->count; i++)
    if (sl_options_set(options, SL_CMD_PREDICT, change->flag[i].name, change->flag[i].value) != SL_OK) sl_error_clear();
}

void sl_change_text(const struct sl_change *change, char *out, size_t size) {
  size_t used = 0;
  out[0] = '\0';
  for (int i = 0; i < change->count && used < size; i++)
    used += (size_t)snprintf(out + used, size - used, "%s--%s%s%s", i > 0 ? " " : "", change->flag[i].name,
                             change->flag[i].value[0] != '\0' ? " " : "", change->flag[i].value);
}

/* Keeps the fastest changes: the list is sorted by step time. */
static void keep_fastest(struct sl_changes *out, const struct sl_change *change) {
  int at = out->count < SL_CHANGES ? out->count : SL_CHANGES - 1;
  if (out->count == SL_CHANGES && change->trial.prediction.step_s >= out->change[at].trial.prediction.step_s) return;
  for (; at > 0 && out->change[at - 1].trial.prediction.step_s > change->trial.prediction.step_s; at--)
    out->change[at] = out->change[at - 1];
  out->change[at] = *change;
  if (out->count < SL_CHANGES) out->count++;
}

/* The bytes of the device beyond which it does not matter how many a change needs: it does not fit, and another needs
 * less. 0: it does matter, as for the smallest arena where that alone is limited. */
static int64_t most_of_use(const struct search *s) {
  const struct sl_device *device = &s->setup->cluster.device;
  const int64_t least = s->out->least_bytes;
  if (device->memory == 0 || device->device_memory > 0 || least == 0) return 0;
  return device->memory > least ? device->memory : least;
}

/* Whether the job fits with this change. A change that cannot be built, or that alters the global batch, does not
 * count. */
static bool fits_with(struct search *s, struct sl_change change) {
  struct sl_options options = *s->options;
  apply(&change, &options);
  if (sl_trial_fit(&change.trial, &options, most_of_use(s)) != SL_OK) {
    sl_error_clear();
    return false;
  }
  const int64_t need = sl_trial_need(&change.trial), arena = change.trial.prediction.spaces.arena_bytes;
  if (change.trial.global_batch != s->setup->plan.global_batch) return false;
  if (s->out->least_bytes == 0 || need < s->out->least_bytes) s->out->least_bytes = need;
  if (s->out->least_arena_bytes == 0 || arena < s->out->least_arena_bytes) s->out->least_arena_bytes = arena;
  if (!sl_trial_fits(&change.trial)) return false;
  keep_fastest(s->out, &change);
  return true;
}

/* Micro-batches of 1 / parts the size, and parts times as many. */
static struct sl_change with_batch(const struct search *s, struct sl_change change, int64_t parts) {
  const struct sl_plan *plan = &s->setup->plan;
  change = with_number(change, "micro-batch", plan->micro_batch / parts);
  return with_number(change, "grad-accum", sl_product(plan->n_micro, parts));
}

/* A step of very many micro-batches takes long to build, and nobody trains that way. Nor does anybody hold activations
 * of very many blocks at once, as GPipe does, of all micro-batches. */
static bool may_have(const struct search *s, int64_t micro_batches) {
  enum { MICRO_BATCHES = 1024, HELD_BLOCKS = 4096 };
  const struct sl_plan *plan = &s->setup->plan;
  const bool holds_all = plan->pp > 1 && strcmp(plan->config->sl.schedule, "gpipe") == 0;
  const int64_t blocks = (plan->model->n_layer + plan->pp - 1) / plan->pp;
  return micro_batches <= MICRO_BATCHES && (!holds_all || sl_product(micro_batches, blocks) <= HELD_BLOCKS);
}

static bool may_part(const struct search *s, int64_t parts) {
  const struct sl_plan *plan = &s->setup->plan;
  return plan->micro_batch % parts == 0 && may_have(s, sl_product(plan->n_micro, parts));
}

static void try_batches(struct search *s, struct sl_change base) {
  for (int64_t parts = 2; may_part(s, parts); parts *= 2)
    if (fits_with(s, with_batch(s, base, parts))) return;
}

static bool recomputes_all(const struct search *s) {
  const struct sl_config *config = s->setup->plan.config;
  return config->sl.recompute_count == 1 && config->sl.recompute[0] == SL_RECOMPUTE_FULL;
}

static bool reads_tokens(const struct search *s) {
  return sl_model_reads_tokens(&s->setup->model);
}

static struct sl_change with_recompute(const struct search *s, struct sl_change change) {
  return recomputes_all(s) || !reads_tokens(s) ? change : with(change, "recompute", "full");
}

static void try_recompute(struct search *s) {
  static const struct sl_change none = {.count = 0};
  const struct sl_config *config = s->setup->plan.config;
  if (!reads_tokens(s)) return;
  if (!recomputes_all(s)) {
    const bool selective = config->sl.attention == SL_ATTENTION_MATERIALISED && config->sl.recompute[0] == 0;
    if (selective && fits_with(s, with(none, "recompute", "selective"))) return;
    if (fits_with(s, with(none, "recompute", "full"))) return;
  }
  if (!config->activations.on_host) fits_with(s, with(with_recompute(s, none), "cpu-checkpointing", ""));
}

/* A framework's preset says by itself what is sharded. */
static void try_presets(struct search *s) {
  const char *preset = s->setup->plan.config->sl.preset;
  while ((preset = sl_strategy_more_sharded(preset)) != NULL)
    if (fits_with(s, with((struct sl_change){.count = 0}, "preset", preset))) return;
}

/* With all states sharded: by stage 3, or by the preset that shards most. */
static struct sl_change with_all_sharded(const struct search *s, struct sl_change change) {
  const char *most = NULL, *preset = s->setup->plan.config->sl.preset;
  while ((preset = sl_strategy_more_sharded(preset)) != NULL) most = preset;
  if (most != NULL) return with(change, "preset", most);
  return s->setup->plan.strategy.zero_stage != 3 ? with_number(change, "zero-stage", 3) : change;
}

static void try_stages(struct search *s) {
  for (int stage = s->setup->plan.strategy.zero_stage + 1; stage <= 3; stage++)
    if (fits_with(s, with_number((struct sl_change){.count = 0}, "zero-stage", stage))) return;
}

/* Parameters in host memory need stage 3, which a preset has or has not, whatever is asked for beside it. */
static struct sl_change with_param_on_host(const struct search *s, struct sl_change change) {
  const struct sl_config *config = s->setup->plan.config;
  change = with(change, "offload-param", "cpu");
  return config->zero.stage == 3 || config->sl.preset[0] != '\0' ? change : with_number(change, "zero-stage", 3);
}

static void try_offload(struct search *s) {
  const struct sl_strategy *strategy = &s->setup->plan.strategy;
  struct sl_change optimizer = {.count = 0}, param = {.count = 0};
  if (!strategy->offload_optimizer) optimizer = with(optimizer, "offload-optimizer", "cpu");
  if (optimizer.count > 0 && fits_with(s, optimizer)) return;
  if (strategy->offload_params || strategy->zero_stage != 3) return;
  if (fits_with(s, with_param_on_host(s, param))) return;
  if (optimizer.count > 0) fits_with(s, with_param_on_host(s, optimizer));
}

static void try_tensor_parallel(struct search *s, struct sl_change base) {
  const struct sl_plan *plan = &s->setup->plan;
  if (!reads_tokens(s)) return;
  for (int64_t more = 2; more <= plan->cluster->devices_per_node / plan->tp && more <= plan->dp; more *= 2) {
    const int64_t micro_batches = sl_product(plan->n_micro, more);
    struct sl_change change = with_number(base, "tp", sl_product(plan->tp, more));
    if (may_have(s, micro_batches) && fits_with(s, with_number(change, "grad-accum", micro_batches))) return;
  }
}

/* Tries several changes at once, smaller sets first. */
static void try_together(struct search *s) {
  const int64_t micro = s->setup->plan.micro_batch;
  const struct sl_strategy *strategy = &s->setup->plan.strategy;
  struct sl_change all = with_recompute(s, (struct sl_change){.count = 0});
  try_batches(s, all);
  try_tensor_parallel(s, all);
  all = with_all_sharded(s, all);
  fits_with(s, all);
  if (micro > 1 && may_part(s, micro)) fits_with(s, with_batch(s, all, micro));
  if (s->out->count > 0) return;
  all = (struct sl_change){.count = 0};
  if (!strategy->offload_optimizer) all = with(all, "offload-optimizer", "cpu");
  if (!strategy->offload_params) all = with_param_on_host(s, all);
  if (fits_with(s, all)) return;
  all = with_recompute(s, all);
  if (fits_with(s, all)) return;
  if (micro > 1 && may_part(s, micro)) fits_with(s, with_batch(s, all, micro));
}

/* The bytes of all devices and their hosts; INT64_MAX if the cluster does not say how much memory its hosts have. */
static int64_t all_memory(const struct sl_plan *plan) {
  const struct sl_cluster *c = plan->cluster;
  const int64_t nodes = (plan->world + c->devices_per_node - 1) / c->devices_per_node;
  if (c->device.kind == SL_DEVICE_CPU) return sl_product(nodes, c->device.memory);
  if (c->host_memory == 0) return INT64_MAX;
  return sl_sum(sl_product(plan->world, c->device.memory), sl_product(nodes, c->host_memory));
}

/* The bytes of one copy of parameters and optimizer states. No change gets below it, wherever the copy is. */
static int64_t states(const struct sl_plan *plan) {
  const struct sl_state_bytes each = sl_plan_state_bytes(plan);
  return sl_product(sl_model_numel(plan->model), each.param + each.optimizer);
}

void sl_changes_find(struct sl_changes *out, const struct sl_options *options, const struct sl_setup *setup) {
  struct search s = {.options = options, .setup = setup, .out = out};
  *out = (struct sl_changes){.states_bytes = states(&setup->plan)};
  if (out->states_bytes > all_memory(&setup->plan)) return;
  out->states_bytes = 0;
  try_batches(&s, (struct sl_change){.count = 0});
  try_recompute(&s);
  try_stages(&s);
  try_presets(&s);
  try_offload(&s);
  try_tensor_parallel(&s, (struct sl_change){.count = 0});
  if (out->count == 0) try_together(&s);
}
