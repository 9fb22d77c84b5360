/* Makes the inputs of one row; see inputs.h. It builds the documents that a user would write, config.json and
 * ds_config.json, and reads them with the code that reads files, so that a row is refused with the same messages. */
#include "table/inputs.h"

#include "core/base/checked.h"
#include "core/base/limits.h"
#include "table/frameworks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- the row by itself ---- */

static enum sl_status want(const char *name, int64_t value) {
  return value != SL_TABLE_UNKNOWN ? SL_OK : sl_fail(SL_ERR_INPUT, "%s: is empty; a prediction needs it", name);
}

static bool is_one_of(const char *text, const char *const *words) {
  while (*words != NULL && strcmp(text, *words) != 0) words++;
  return *words != NULL;
}

static enum sl_status check_words(const struct sl_table_row *r) {
  static const char *const archs[] = {"gpt", "llama", "nemotron", NULL};
  static const char *const recomputes[] = {"none", "selective", "full", "unknown", NULL};
  static const char *const precisions[] = {"fp32", "tf32",          "fp16",          "bf16",
                                           "fp8",  "bf16-autocast", "fp16-autocast", NULL};
  static const char *const types[] = {"", "fp32", "bf16", "fp16", NULL};
  static const char *const recipes[] = {"", "tensorwise", "rowwise", NULL};
  static const char *const attentions[] = {
      "materialised", "materialised_fused_softmax", "flash1", "flash2", "flash3", "cudnn", NULL};
  const struct {
    const char *name, *text;
    const char *const *words;
  } cells[] = {{"arch", r->arch, archs},
               {"recompute", r->recompute, recomputes},
               {"precision", r->precision, precisions},
               {"grad_reduce_dtype", r->grad_reduce_dtype, types},
               {"fp8_recipe", r->fp8_recipe, recipes},
               {"attention", r->attention, attentions}};
  for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
    char list[160] = "";
    if (is_one_of(cells[i].text, cells[i].words)) continue;
    for (const char *const *word = cells[i].words; *word != NULL; word++) {
      const size_t used = strlen(list);
      snprintf(list + used, sizeof list - used, "%s%s", used > 0 ? ", " : "", **word != '\0' ? *word : "");
    }
    return sl_fail(SL_ERR_INPUT, "%s: is \"%.40s\"; expected one of %s", cells[i].name, cells[i].text, list);
  }
  return SL_OK;
}

/* Heads of 128 numbers, or as near to that as possible with a number of heads that divides the width and is divisible
 * by tp. */
static int64_t usual_heads(int64_t width, int64_t tp) {
  int64_t best = SL_TABLE_UNKNOWN;
  for (int64_t heads = tp; heads <= width && width <= 1 << 20; heads += tp) {
    const double off = fabs(log((double)width / (128.0 * (double)heads)));
    if (width % heads == 0 && (best == SL_TABLE_UNKNOWN || off < fabs(log((double)width / (128.0 * (double)best)))))
      best = heads;
  }
  return best;
}

