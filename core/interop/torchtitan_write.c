/* Writes torchtitan's settings; see torchtitan_write.h. */
#include "core/interop/torchtitan_write.h"

#include "core/base/json_get.h"
#include "core/interop/torchtitan_models.h"
#include "core/interop/unsaid.h"
#include "core/interop/writing.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static enum sl_status refuse(const char *path, const char *is, const char *expected) {
  return sl_interop_refuse("torchtitan", path, is, expected);
}

static long long number_at(const json_t *root, const char *path) {
  return sl_interop_whole(root, path);
}

/* A TOML float needs a point or an exponent. */
static void put_real(FILE *out, const char *key, double value) {
  char text[SL_INTEROP_REAL_BYTES];
  sl_interop_real(value, text);
  fprintf(out, "%s = %s%s\n", key, text, strpbrk(text, ".en") == NULL ? ".0" : "");
}

/* ---- settings that do not depend on the ranks ---- */

static void put_model(const json_t *model, FILE *out, json_t *unsaid) {
  const char *name, *flavor;
  if (sl_torchtitan_find(model, &name, &flavor))
    fprintf(out, "[model]\nname = \"%s\"\nflavor = \"%s\"\n", name, flavor);
  else
    fputs("[model]\n# of a shape that no flavor has\n", out), json_array_append_new(unsaid, json_string("the model"));
}

static enum sl_status put_optimizer(const json_t *config, FILE *out) {
  const char *type = sl_interop_text(config, "optimizer.type");
  const json_t *params = sl_json_at(config, "optimizer.params"), *betas = json_object_get(params, "betas");
  const bool adam = strcmp(type, "Adam") == 0, decoupled = !json_is_false(json_object_get(params, "adam_w_mode"));
  if (!adam && strcmp(type, "AdamW") != 0) return refuse("optimizer.type", type, "AdamW or Adam");
  fprintf(out, "\n[optimizer]\nname = \"%s\"\n", adam && !decoupled ? "Adam" : "AdamW");
  put_real(out, "lr", json_number_value(json_object_get(params, "lr")));
  put_real(out, "beta1", json_number_value(json_array_get(betas, 0)));
  put_real(out, "beta2", json_number_value(json_array_get(betas, 1)));
  put_real(out, "eps", json_number_value(json_object_get(params, "eps")));
  put_real(out, "weight_decay", json_number_value(json_object_get(params, "weight_decay")));
  return SL_OK;
}

static enum sl_status put_recompute(const json_t *config, FILE *out) {
  const json_t *value = sl_json_at(config, "shardlab.recompute");
  const char *word = json_string_value(json_array_size(value) == 1 ? json_array_get(value, 0) : value);
  const long long every = number_at(config, "shardlab.recompute_every");
  if (word == NULL) return refuse("shardlab.recompute", "a list", "one word for all ranks of the pipeline");
  if (strcmp(word, "selective") == 0)
    return refuse("shardlab.recompute", word, "none, selective_op or full: the modules are Megatron-LM's");
  const bool op = strcmp(word, "selective_op") == 0, full = strcmp(word, "full") == 0;
  if (op)
    fputs("\n[activation_checkpoint]\nmode = \"selective\"\nselective_ac_option = \"op\"\n", out);
  else if (full && every > 1)
    fprintf(out, "\n[activation_checkpoint]\nmode = \"selective\"\nselective_ac_option = \"%lld\"\n", every);
  else
    fprintf(out, "\n[activation_checkpoint]\nmode = \"%s\"\n", full ? "full" : "none");
  return SL_OK;
}

static enum sl_status put_kernels(const json_t *config, FILE *out, json_t *unsaid) {
  const char *kernels = sl_interop_text(config, "shardlab.kernels"),
             *attention = sl_interop_text(config, "shardlab.attention");
  const bool whole = strcmp(kernels, "torch-compile") == 0, blocks = strcmp(kernels, "torch-compile-blocks") == 0;
  if (!whole && !blocks && strcmp(kernels, "torch-eager") != 0)
    json_array_append_new(unsaid, json_string("shardlab.kernels"));
  else if (!sl_interop_is_on(config, "shardlab.expandable_segments")) /* run_train.sh sets them */
    json_array_append_new(unsaid, json_string("shardlab.expandable_segments"));
  if (strcmp(attention, "flash") != 0)
    return refuse("shardlab.attention", attention, "flash, which scaled_dot_product_attention runs");
  fprintf(out, "\n[compile]\nenable = %s\n", whole || blocks ? "true" : "false");
  if (whole || blocks) fprintf(out, "components = [\"model\"%s]\n", whole ? ", \"loss\"" : "");
  if (!sl_interop_is_on(config, "shardlab.fp8")) return SL_OK;
  const char *recipe = sl_interop_text(config, "shardlab.fp8_recipe");
  fprintf(out, "\n[quantize.linear.float8]\nrecipe_name = \"%s\"\nenable_fsdp_float8_all_gather = %s\n", recipe,
          strcmp(recipe, "tensorwise") == 0 ? "true" : "false");
  return SL_OK;
}

