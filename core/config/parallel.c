/* The keys of parallelism. DeepSpeed's own spellings of what the "shardlab" section also says (tensor_parallel,
 * sequence_parallel_size, pipeline, MiCS) are taken over, and the parallel keys are checked against each other. Checks
 * that need the number of ranks or the model are left to the plan, the limits of frameworks to plan/refusals.c. */
#include "core/config/parallel.h"
#include "core/base/checked.h"
#include "core/base/json_get.h"
#include "core/base/limits.h"
#include "core/config/convert.h"
#include "core/config/fields.h"
#include "core/config/read.h"
#include "core/config/words.h"

#include <math.h>
#include <string.h>

/* The integer at `path`; false if it is absent or below `low`, which means "none". */
static bool given_integer(const struct sl_config *config, const char *path, int64_t low, int64_t *out) {
  const json_t *value = sl_config_at(config, path);
  if (!json_is_number(value)) return false;
  const double number = json_number_value(value);
  *out = number < 0x1p62 ? (int64_t)fmax(number, -1) : SL_HUGE;
  return *out >= low;
}

/* One degree with two keys: `key` of the "shardlab" section with its `value`, and DeepSpeed's `other`. */
static enum sl_status take_degree(const struct sl_config *config, const char *key, const char *other, int64_t low,
                                  int *value) {
  int64_t asked;
  if (!given_integer(config, other, low, &asked)) return SL_OK;
  if (asked > SL_MAX_DEGREE)
    return sl_json_fail(&config->doc, other, "is %s; expected an integer from %lld to %lld", sl_count_text(asked).text,
                        (long long)low, (long long)SL_MAX_DEGREE);
  if (sl_config_at(config, key) != NULL && asked != *value)
    return sl_json_fail(&config->doc, other, "is %lld, but %s is %d; expected one of the two, or the same",
                        (long long)asked, key, *value);
  *value = (int)asked;
  return SL_OK;
}

const char *sl_config_autotp_key(const json_t *root) {
  static const struct {
    const char *key;
    double least;
  } keys[] = {{SL_AUTOTP_SIZE, 1}, {SL_AUTOTP_TP_SIZE, 2}, {SL_AUTOTP_TP_SIZE_LONG, 2}};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    if (json_number_value(sl_json_at(root, keys[i].key)) >= keys[i].least) return keys[i].key;
  return NULL;
}

static enum sl_status take_tensor_parallel(struct sl_config *config) {
  const char *tp_size = sl_config_at(config, SL_AUTOTP_TP_SIZE) != NULL ? SL_AUTOTP_TP_SIZE : SL_AUTOTP_TP_SIZE_LONG;
  const char *asked = sl_config_autotp_key(config->doc.root);
  int64_t automatic, size;
  if (given_integer(config, SL_AUTOTP_SIZE, 1, &automatic) && given_integer(config, tp_size, 2, &size) &&
      automatic != size)
    return sl_json_fail(&config->doc, tp_size,
                        "is %lld, but " SL_AUTOTP_SIZE " is %lld; expected one of the two, or the same",
                        (long long)size, (long long)automatic);
  if (asked != NULL && given_integer(config, asked, 2, &size) && sl_config_at(config, "shardlab.tp_vocab") == NULL)
    config->sl.tp_vocab = SL_TP_VOCAB_AUTOTP;
  SL_TRY(take_degree(config, "shardlab.tp", SL_AUTOTP_SIZE, 1, &config->sl.tp));
  return take_degree(config, "shardlab.tp", tp_size, 2, &config->sl.tp);
}

/* Ulysses (deepspeed/sequence/layer.py): ranks that share a sequence exchange heads for tokens. */
static enum sl_status take_sequence_parallel(struct sl_config *config) {
  static const char key[] = "sequence_parallel_size";
  int64_t size;
  SL_TRY(take_degree(config, "shardlab.cp", key, 1, &config->sl.cp));
  const bool says_how = sl_config_at(config, "shardlab.cp_comm_type") != NULL;
  if (given_integer(config, key, 2, &size) && !says_how) config->sl.cp_comm = SL_CP_A2A;
  return SL_OK;
}