/* Fills in empty cells, and checks numbers against each other. */
static enum sl_status complete(struct sl_table_row *r) {
  SL_TRY(want("n_gpus", r->n_gpus));
  SL_TRY(want("n_layers", r->n_layers));
  SL_TRY(want("d_model", r->d_model));
  SL_TRY(want("vocab_size", r->vocab_size));
  SL_TRY(want("seq_len", r->seq_len));
  SL_TRY(want("tp", r->tp));
  SL_TRY(want("pp", r->pp));
  SL_TRY(want("zero_stage", r->zero_stage));
  SL_TRY(want("micro_batch", r->micro_batch));
  const bool gpt = strcmp(r->arch, "gpt") == 0;
  if (r->n_heads == SL_TABLE_UNKNOWN) r->n_heads = usual_heads(r->d_model, r->tp);
  if (r->n_kv_heads == SL_TABLE_UNKNOWN) r->n_kv_heads = r->n_heads;
  if (r->d_ff == SL_TABLE_UNKNOWN && gpt) r->d_ff = 4 * r->d_model;
  SL_TRY(want("n_heads", r->n_heads));
  SL_TRY(want("d_ff", r->d_ff));
  if (r->tied_embeddings == SL_TABLE_UNKNOWN) r->tied_embeddings = gpt;
  if (r->virtual_stages == SL_TABLE_UNKNOWN) r->virtual_stages = 1;
  if (r->cp == SL_TABLE_UNKNOWN) r->cp = 1;
  const int64_t inside = sl_product(sl_product(r->tp, r->pp), r->cp);
  if (r->dp == SL_TABLE_UNKNOWN) r->dp = r->n_gpus / inside;
  if (sl_product(inside, r->dp) != r->n_gpus) {
    char cp[40] = "";
    if (r->cp > 1) snprintf(cp, sizeof cp, " x cp %lld", (long long)r->cp);
    return sl_fail(SL_ERR_INPUT, "n_gpus: is %lld; expected tp %lld x pp %lld%s x dp %lld = %s", (long long)r->n_gpus,
                   (long long)r->tp, (long long)r->pp, cp, (long long)r->dp,
                   sl_count_text(sl_product(inside, r->dp)).text);
  }
  if (r->grad_accum == SL_TABLE_UNKNOWN && r->global_batch_seqs != SL_TABLE_UNKNOWN)
    r->grad_accum = r->global_batch_seqs / (r->micro_batch * r->dp);
  SL_TRY(want("grad_accum", r->grad_accum));
  const int64_t batch = sl_product(sl_product(r->micro_batch, r->dp), r->grad_accum);
  if (batch != SL_HUGE && (r->global_batch_seqs == SL_TABLE_UNKNOWN || batch == r->global_batch_seqs)) return SL_OK;
  return sl_fail(SL_ERR_INPUT, "global_batch_seqs: is %lld; expected micro_batch %lld x grad_accum %lld x dp %lld",
                 (long long)r->global_batch_seqs, (long long)r->micro_batch, (long long)r->grad_accum,
                 (long long)r->dp);
}

/* ---- the documents ---- */

static enum sl_status open_document(struct sl_json *doc, const char *name, json_t *root) {
  *doc = (struct sl_json){.root = root, .name = strdup(name)};
  if (root != NULL && doc->name != NULL) return SL_OK;
  sl_json_free(doc);
  return sl_fail(SL_ERR_MEMORY, "out of memory: a row's %s", name);
}

static enum sl_status make_model(struct sl_model *model, const struct sl_table_row *r,
                                 const struct sl_table_framework *f) {
  struct sl_json doc;
  const bool gpt = strcmp(r->arch, "gpt") == 0;
  if (gpt && r->n_kv_heads != r->n_heads)
    return sl_fail(SL_ERR_INPUT, "n_kv_heads: is %lld; expected the %lld heads: a gpt has no grouped attention",
                   (long long)r->n_kv_heads, (long long)r->n_heads);
  json_t *root = json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:b}", "model_type", gpt ? "gpt2" : r->arch, "hidden_size",
                           (json_int_t)r->d_model, "num_hidden_layers", (json_int_t)r->n_layers, "num_attention_heads",
                           (json_int_t)r->n_heads, "vocab_size", (json_int_t)r->vocab_size, "max_position_embeddings",
                           (json_int_t)r->seq_len, "tie_word_embeddings", (int)r->tied_embeddings);
  json_object_set_new(root, gpt ? "n_inner" : "intermediate_size", json_integer(r->d_ff));
  if (!gpt) json_object_set_new(root, "num_key_value_heads", json_integer(r->n_kv_heads));
  static const char *const dropouts[] = {"embd_pdrop", "attn_pdrop", "resid_pdrop"};
  for (int i = 0; gpt && i < 3; i++) json_object_set_new(root, dropouts[i], json_real(f->gpt_dropout));
  SL_TRY(open_document(&doc, "model", root));
  const enum sl_status status = sl_model_from_json(model, &doc);
  sl_json_free(&doc);
  return status;
}