/* ---- ranks and batches ---- */

struct degrees {
  long long tp, cp, pp, dp, shard, micro, accumulate, batch;
};

static bool is_ddp(const json_t *config) {
  return strcmp(sl_interop_text(config, "shardlab.preset"), "ddp") == 0;
}

static struct degrees degrees_of(const json_t *config) {
  struct degrees d = {.tp = number_at(config, "shardlab.tp"),
                      .cp = number_at(config, "shardlab.cp"),
                      .pp = number_at(config, "shardlab.pp"),
                      .shard = number_at(config, "shardlab.shard_size"),
                      .micro = number_at(config, "train_micro_batch_size_per_gpu"),
                      .accumulate = number_at(config, "gradient_accumulation_steps"),
                      .batch = number_at(config, "train_batch_size")};
  d.dp = d.batch / (d.micro > 0 ? d.micro : 1) / (d.accumulate > 0 ? d.accumulate : 1);
  if (d.cp < 1) d.cp = 1;
  if (d.shard == 0) d.shard = is_ddp(config) ? 1 : d.dp * d.cp;
  return d;
}

static enum sl_status put_number_types(const json_t *config, const struct degrees *d, FILE *out, json_t *unsaid) {
  const bool autocast = sl_interop_is_on(config, "torch_autocast.enabled"),
             bf16 = sl_interop_is_on(config, "bf16.enabled");
  if (sl_interop_is_on(config, "fp16.enabled")) return refuse("fp16.enabled", "true", "false");
  if (autocast && strcmp(sl_interop_text(config, "torch_autocast.dtype"), "bf16") != 0)
    return refuse("torch_autocast.dtype", sl_interop_text(config, "torch_autocast.dtype"), "bf16");
  if (bf16 && (d->shard == 1 || is_ddp(config)))
    return refuse("bf16.enabled", "true", "false on one data-parallel rank: torchtitan casts with FSDP alone");
  /* the type of FSDP's shards, or in a pipeline, which sums whole gradients, that of their reduction */
  const char *kept = d->pp > 1 ? sl_interop_text(config, "communication_data_type") : "fp32";
  if (bf16 && strcmp(sl_interop_text(config, "data_types.grad_accum_dtype"), kept) != 0)
    json_array_append_new(unsaid, json_string("data_types.grad_accum_dtype"));
  const bool reduces_half = bf16 && strcmp(sl_interop_text(config, "communication_data_type"), "bf16") == 0;
  fprintf(out, "mixed_precision_param = \"%s\"\nmixed_precision_reduce = \"%s\"\n",
          bf16 || autocast ? "bfloat16" : "float32", reduces_half ? "bfloat16" : "float32");
  return SL_OK;
}

static enum sl_status put_training(const json_t *config, const struct degrees *d, FILE *out, json_t *unsaid) {
  const double clip = json_number_value(sl_json_at(config, "gradient_clipping"));
  fprintf(out, "\n[training]\nseq_len = %lld\nlocal_batch_size = %lld\nglobal_batch_size = %lld\n",
          number_at(config, "shardlab.seq_len"), d->pp > 1 ? d->micro * d->accumulate : d->micro, d->batch);
  if (clip > 0)
    put_real(out, "max_norm", clip);
  else
    fputs("max_norm = inf\n", out);
  SL_TRY(put_number_types(config, d, out, unsaid));
  fprintf(out, "\n[debug]\nseed = %lld\n", number_at(config, "shardlab.seed"));
  return SL_OK;
}

/* Lists the modules of each stage, because torchtitan's own split cannot express every division of the layers. */
static void put_parts(const json_t *stages, FILE *out) {
  long long layer = 0;
  fputs("module_fqns_per_model_part = [\n", out);
  for (size_t i = 0; i < json_array_size(stages); i++) {
    const bool last = i + 1 == json_array_size(stages);
    const char *comma = "";
    fputs("  [", out);
    if (i == 0) fputs("\"tok_embeddings\"", out), comma = ", ";
    for (long long n = json_integer_value(json_array_get(stages, i)); n > 0; n--, comma = ", ")
      fprintf(out, "%s\"layers.%lld\"", comma, layer++);
    fprintf(out, "%s],\n", last ? (comma[0] != '\0' ? ", \"norm\", \"output\"" : "\"norm\", \"output\"") : "");
  }
  fputs("]\n", out);
}

