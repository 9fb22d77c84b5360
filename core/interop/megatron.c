/* Megatron-LM's arguments, read; see megatron.h. */
#include "core/interop/megatron.h"

#include "core/interop/arguments.h"
#include "core/interop/megatron_rows.h"
#include "core/interop/paths.h"

#include <stdlib.h>
#include <string.h>

/* ---- the configuration ---- */

static enum sl_status put_row(json_t *config, const struct sl_arguments *a, const struct sl_argument *row) {
  json_t *value = NULL;
  if (row->kind == SL_ARGUMENT_FLAG) {
    value = json_boolean(sl_arguments_has(a, row->name));
  } else if (!sl_arguments_has(a, row->name)) {
    if (row->absent != NULL) value = json_loads(row->absent, JSON_DECODE_ANY, NULL);
  } else if (row->kind == SL_ARGUMENT_INT) {
    int64_t n;
    SL_TRY(sl_arguments_int(a, row->name, &n));
    value = json_integer(n);
  } else {
    double x;
    SL_TRY(sl_arguments_real(a, row->name, &x));
    value = json_real(x);
  }
  if (value != NULL) sl_interop_put(config, row->path, value);
  return SL_OK;
}

/* --recompute-activations is --recompute-granularity selective; "uniform" with one layer a piece is every layer from its input, which
 * was --checkpoint-activations or --activations-checkpoint-method in 2021. */
static enum sl_status put_recompute(json_t *config, const struct sl_arguments *a) {
  const char *granularity = sl_arguments_has(a, "recompute-activations") ? "selective" : NULL, *method = "uniform";
  int64_t layers = 1;
  if (sl_arguments_has(a, "checkpoint-activations")) granularity = "full";
  if (sl_arguments_has(a, "activations-checkpoint-method")) {
    SL_TRY(sl_arguments_text(a, "activations-checkpoint-method", &method));
    if (strcmp(method, "uniform") != 0)
      return sl_arguments_fail(a, "activations-checkpoint-method", "uniform: block is not modelled");
    granularity = "full";
  }
  if (sl_arguments_has(a, "activations-checkpoint-num-layers"))
    SL_TRY(sl_arguments_int(a, "activations-checkpoint-num-layers", &layers));
  if (layers != 1)
    return sl_arguments_fail(a, "activations-checkpoint-num-layers", "1: larger pieces are not modelled");
  if (sl_arguments_has(a, "recompute-granularity")) SL_TRY(sl_arguments_text(a, "recompute-granularity", &granularity));
  if (granularity == NULL) return SL_OK;
  if (strcmp(granularity, "full") != 0 && strcmp(granularity, "selective") != 0)
    return sl_arguments_fail(a, "recompute-granularity", "full or selective");
  if (sl_arguments_has(a, "recompute-num-layers")) SL_TRY(sl_arguments_int(a, "recompute-num-layers", &layers));
  if (strcmp(granularity, "full") == 0 && layers != 1)
    return sl_arguments_fail(a, "recompute-num-layers",
                             "1: pieces of several layers, or some layers alone, are not modelled");
  if (sl_arguments_has(a, "recompute-method")) {
    SL_TRY(sl_arguments_text(a, "recompute-method", &method));
    if (strcmp(method, "uniform") != 0)
      return sl_arguments_fail(a, "recompute-method", "uniform: block is not modelled");
  }
  sl_interop_put(config, "shardlab.recompute", json_string(granularity));
  if (strcmp(granularity, "full") == 0 || !sl_arguments_has(a, "recompute-modules")) return SL_OK;
  json_t *modules = sl_arguments_list(a, "recompute-modules");
  sl_interop_put(config, "shardlab.recompute_modules", modules);
  return SL_OK;
}

static enum sl_status put_attention(json_t *config, const struct sl_arguments *a) {
  static const char *const words[][2] = {{"flash", "flash"},
                                         {"fused", "cudnn"},
                                         {"unfused", "materialised"},
                                         {"auto", "flash"},
                                         {"local", "materialised"}};
  const char *backend = sl_arguments_has(a, "use-flash-attn") ? "flash" : "unfused";
  if (sl_arguments_has(a, "attention-backend")) SL_TRY(sl_arguments_text(a, "attention-backend", &backend));
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strcmp(words[i][0], backend) == 0) {
      sl_interop_put(config, "shardlab.attention", json_string(words[i][1]));
      return SL_OK;
    }
  return sl_arguments_fail(a, "attention-backend", "flash, fused, unfused, local or auto");
}