/* DeepSpeed's partition_balanced (runtime/utils.py, of 2021) finds the smallest limit that all stages can keep, and
 * then fills them up to it one by one, so that the last stage has the rest. It counts blocks, "type:transformer"; or,
 * if only that divides evenly, also the two ends as one block each, "type:transformer|embedding". */
static json_t *filled_stages(const struct sl_table_row *r) {
  const int64_t stages = r->pp, ends = (r->n_layers + 2) % stages == 0 && (r->n_layers + 2) / stages > 1;
  const int64_t most = (r->n_layers + 2 * ends + stages - 1) / stages;
  json_t *list = json_array();
  int64_t left = r->n_layers;
  for (int64_t i = 0; i < stages; i++) {
    const int64_t room = most - ends * ((i == 0) + (i == stages - 1)), count = room < left ? room : left;
    json_array_append_new(list, json_integer(count));
    left -= count;
  }
  return list;
}

/* Divides the embedding, the blocks, the last norm and the head evenly, with one more for the first stages if they do
 * not divide evenly. The result counts blocks. */
static json_t *stages_with_ends(const struct sl_table_row *r) {
  const int64_t stages = r->pp, items = r->n_layers + 3;
  json_t *list = json_array();
  for (int64_t i = 0, first = 0; i < stages; i++) {
    const int64_t end = first + items / stages + (i < items % stages);
    const int64_t from = first > 1 ? first : 1, to = end < r->n_layers + 1 ? end : r->n_layers + 1;
    json_array_append_new(list, json_integer(to > from ? to - from : 0));
    first = end;
  }
  return list;
}

/* torchtitan's generate_split_points (parallelisms/pipelining_utils.py), until April 2025: the remainder goes to the
 * stages after the first. */
static json_t *thin_stages(const struct sl_table_row *r, int64_t stages) {
  const int64_t left = r->n_layers % stages;
  json_t *list = json_array();
  for (int64_t i = 0; i < stages; i++)
    json_array_append_new(list, json_integer(r->n_layers / stages + (i >= 1 && i <= left)));
  return list;
}

/* Megatron-LM's account_for_embedding_in_pipeline_split and account_for_loss_in_pipeline_split: the embedding and the
 * loss count as a layer each. */
static json_t *short_ends(const struct sl_table_row *r, int64_t stages) {
  json_t *list = json_array();
  for (int64_t i = 0; i < stages; i++)
    json_array_append_new(list, json_integer((r->n_layers + 2) / stages - (i == 0) - (i == stages - 1)));
  return list;
}

/* torchtitan's generate_llm_fqn_per_model_part, which came then: embedding and output count as a layer each, and the
 * first stages have the remainder. */
static json_t *counted_ends(const struct sl_table_row *r, int64_t stages) {
  const int64_t items = r->n_layers + 2;
  json_t *list = json_array();
  for (int64_t i = 0; i < stages; i++)
    json_array_append_new(list, json_integer(items / stages + (i < items % stages) - (i == 0) - (i == stages - 1)));
  return list;
}

static json_t *stages_of(const struct sl_table_row *r, const struct sl_table_framework *f) {
  const int64_t stages = sl_product(r->pp, r->virtual_stages);
  const bool pipeline = r->pp > 1 && stages <= SL_MAX_STAGES, single = r->virtual_stages == 1;
  const bool even = r->n_layers % stages == 0;
  if (pipeline && f->dealt == SL_TABLE_STAGES_OF_TORCHTITAN && r->n_layers >= stages) {
    if (strcmp(r->framework_version, "2025-04") > 0) return counted_ends(r, stages);
    if (!even) return thin_stages(r, stages);
  }
  if (pipeline && f->dealt == SL_TABLE_STAGES_SHORT_ENDS && !even && (r->n_layers + 2) % stages == 0)
    return short_ends(r, stages);
  if (pipeline && single && f->dealt == SL_TABLE_STAGES_FILLED && !even) return filled_stages(r);
  if (pipeline && single && f->dealt == SL_TABLE_STAGES_WITH_ENDS) return stages_with_ends(r);
  return json_string(r->pp > 1 ? f->stages : "uniform");
}