static enum sl_status put_pipeline(const json_t *config, const struct degrees *d, FILE *out) {
  static const char *const schedules[][2] = {{"1f1b", "1F1B"},
                                             {"gpipe", "GPipe"},
                                             {"interleaved", "Interleaved1F1B"},
                                             {"looped-bfs", "LoopedBFS"},
                                             {"interleaved-zb", "InterleavedZeroBubble"},
                                             {"zbv", "ZBVZeroBubble"}};
  const char *schedule = sl_interop_text(config, "shardlab.schedule");
  fprintf(out, "pipeline_parallel_degree = %lld\n", d->pp);
  if (d->pp == 1) return SL_OK;
  for (size_t i = 0; i < sizeof schedules / sizeof *schedules; i++) {
    if (strcmp(schedules[i][0], schedule) != 0) continue;
    fprintf(out, "pipeline_parallel_schedule = \"%s\"\npipeline_parallel_microbatch_size = %lld\n", schedules[i][1],
            d->micro);
    return put_parts(sl_json_at(config, "shardlab.stages"), out), SL_OK;
  }
  return refuse("shardlab.schedule", schedule, "1f1b, gpipe, interleaved, looped-bfs, interleaved-zb or zbv");
}

static enum sl_status put_parallelism(const json_t *config, const struct degrees *d, FILE *out) {
  const char *preset = sl_interop_text(config, "shardlab.preset"),
             *order = sl_interop_text(config, "shardlab.rank_order");
  const bool keeps = strcmp(preset, "fsdp2-no-reshard") == 0;
  if (!keeps && !is_ddp(config) && strcmp(preset, "fsdp2") != 0)
    return refuse("shardlab.preset", preset, "fsdp2, fsdp2-no-reshard or ddp");
  if (strcmp(order, "tp-dp-pp") != 0) return refuse("shardlab.rank_order", order, "tp-dp-pp");
  if (d->tp > 1 && !sl_interop_is_on(config, "shardlab.sequence_parallel"))
    return refuse("shardlab.sequence_parallel", "false", "true beside tp, as torchtitan's is");
  SL_TRY(sl_interop_check_vocabulary("torchtitan", config, "parallel"));
  if (d->shard % d->cp != 0) return refuse("shardlab.shard_size", "a part of a cp group", "a multiple of cp");
  if (d->shard < 1 || (d->shard == 1 && d->dp > 1 && !is_ddp(config)))
    return refuse("shardlab.shard_size", "1", "2 or more, or preset ddp: replicas alone are torchtitan's DDP");
  fprintf(out,
          "\n[parallelism]\ndata_parallel_replicate_degree = %lld\ndata_parallel_shard_degree = %lld\n"
          "fsdp_reshard_after_forward = \"%s\"\ntensor_parallel_degree = %lld\nenable_async_tensor_parallel = %s\n",
          d->dp * d->cp / d->shard, d->shard / d->cp, keeps ? "never" : "always", d->tp,
          sl_interop_is_on(config, "shardlab.async_tp") ? "true" : "false");
  if (d->cp > 1) fprintf(out, "context_parallel_degree = %lld\n", d->cp);
  return put_pipeline(config, d, out);
}

static bool is_said(const void *context, const char *path, const json_t *value) {
  (void)context, (void)value;
  static const char *const said[] = {"train_micro_batch_size_per_gpu",
                                     "train_batch_size",
                                     "gradient_accumulation_steps",
                                     "gradient_clipping",
                                     "bf16.enabled",
                                     "fp16.enabled",
                                     "torch_autocast.enabled",
                                     "torch_autocast.dtype",
                                     "communication_data_type",
                                     "data_types.grad_accum_dtype",
                                     "optimizer.type",
                                     "optimizer.params.lr",
                                     "optimizer.params.betas",
                                     "optimizer.params.eps",
                                     "optimizer.params.weight_decay",
                                     "optimizer.params.adam_w_mode",
                                     "shardlab.preset",
                                     "shardlab.tp",
                                     "shardlab.cp",
                                     "shardlab.cp_comm_type",
                                     "shardlab.pp",
                                     "shardlab.virtual_stages",
                                     "shardlab.schedule",
                                     "shardlab.stages",
                                     "shardlab.sequence_parallel",
                                     "shardlab.tp_vocab", /* no other is written */
                                     "shardlab.async_tp",
                                     "shardlab.shard_size",
                                     "shardlab.rank_order",
                                     "shardlab.recompute",
                                     "shardlab.recompute_every",
                                     "shardlab.attention",
                                     "shardlab.kernels",
                                     "shardlab.expandable_segments", /* put_kernels tells where it matters */
                                     "shardlab.fp8",
                                     "shardlab.fp8_recipe",
                                     "shardlab.seq_len",
                                     "shardlab.seed",
                                     "zero_optimization.stage", /* follows from the preset */
                                     NULL};
  return sl_interop_among(said, path);
}

enum sl_status sl_torchtitan_write(const json_t *config, const json_t *given, const json_t *model, FILE *out,
                                   json_t *unsaid) {
  const struct degrees d = degrees_of(config);
  put_model(model, out, unsaid);
  if (sl_interop_is_on(config, "shardlab.fp8")) fputs("converters = [\"float8\"]\n", out);
  SL_TRY(put_optimizer(config, out));
  SL_TRY(put_training(config, &d, out, unsaid));
  SL_TRY(put_parallelism(config, &d, out));
  SL_TRY(put_recompute(config, out));
  SL_TRY(put_kernels(config, out, unsaid));
  sl_interop_unsaid(given, is_said, NULL, unsaid);
  return SL_OK;
}