static enum sl_status put_optimizer(json_t *config, const struct sl_arguments *a) {
  const char *type = "adam";
  double betas[2] = {0.9, 0.999};
  if (sl_arguments_has(a, "optimizer")) SL_TRY(sl_arguments_text(a, "optimizer", &type));
  if (strcmp(type, "adam") != 0)
    return sl_arguments_fail(a, "optimizer", "adam: no other one of Megatron-LM is modelled");
  sl_interop_put(config, "optimizer.type", json_string("AdamW"));
  if (sl_arguments_has(a, "adam-beta1")) SL_TRY(sl_arguments_real(a, "adam-beta1", &betas[0]));
  if (sl_arguments_has(a, "adam-beta2")) SL_TRY(sl_arguments_real(a, "adam-beta2", &betas[1]));
  sl_interop_put(config, "optimizer.params.betas", json_pack("[f, f]", betas[0], betas[1]));
  return SL_OK;
}

/* Stages of a rank may be given as layers of one; stages of several a rank make the schedule interleaved. */
static enum sl_status put_pipeline(json_t *config, const struct sl_arguments *a) {
  const json_t *section = json_object_get(config, "shardlab");
  const int64_t pp = json_integer_value(json_object_get(section, "pp"));
  int64_t virtual = json_integer_value(json_object_get(section, "virtual_stages")), layers, each;
  if (sl_arguments_has(a, "num-layers-per-virtual-pipeline-stage")) {
    SL_TRY(sl_arguments_int(a, "num-layers-per-virtual-pipeline-stage", &each));
    SL_TRY(sl_arguments_int(a, "num-layers", &layers));
    if (pp < 1 || each < 1 || layers % pp != 0 || layers / pp % each != 0)
      return sl_arguments_fail(a, "num-layers-per-virtual-pipeline-stage",
                               "a divisor of num-layers / pipeline-model-parallel-size");
    virtual = layers / pp / each;
    sl_interop_put(config, "shardlab.virtual_stages", json_integer(virtual));
  }
  if (virtual > 1) sl_interop_put(config, "shardlab.schedule", json_string("interleaved"));
  if (sl_arguments_has(a, "use-tp-pp-dp-mapping"))
    sl_interop_put(config, "shardlab.rank_order", json_string("tp-pp-dp"));
  return SL_OK;
}

static enum sl_status make_config(json_t *config, const struct sl_arguments *a) {
  for (const struct sl_argument *row = sl_megatron_arguments; row->name != NULL; row++) SL_TRY(put_row(config, a, row));
  const bool sharded = sl_arguments_has(a, "use-distributed-optimizer");
  sl_interop_put(config, "shardlab.preset", json_string(sharded ? "megatron-distributed-optimizer" : "megatron-lm"));
  SL_TRY(put_optimizer(config, a));
  SL_TRY(put_pipeline(config, a));
  SL_TRY(put_attention(config, a));
  SL_TRY(put_recompute(config, a));
  if (sl_arguments_has(a, "micro-batch-size")) return SL_OK;
  return sl_arguments_fail(a, "micro-batch-size",
                           "sequences a step of a rank, without which Megatron-LM does not start");
}

/* ---- the model ---- */

enum { HAS_ROPE = 1, HAS_RMS = 2, HAS_SWIGLU = 4, NO_BIAS = 8, LIKE_LLAMA = 15 };

static enum sl_status features_of(const struct sl_arguments *a, int *features) {
  const char *text;
  *features = (sl_arguments_has(a, "swiglu") ? HAS_SWIGLU : 0) |
              (sl_arguments_has(a, "disable-bias-linear") ? NO_BIAS : 0) |
              (sl_arguments_has(a, "use-rotary-position-embeddings") ? HAS_ROPE : 0);
  if (sl_arguments_has(a, "normalization")) {
    SL_TRY(sl_arguments_text(a, "normalization", &text));
    if (strcmp(text, "RMSNorm") == 0) *features |= HAS_RMS;
  }
  if (!sl_arguments_has(a, "position-embedding-type")) return SL_OK;
  SL_TRY(sl_arguments_text(a, "position-embedding-type", &text));
  if (strcmp(text, "rope") == 0) *features |= HAS_ROPE;
  if (strcmp(text, "rope") == 0 || strcmp(text, "learned_absolute") == 0) return SL_OK;
  return sl_arguments_fail(a, "position-embedding-type", "rope or learned_absolute");
}