/* In the words of shardlab.attention, where plain "flash" is FlashAttention 2. */
static const char *attention_of(const struct sl_table_row *r) {
  if (strncmp(r->attention, "materialised", strlen("materialised")) == 0) return "materialised";
  return strcmp(r->attention, "flash2") == 0 ? "flash" : r->attention;
}

/* Whose kernels run: the framework's, with fused norms and a fused softmax if the row has them. */
static const char *kernels_of(const struct sl_table_row *r, const struct sl_table_framework *f) {
  const bool softmax = strcmp(r->attention, "materialised") != 0;
  if (f->later != NULL && r->fused_norm == 1 && strcmp(r->framework_version, "2025") >= 0) return f->later;
  if (f->llama_unfused && strcmp(r->arch, "llama") == 0) return f->unfused;
  return r->fused_norm == 1 || (strcmp(r->arch, "gpt") == 0 && softmax) ? f->fused : f->unfused;
}

static const char *recompute_of(const struct sl_table_row *r, const struct sl_table_framework *f) {
  if (strcmp(r->recompute, "unknown") == 0) return f->recompute;
  const bool own = strcmp(r->recompute, "selective") == 0 && f->selective != NULL;
  return own ? f->selective : r->recompute;
}

static bool shards_in_groups(const struct sl_table_row *r) {
  return r->shard_size != SL_TABLE_UNKNOWN && r->shard_size < sl_product(r->dp, r->cp);
}

/* NeMo's precision recipes set fp8_params and Megatron Bridge's fp8_param_gather, which Megatron-LM alone leaves off
 * (bf16_with_fp8_mixed of nemo/collections/llm/recipes/precision/mixed_precision.py and of
 * megatron/bridge/training/mixed_precision.py). */
static bool gathers_fp8(const struct sl_table_row *r) {
  const bool recipes = strcmp(r->framework, "nemo") == 0 || strcmp(r->framework, "megatron-bridge") == 0;
  return recipes && r->zero_stage == 1;
}

/* FSDP's hybrid sharding is a preset of its own; others take a size. */
static const char *preset_of(const struct sl_table_row *r, const struct sl_table_framework *f) {
  const char *preset = f->presets[r->zero_stage];
  if (!shards_in_groups(r)) return preset;
  if (strcmp(preset, "fsdp") == 0) return "fsdp-hybrid-shard";
  return strcmp(preset, "fsdp-shard-grad-op") == 0 ? "fsdp-hybrid-shard-zero2" : preset;
}

