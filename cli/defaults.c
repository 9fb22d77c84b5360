/* Fills in defaults; see defaults.h. */
#include "cli/defaults.h"

#include "core/base/checked.h"
#include "core/base/json_get.h"
#include "core/base/json_write.h"
#include "core/base/listing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sl_defaults_set(json_t *object, const char *path, json_t *value) {
  char key[64];
  for (;;) {
    const size_t length = strcspn(path, ".|");
    snprintf(key, sizeof key, "%.*s", (int)length, path);
    if (path[length] != '.') break;
    json_t *section = json_object_get(object, key);
    if (section == NULL || json_is_null(section)) {
      if (value == NULL) return;
      section = json_object();
      json_object_set_new(object, key, section);
    } else if (!json_is_object(section)) {
      json_decref(value); /* it stays for the reader, who says what is wrong with it */
      return;
    }
    object = section;
    path += length + 1;
  }
  if (value != NULL)
    json_object_set_new(object, key, value);
  else
    json_object_del(object, key);
}

/* ---- "auto" ---- */

struct taken {
  json_t *root;
  struct sl_listing filled; /* the values that were filled in, for the warning */
};

static bool is_auto(const struct taken *t, const char *path) {
  const char *text = json_string_value(sl_json_at(t->root, path));
  return text != NULL && strcmp(text, "auto") == 0;
}

static void list(struct taken *t, const char *path, const json_t *value) {
  char *text = value != NULL ? sl_json_text(value, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
  char entry[256]; /* of a scalar or of two betas */
  snprintf(entry, sizeof entry, "%s %s", path, text != NULL ? text : "from the batch");
  sl_listing_add(&t->filled, entry);
  free(text);
}

/* Takes ownership of `value`; NULL removes the key, whose value then follows from others. */
static void fill(struct taken *t, const char *path, json_t *value) {
  if (is_auto(t, path)) {
    list(t, path, value);
    sl_defaults_set(t->root, path, json_incref(value));
  }
  json_decref(value);
}

/* TrainingArguments' per_device_train_batch_size and gradient_accumulation_steps, for the case that the global batch is
 * left open, too. */
static void fill_batch(struct taken *t) {
  const bool given = json_is_number(sl_json_at(t->root, "train_batch_size"));
  fill(t, "train_micro_batch_size_per_gpu", given ? NULL : json_integer(8));
  fill(t, "gradient_accumulation_steps", given ? NULL : json_integer(1));
  fill(t, "train_batch_size", NULL);
}

static void fill_training(struct taken *t, int64_t steps) {
  static const double lr = 5e-5; /* learning_rate */
  fill(t, "gradient_clipping", json_real(1));
  fill(t, "optimizer.params.lr", json_real(lr));
  fill(t, "optimizer.params.betas", json_pack("[f, f]", 0.9, 0.999));
  fill(t, "optimizer.params.eps", json_real(1e-8));
  fill(t, "optimizer.params.weight_decay", json_real(0));
  fill(t, "scheduler.params.warmup_min_lr", json_integer(0));
  fill(t, "scheduler.params.warmup_max_lr", json_real(lr));
  fill(t, "scheduler.params.warmup_num_steps", json_integer(1)); /* warmup_steps is 0, which DeepSpeed does not accept
                                                                  * any more */
  fill(t, "scheduler.params.total_num_steps", json_integer(steps > 0 ? steps : 1));
  fill(t, "fp16.enabled", json_false());
  fill(t, "bf16.enabled", json_false());
}

static void fill_sizes(struct taken *t, int64_t hidden) {
  const int64_t square = sl_product(hidden, hidden);
  fill(t, "zero_optimization.reduce_bucket_size", json_integer(square));
  if (json_integer_value(sl_json_at(t->root, "zero_optimization.stage")) != 3) return;
  fill(t, "zero_optimization.stage3_prefetch_bucket_size", json_integer((json_int_t)(0.9 * (double)square)));
  fill(t, "zero_optimization.stage3_param_persistence_threshold", json_integer(sl_product(10, hidden)));
}

static void fill_auto(json_t *root, const struct sl_options *options, const struct sl_model *model) {
  struct taken t = {.root = root, .filled.separator = ", "};
  fill_batch(&t);
  fill_training(&t, options->steps);
  if (model != NULL && sl_model_reads_tokens(model)) fill_sizes(&t, model->n_embd);
  const char *filled = sl_listing_end(&t.filled);
  if (filled != NULL) sl_warn("\"auto\" is what transformers' Trainer makes of it: %s", filled);
}

/* ---- the others ---- */

static void choose_dtype(json_t *root, const struct sl_options *options, const struct sl_cluster *cluster) {
  if (options->config != NULL || options->dtype != NULL || cluster->device.kind != SL_DEVICE_GPU) return;
  if (options->tf32) return; /* TF32 is a mode of fp32 */
  const bool bf16 = cluster->device.peak[SL_BF16] > 0;
  if (!bf16 && !(cluster->device.peak[SL_F16] > 0)) return;
  sl_defaults_set(root, bf16 ? "bf16.enabled" : "fp16.enabled", json_true());
  sl_warn("without --config: %s is taken, as the devices are GPUs; --dtype fp32 says otherwise",
          bf16 ? "bf16" : "fp16");
}

static void choose_schedule(json_t *root) {
  const json_t *stages = sl_json_at(root, "shardlab.virtual_stages");
  if (!json_is_integer(stages) || json_integer_value(stages) < 2 || sl_json_at(root, "shardlab.schedule") != NULL)
    return;
  sl_defaults_set(root, "shardlab.schedule", json_string("interleaved"));
}

void sl_defaults_put(json_t *root, const struct sl_options *options, const struct sl_model *model,
                     const struct sl_cluster *cluster) {
  fill_auto(root, options, model);
  choose_dtype(root, options, cluster);
  choose_schedule(root);
}