/* Sizes of a model's config.json: the argument, the key in llama's and in gpt2's, what holds where it is absent (0: it must be there, -1: the key stays out). */
static enum sl_status put_sizes(json_t *model, const struct sl_arguments *a, bool llama) {
  static const struct {
    const char *argument, *keys[2]; /* of gpt2, of llama */
  } sizes[] = {{"num-layers", {"n_layer", "num_hidden_layers"}},
               {"hidden-size", {"n_embd", "hidden_size"}},
               {"num-attention-heads", {"n_head", "num_attention_heads"}},
               {"max-position-embeddings", {"n_positions", "max_position_embeddings"}},
               {"vocab-size", {"vocab_size", "vocab_size"}}};
  int64_t n;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    SL_TRY(sl_arguments_int(a, sizes[i].argument, &n));
    json_object_set_new(model, sizes[i].keys[llama], json_integer(n));
    if (i == 1 && !sl_arguments_has(a, "ffn-hidden-size")) /* 4 h, or 2/3 of that to a multiple of 64 */
      json_object_set_new(model, llama ? "intermediate_size" : "n_inner",
                          json_integer(llama ? n * 4 * 2 / 3 / 64 * 64 : 4 * n));
  }
  if (!sl_arguments_has(a, "ffn-hidden-size")) return SL_OK;
  SL_TRY(sl_arguments_int(a, "ffn-hidden-size", &n));
  json_object_set_new(model, llama ? "intermediate_size" : "n_inner", json_integer(n));
  return SL_OK;
}

static enum sl_status put_llama(json_t *model, const struct sl_arguments *a) {
  int64_t n;
  double theta = 10000, dropout = 0.1;
  if (sl_arguments_has(a, "num-query-groups")) {
    SL_TRY(sl_arguments_int(a, "num-query-groups", &n));
    if (sl_arguments_has(a, "group-query-attention"))
      json_object_set_new(model, "num_key_value_heads", json_integer(n));
  }
  if (sl_arguments_has(a, "kv-channels")) {
    SL_TRY(sl_arguments_int(a, "kv-channels", &n));
    json_object_set_new(model, "head_dim", json_integer(n));
  }
  if (sl_arguments_has(a, "rotary-base")) SL_TRY(sl_arguments_real(a, "rotary-base", &theta));
  if (sl_arguments_has(a, "attention-dropout")) SL_TRY(sl_arguments_real(a, "attention-dropout", &dropout));
  json_object_set_new(model, "rope_theta", json_real(theta));
  json_object_set_new(model, "attention_dropout", json_real(dropout));
  dropout = 0.1;
  if (sl_arguments_has(a, "hidden-dropout")) SL_TRY(sl_arguments_real(a, "hidden-dropout", &dropout));
  if (dropout != 0)
    return sl_arguments_fail(a, "hidden-dropout",
                             "0 for a model with RMSNorm and swiglu (Megatron-LM's default is 0.1)");
  json_object_set_new(model, "tie_word_embeddings",
                      json_boolean(!sl_arguments_has(a, "untie-embeddings-and-output-weights")));
  return SL_OK;
}

static enum sl_status put_gpt2(json_t *model, const struct sl_arguments *a) {
  double hidden = 0.1, attention = 0.1;
  if (sl_arguments_has(a, "group-query-attention"))
    return sl_arguments_fail(a, "group-query-attention",
                             "a model with rope, RMSNorm, swiglu and no biases: gpt2 has none");
  if (sl_arguments_has(a, "untie-embeddings-and-output-weights"))
    return sl_arguments_fail(a, "untie-embeddings-and-output-weights", "tied ones, as gpt2's are");
  if (sl_arguments_has(a, "hidden-dropout")) SL_TRY(sl_arguments_real(a, "hidden-dropout", &hidden));
  if (sl_arguments_has(a, "attention-dropout")) SL_TRY(sl_arguments_real(a, "attention-dropout", &attention));
  json_object_set_new(model, "embd_pdrop", json_real(hidden));
  json_object_set_new(model, "resid_pdrop", json_real(hidden));
  json_object_set_new(model, "attn_pdrop", json_real(attention));
  return SL_OK;
}