static json_t *section_of(const struct sl_table_row *r, const struct sl_table_framework *f) {
  json_t *section =
      json_pack("{s:s, s:I, s:I, s:I, s:s, s:o, s:s, s:s, s:i}", "preset", preset_of(r, f), "tp", (json_int_t)r->tp,
                "pp", (json_int_t)r->pp, "virtual_stages", (json_int_t)r->virtual_stages, "schedule",
                r->virtual_stages > 1 ? "interleaved" : "1f1b", "stages", stages_of(r, f), "recompute",
                recompute_of(r, f), "attention", attention_of(r), "make_vocab_size_divisible_by", f->vocab_multiple);
  json_object_set_new(section, "kernels", json_string(kernels_of(r, f)));
  json_object_set_new(section, "fused_norm", json_boolean(r->fused_norm == 1));
  json_object_set_new(section, "fused_softmax", json_boolean(strcmp(r->attention, "materialised_fused_softmax") == 0));
  json_object_set_new(section, "cross_entropy_loss_fusion", json_boolean(sl_table_fuses_loss(r)));
  json_object_set_new(section, "seq_len", json_integer(r->seq_len));
  if (r->tp > 1) json_object_set_new(section, "sequence_parallel", json_boolean(r->sequence_parallel == 1));
  if (f->expandable_segments) json_object_set_new(section, "expandable_segments", json_true());
  if (f->no_sync && r->zero_stage >= 2) json_object_set_new(section, "no_sync", json_true());
  if (f->launch_blocking) json_object_set_new(section, "launch_blocking", json_true());
  if (r->tp > 1 && r->pp > 1 && f->scatter_gather)
    json_object_set_new(section, "scatter_gather_tensors_in_pipeline", json_true());
  const bool fp8 = strcmp(r->precision, "fp8") == 0;
  if (fp8) json_object_set_new(section, "fp8", json_true());
  if (fp8 && gathers_fp8(r)) json_object_set_new(section, "fp8_param_gather", json_true());
  if (strcmp(r->fp8_recipe, "rowwise") == 0) json_object_set_new(section, "fp8_recipe", json_string("rowwise"));
  if (r->async_tp == 1) json_object_set_new(section, "async_tp", json_true());
  if (r->overlap_param_gather == 1 && r->zero_stage < 3) /* FSDP's gathers always overlap */
    json_object_set_new(section, "overlap_param_gather", json_true());
  if (shards_in_groups(r)) json_object_set_new(section, "shard_size", json_integer(r->shard_size));
  if (r->tp_comm_overlap == 1) json_object_set_new(section, "tp_comm_overlap", json_true());
  if (r->cp > 1) json_object_set_new(section, "cp", json_integer(r->cp));
  if (strcmp(r->precision, "tf32") == 0) json_object_set_new(section, "tf32", json_true());
  return section;
}

static enum sl_status check_framework(const struct sl_table_row *r, const struct sl_table_framework *f) {
  if (f->presets[r->zero_stage] == NULL)
    return sl_fail(SL_ERR_INPUT, "zero_stage: is %lld; %s has no such sharding", (long long)r->zero_stage, f->name);
  if (f->grad_type == NULL || r->grad_reduce_dtype[0] == '\0' || strcmp(r->grad_reduce_dtype, f->grad_type) == 0)
    return SL_OK;
  return sl_fail(SL_ERR_INPUT, "grad_reduce_dtype: is %s; %s is modelled with %s alone", r->grad_reduce_dtype, f->name,
                 f->grad_type);
}

/* Before 0.12.4 of November 2023 DeepSpeed reduced each part of a bucket to its owner (its pull request 4695). */
static json_t *zero_of(const struct sl_table_row *r, const struct sl_table_framework *f) {
  json_t *zero = json_pack("{s:I}", "stage", (json_int_t)r->zero_stage);
  const char *version = r->framework_version[0] != '\0' ? r->framework_version : f->version;
  if (version != NULL && strcmp(version, "2023-11") < 0)
    json_object_set_new(zero, "use_multi_rank_bucket_allreduce", json_false());
  return zero;
}

/* bf16 beside fp32 gradients without ZeRO: DeepSpeed's BF16_Optimizer until 0.18.5, refused since. Clipping has had another
 * default since 0.19.6, which rows of other stages are read by. */
static void before_the_refusal(json_t *root) {
  json_object_set_new(json_object_get(root, "shardlab"), "ds_version", json_string("0.18.4"));
  json_object_set_new(root, "gradient_clipping", json_real(1));
}