/* Layers that PipelineModule repeats at once (runtime/pipe/module.py, forward); its engine alone reads it. */
static void take_checkpoint_interval(struct sl_config *config) {
  static const char key[] = "pipeline.activation_checkpoint_interval";
  int64_t layers;
  if (!given_integer(config, key, 1, &layers) || sl_config_at(config, "shardlab.recompute") != NULL) return;
  if (config->sl.pp > 1 && layers == 1)
    config->sl.recompute[0] = SL_RECOMPUTE_FULL;
  else
    sl_config_warn(config, key,
                   config->sl.pp > 1 ? "has no effect but for 1, which is shardlab.recompute \"full\""
                                     : "has no effect without a pipeline, as in DeepSpeed");
}

/* DeepSpeed does not check the "pipeline" object; we read stages and how layers are divided among them. */
static enum sl_status take_pipeline(struct sl_config *config) {
  static const char *const methods[] = {"pipeline.partition_method", "pipeline.partition"};
  char shown[48];
  const json_t *stages = sl_config_at(config, "pipeline.stages");
  if (stages != NULL && (!json_is_integer(stages) || json_integer_value(stages) < 1))
    return sl_json_fail(&config->doc, "pipeline.stages", "is %s; expected \"auto\" or an integer >= 1",
                        sl_config_show(stages, shown, sizeof shown));
  SL_TRY(take_degree(config, "shardlab.pp", "pipeline.stages", 1, &config->sl.pp));
  take_checkpoint_interval(config);
  for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
    const json_t *method = sl_config_at(config, methods[i]);
    if (method == NULL) continue;
    const char *text = json_is_string(method) ? json_string_value(method) : "";
    const int word = sl_config_word_index("uniform|parameters|best", text, false);
    if (word < 0)
      return sl_json_fail(&config->doc, methods[i], "is %s; expected uniform or parameters (others are not modelled)",
                          sl_config_show(method, shown, sizeof shown));
    if (word > SL_STAGES_PARAMETERS) continue;
    if (sl_config_at(config, "shardlab.stages") != NULL && config->sl.stages_by != (enum sl_stages_by)word)
      return sl_json_fail(&config->doc, methods[i],
                          "is \"%s\", but shardlab.stages says otherwise; expected one of "
                          "the two, or the same",
                          text);
    config->sl.stages_by = (enum sl_stages_by)word;
  }
  return SL_OK;
}

static enum sl_status check_sharding(const struct sl_config *config) {
  const int64_t mics = config->zero.mics_shard_size, size = config->sl.shard_size;
  if (mics > 0 && size > 0 && mics != size)
    return sl_json_fail(&config->doc, "zero_optimization.mics_shard_size",
                        "is %lld, but shardlab.shard_size is %lld; expected one of the two, or the same",
                        (long long)mics, (long long)size);
  if (mics > 0 && sl_config_since(config, 0, 19, 7))
    return sl_json_fail(&config->doc, "zero_optimization.mics_shard_size",
                        "MiCS ZeRO-3 sharding has been removed; 'zero_optimization.mics_shard_size' is no longer "
                        "supported (shardlab.ds_version %s; shardlab.shard_size says the same)",
                        config->ds_version);
  if (sl_config_shard_size(config) == 1)
    return sl_json_fail(&config->doc, size > 0 ? "shardlab.shard_size" : "zero_optimization.mics_shard_size",
                        "is 1, which shards nothing; expected 0 (all ranks) or an integer >= 2");
  return SL_OK;
}

static enum sl_status check_lists(const struct sl_config *config) {
  const int64_t stages = sl_product(config->sl.pp, config->sl.virtual_stages);
  if (config->sl.recompute_count != 1 && config->sl.recompute_count != config->sl.pp)
    return sl_json_fail(&config->doc, "shardlab.recompute", "has %d entries; expected 1, or one a pipeline rank: %d",
                        config->sl.recompute_count, config->sl.pp);
  if (config->sl.stages_by == SL_STAGES_LIST && config->sl.stage_count != stages)
    return sl_json_fail(&config->doc, "shardlab.stages",
                        "has %d entries; expected one a stage: pp %d x virtual_stages %d = %lld",
                        config->sl.stage_count, config->sl.pp, config->sl.virtual_stages, (long long)stages);
  return SL_OK;
}