static enum sl_status make_model(json_t *model, const struct sl_arguments *a) {
  int features;
  SL_TRY(features_of(a, &features));
  if (features != 0 && features != LIKE_LLAMA)
    return sl_fail(SL_ERR_INPUT,
                   "%s: the model has %s%s%s%s but not all of rope, RMSNorm, swiglu and disable-bias-linear; expected "
                   "llama, which "
                   "has all four, or gpt2, which has none, or --model",
                   a->name, features & HAS_ROPE ? "rope " : "", features & HAS_RMS ? "RMSNorm " : "",
                   features & HAS_SWIGLU ? "swiglu " : "", features & NO_BIAS ? "disable-bias-linear" : "");
  json_object_set_new(model, "model_type", json_string(features != 0 ? "llama" : "gpt2"));
  SL_TRY(put_sizes(model, a, features != 0));
  return features != 0 ? put_llama(model, a) : put_gpt2(model, a);
}

/* ---- what is left ---- */

static bool is_among(const char *const *names, const char *name) {
  while (*names != NULL && strcmp(*names, name) != 0) names++;
  return *names != NULL;
}

/* "pretrain_bert.py" is another model than what the arguments alone say. */
static enum sl_status check_program(const struct sl_arguments *a) {
  for (size_t i = 0; i < a->words.count; i++) {
    const char *word = a->words.list[i], *slash = strrchr(word, '/'), *file = slash != NULL ? slash + 1 : word;
    const size_t length = strlen(file);
    if (strncmp(file, "pretrain_", 9) != 0 || length < 4 || strcmp(file + length - 3, ".py") != 0) continue;
    if (strncmp(file, "pretrain_gpt", 12) != 0)
      return sl_fail(SL_ERR_INPUT, "%s: runs %s, which is not modelled; expected pretrain_gpt.py", a->name, file);
  }
  return SL_OK;
}

/* Neutral values of arguments that are refused otherwise. */
static enum sl_status check_rotary(const struct sl_arguments *a) {
  double percent = 1;
  if (sl_arguments_has(a, "rotary-percent")) SL_TRY(sl_arguments_real(a, "rotary-percent", &percent));
  if (percent != 1) return sl_arguments_fail(a, "rotary-percent", "1.0: no less is modelled");
  const char *type = "learned_absolute";
  if (!sl_arguments_has(a, "no-position-embedding")) return SL_OK;
  if (sl_arguments_has(a, "position-embedding-type")) SL_TRY(sl_arguments_text(a, "position-embedding-type", &type));
  if (strcmp(type, "rope") == 0 || sl_arguments_has(a, "use-rotary-position-embeddings")) return SL_OK;
  return sl_arguments_fail(a, "no-position-embedding",
                           "--position-embedding-type rope beside it: a model without positions is not modelled");
}

/* Of what was not asked for: refused, or named in one warning. */
static enum sl_status account(const struct sl_arguments *a) {
  char text[1024] = "";
  size_t used = 0;
  for (size_t i = 0; i < a->count; i++) {
    const struct sl_argument_given *g = &a->list[i];
    if (is_among(sl_megatron_refused, g->name)) return sl_arguments_fail(a, g->name, "none: it is not modelled");
    if (g->used || is_among(sl_megatron_beside, g->name)) continue;
    const int n = snprintf(text + used, sizeof text - used, " --%s", g->name);
    if (n > 0 && used + (size_t)n < sizeof text) used += (size_t)n;
    text[used] = '\0';
  }
  if (used > 0) sl_warn("%s: no counterpart, so without effect:%s", a->name, text);
  return SL_OK;
}

enum sl_status sl_megatron_read(const char *name, const char *text, json_t **config, json_t **model) {
  struct sl_arguments a;
  enum sl_status status;
  *config = *model = NULL;
  SL_TRY(sl_arguments_read(&a, name, text));
  *config = json_object();
  SL_GO(check_program(&a));
  SL_GO(check_rotary(&a));
  SL_GO(make_config(*config, &a));
  if (sl_arguments_has(&a, "vocab-size")) {
    *model = json_object();
    SL_GO(make_model(*model, &a));
  } else {
    sl_arguments_pass(&a, sl_megatron_of_model);
  }
  SL_GO(account(&a));
done:
  sl_arguments_free(&a);
  if (status != SL_OK) {
    json_decref(*config);
    json_decref(*model);
    *config = *model = NULL;
  }
  return status;
}