static enum sl_status make_config(struct sl_config *config, const struct sl_table_row *r,
                                  const struct sl_table_framework *f) {
  struct sl_json doc;
  SL_TRY(check_framework(r, f));
  json_t *root = json_pack("{s:I, s:I, s:{s:s, s:{s:f}}, s:o}", "train_micro_batch_size_per_gpu",
                           (json_int_t)r->micro_batch, "gradient_accumulation_steps", (json_int_t)r->grad_accum,
                           "optimizer", "type", "AdamW", "params", "lr", 0.0001, "shardlab", section_of(r, f));
  const bool bf16 = strcmp(r->precision, "bf16") == 0 || strcmp(r->precision, "fp8") == 0;
  const bool mixed = bf16 || strcmp(r->precision, "fp16") == 0;
  if (mixed) json_object_set_new(root, bf16 ? "bf16" : "fp16", json_pack("{s:b}", "enabled", 1));
  if (strstr(r->precision, "-autocast") != NULL)
    json_object_set_new(root, "torch_autocast",
                        json_pack("{s:b, s:s%}", "enabled", 1, "dtype", r->precision, (size_t)4));
  if (f->stage_in_config) json_object_set_new(root, "zero_optimization", zero_of(r, f));
  if (f->grad_type == NULL && r->grad_reduce_dtype[0] != '\0')
    json_object_set_new(root, "communication_data_type", json_string(r->grad_reduce_dtype));
  if (f->grad_type != NULL && f->stage_in_config) /* DeepSpeed's presets have no gradient type of their own */
    json_object_set_new(root, "communication_data_type", json_string(f->grad_type));
  const bool reduces_16 = f->sums_as_reduced && bf16 && strcmp(r->grad_reduce_dtype, "bf16") == 0;
  if (reduces_16) json_object_set_new(root, "data_types", json_pack("{s:s}", "grad_accum_dtype", "bf16"));
  if (f->grad_sum != NULL && mixed)
    json_object_set_new(root, "data_types", json_pack("{s:s}", "grad_accum_dtype", f->grad_sum));
  if (f->grad_sum != NULL && f->stage_in_config && bf16 && r->zero_stage == 0) before_the_refusal(root);
  SL_TRY(open_document(&doc, "configuration", root));
  return sl_config_from_json(config, &doc, false);
}

/* ---- the cluster ---- */

/* Device names as tables have them (the first of a kind if the name gives no memory size), and the cluster for an
 * installation about which nothing else is known. */
static const struct gpu {
  const char *kind;
  int gigabytes;
  bool pcie;
  const char *cluster;
} gpus[] = {
    {"v100", 32, false, "dgx2-v100"},     {"v100", 16, false, "dgx1-v100"},       {"a100", 80, false, "dgx-a100-80g"},
    {"a100", 40, false, "dgx-a100-40g"},  {"a100", 80, true, "a100-pcie-8"},      {"a100", 40, true, "a100-pcie-40g-8"},
    {"h100", 80, false, "dgx-h100"},      {"h100", 96, false, "torchtitan-h100"}, {"h100", 80, true, "h100-pcie-8"},
    {"h200", 141, false, "dgx-h200"},     {"b200", 180, false, "dgx-b200"},       {"b200", 192, false, "dgx-b200"},
    {"b300", 288, false, "dgx-b300"},     {"gb200", 186, false, "gb200-nvl72"},   {"gb200", 192, false, "gb200-nvl72"},
    {"gb300", 288, false, "gb300-nvl72"}, {"mi300x", 192, false, "mi300x-8"},
};

static const char gpu_names[] = "v100, v100-16g, a100-40g, a100-80g, a100-pcie-40g, a100-pcie-80g, h100-sxm-80g, "
                                "h100-sxm-96g, h100-pcie, h200, b200, b300, "
                                "gb200, gb300 or mi300x";

/* The 80 of "a100-sxm-80g"; 0 if there is none. */
static long gigabytes_of(const char *name) {
  for (const char *part = strchr(name, '-'); part != NULL; part = strchr(part + 1, '-')) {
    char *end;
    const long size = strtol(part + 1, &end, 10);
    if (end > part + 1 && (*end == 'g' || *end == 'G')) return size;
  }
  return 0;
}