/* Settings of delayed scaling. */
static void warn_unused_fp8(const struct sl_config *c) {
  static const char *const keys[] = {"shardlab.fp8_format", "shardlab.fp8_margin", "shardlab.fp8_amax_compute_algo",
                                     "shardlab.fp8_amax_history_len"};
  const bool other[] = {c->sl.fp8_format != SL_FP8_HYBRID, c->sl.fp8_margin != 0,
                        c->sl.fp8_amax_compute_algo != SL_FP8_MAX, c->sl.fp8_amax_history_len != 1024};
  for (int i = 0; i < 4; i++)
    if (other[i] && !c->sl.fp8) sl_config_warn(c, keys[i], "has no effect without shardlab.fp8");
  if (c->sl.fp8_recipe != SL_FP8_TENSORWISE && !c->sl.fp8)
    sl_config_warn(c, "shardlab.fp8_recipe", "has no effect without shardlab.fp8");
  if (c->sl.fp8_param_gather && (!c->sl.fp8 || c->sl.kernels != SL_KERNELS_MEGATRON_CORE))
    sl_config_warn(c, "shardlab.fp8_param_gather",
                   "has no effect without shardlab.fp8 and the kernels \"megatron-core\"");
}

/* Settings of what is not asked for. */
static void warn_unused(const struct sl_config *c) {
  bool recomputes = false, selects = false;
  for (int i = 0; i < c->sl.recompute_count; i++) {
    recomputes |= c->sl.recompute[i] != SL_RECOMPUTE_NONE;
    selects |= c->sl.recompute[i] == SL_RECOMPUTE_SELECTIVE;
  }
  if (c->sl.cp <= 1 && c->sl.cp_comm != SL_CP_ALL_GATHER)
    sl_config_warn(c, "shardlab.cp_comm_type", "has no effect without shardlab.cp above 1");
  if (c->sl.tp <= 1 && c->sl.async_tp)
    sl_config_warn(c, "shardlab.async_tp", "has no effect without shardlab.tp above 1");
  if (c->sl.tf32 && sl_config_product_dtype(c) != SL_TF32)
    sl_config_warn(c, "shardlab.tf32", "has no effect but on fp32 products");
  if (!recomputes && c->sl.recompute_every > 1)
    sl_config_warn(c, "shardlab.recompute_every", "has no effect without shardlab.recompute");
  if (!selects && (c->sl.recompute_norms || !c->sl.recompute_attention))
    sl_config_warn(c, "shardlab.recompute_modules", "has no effect unless shardlab.recompute is \"selective\"");
  if (c->sl.eval_interval == 0 && c->sl.eval_iters != 100) /* its default */
    sl_config_warn(c, "shardlab.eval_iters", "has no effect without shardlab.eval_interval");
  warn_unused_fp8(c);
}

/* PyTorch's dropout, which all frameworks use, keeps its mask for the backward (aten's native_dropout); our kernels
 * draw it again. DeepSpeed all-reduces buckets that have several owners; our backend scatters them. */
static void choose_by_kernels(struct sl_config *c) {
  const bool frameworks = c->sl.kernels != SL_KERNELS_SHARDLAB;
  if (sl_config_at(c, "shardlab.store_dropout_masks") == NULL) c->sl.store_dropout_masks = frameworks;
  if (sl_config_at(c, "zero_optimization.use_multi_rank_bucket_allreduce") == NULL)
    c->zero.multi_rank_allreduce &= frameworks;
}

enum sl_status sl_config_check_parallel(struct sl_config *config) {
  choose_by_kernels(config);
  SL_TRY(take_tensor_parallel(config));
  SL_TRY(take_sequence_parallel(config));
  SL_TRY(take_pipeline(config));
  SL_TRY(check_sharding(config));
  SL_TRY(check_lists(config));
  warn_unused(config);
  if (config->sl.sequence_parallel && config->sl.tp == 1) {
    sl_config_warn(config, "shardlab.sequence_parallel",
                   "Disabling sequence parallelism because tensor model parallelism is disabled");
    config->sl.sequence_parallel = false;
  }
  return SL_OK;
}