static const struct gpu *find_gpu(const char *name) {
  const size_t kind = strcspn(name, "-");
  const long gigabytes = gigabytes_of(name);
  const bool pcie = strcasestr(name, "pcie") != NULL;
  for (size_t i = 0; i < sizeof gpus / sizeof *gpus; i++) {
    const struct gpu *g = &gpus[i];
    if (strlen(g->kind) != kind || strncasecmp(g->kind, name, kind) != 0 || g->pcie != pcie) continue;
    if (gigabytes == 0 || gigabytes == g->gigabytes) return g;
  }
  return NULL;
}

static enum sl_status check_gpu(const struct sl_table_row *r, const struct gpu *gpu, const struct sl_cluster *cluster) {
  struct sl_cluster usual;
  SL_TRY(sl_cluster_load(&usual, gpu->cluster));
  const bool same = strcmp(usual.device.name, cluster->device.name) == 0;
  sl_cluster_free(&usual);
  if (same) return SL_OK;
  return sl_fail(SL_ERR_INPUT, "gpu: is %s; cluster %s has %s", r->gpu, cluster->name, cluster->device.name);
}

/* A row may say how fast its nodes' network is. NCCL counts 24 GB/s of 25 (search.cc of 2.28.9). */
static void set_network(struct sl_cluster *cluster, const struct sl_table_row *r) {
  for (int i = 0; i < cluster->n_link; i++)
    if (r->node_gbps != SL_TABLE_UNKNOWN && cluster->link[i].span == INT64_MAX)
      cluster->link[i].bandwidth = 0.96 * 1e9 / 8 * (double)r->node_gbps / (double)cluster->devices_per_node;
}

static enum sl_status make_cluster(struct sl_cluster *cluster, const struct sl_table_row *r, const char *instead) {
  const struct gpu *gpu = find_gpu(r->gpu);
  const char *name = instead != NULL ? instead : r->cluster;
  const bool known = name[0] != '\0' && sl_cluster_is_known(name);
  if (gpu == NULL && r->gpu[0] != '\0' && (instead == NULL || !known))
    return sl_fail(SL_ERR_INPUT,
                   "gpu: \"%.40s\" has no description in profiles/devices; expected %s, or a cluster's file", r->gpu,
                   gpu_names);
  if (gpu == NULL && !known)
    return sl_fail(
        SL_ERR_INPUT,
        "cluster: \"%.100s\" is not known, and there is no gpu to choose one by; expected %s as gpu, or the cluster's "
        "name (`shardlab show presets`) or file",
        name, gpu_names);
  SL_TRY(sl_cluster_load(cluster, known ? name : gpu->cluster));
  if (r->gpus_per_node != SL_TABLE_UNKNOWN) sl_cluster_resize_nodes(cluster, r->gpus_per_node);
  sl_cluster_align(cluster, r->n_gpus);
  set_network(cluster, r);
  const enum sl_status status = gpu != NULL && instead == NULL ? check_gpu(r, gpu, cluster) : SL_OK;
  if (status != SL_OK) sl_cluster_free(cluster);
  return status;
}

enum sl_status sl_table_inputs(struct sl_table_inputs *inputs, const struct sl_table_row *row, const char *cluster) {
  enum sl_status status;
  struct sl_table_row r = *row;
  const struct sl_table_framework *framework;
  *inputs = (struct sl_table_inputs){0};
  SL_GO_FAIL(check_words(&r));
  SL_GO_FAIL(complete(&r));
  SL_GO_FAIL(make_cluster(&inputs->cluster, &r, cluster));
  SL_GO_FAIL(sl_table_framework(&framework, &r, &inputs->cluster));
  SL_GO_FAIL(make_model(&inputs->model, &r, framework));
  SL_GO_FAIL(make_config(&inputs->config, &r, framework));
  inputs->world = (int)r.n_gpus;
  inputs->memory = framework->memory;
  return SL_OK;
fail:
  sl_table_inputs_free(inputs);
  return status;
}

void sl_table_inputs_free(struct sl_table_inputs *inputs) {
  sl_cluster_free(&inputs->cluster);
  sl_config_free(&inputs->config);
  sl_model_free(&inputs->model);
  *inputs = (struct sl_table_inputs){0};
}
