/* See megatron_stages.h. Sources: BigScience's Megatron-DeepSpeed at 8387ae17, megatron/model/gpt_model.py
 * (GPTModelPipe: the layers, and --pp-partition-method, which the other fork has not), megatron/model/language_model.py
 * (Embedding); DeepSpeed at edaa7221, deepspeed/runtime/pipe/module.py (_partition_layers, _find_layer_type,
 * _count_layer_params). */
#include "core/interop/megatron_stages.h"

#include "core/base/json_get.h"
#include "core/base/partition.h"
#include "core/interop/paths.h"

#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char key[] = "pp-partition-method";

/* ---- the layers of GPTModelPipe ---- */

enum { AHEAD = 3, NORM = 1, HEAD = 2, BEHIND = 3 }; /* NORM and HEAD: behind the blocks; float16_to_fp32 is one more */

/* Layers in front of the blocks, the blocks, and those behind. */
struct pipe {
  int64_t blocks;
  int stages, count;
  double *weights;
};

/* The name by which type: finds layer `i`: of its class, or of its function. */
static const char *name_of(const struct pipe *p, int i) {
  static const char *const ahead[AHEAD] = {"_to_float16", "EmbeddingPipe", "<lambda>"};
  static const char *const behind[] = {"undo", "MixedFusedLayerNorm", "EmbeddingPipe", "float16_to_fp32"};
  if (i < AHEAD) return ahead[i];
  return i < AHEAD + p->blocks ? "ParallelTransformerLayerPipe" : behind[i - AHEAD - p->blocks];
}

/* ---- weights ---- */

/* Of what Python's regular expressions can say, what these say as well. */
static bool is_plain(const char *text) {
  static const char marks[] = "*+?";
  if (strpbrk(text, "\\{") != NULL || strstr(text, "(?") != NULL) return false;
  for (; *text != '\0'; text++)
    if (strchr(marks, *text) != NULL && text[1] != '\0' && strchr(marks, text[1]) != NULL) return false;
  return true;
}

/* 1 of every layer whose name has the expression, up to the next colon, somewhere in it. */
static enum sl_status weigh_types(const struct sl_arguments *a, const char *method, struct pipe *p) {
  char text[256];
  regex_t expression;
  bool found = false;
  const char *from = strchr(method, ':') + 1;
  const size_t length = strcspn(from, ":");
  snprintf(text, sizeof text, "%.*s", (int)(length < sizeof text ? length : sizeof text - 1), from);
  if (length >= sizeof text || length == 0 || !is_plain(text) ||
      regcomp(&expression, text, REG_EXTENDED | REG_ICASE | REG_NOSUB) != 0)
    return sl_arguments_fail(a, key, "behind type: a plain regular expression, as transformer|embedding");
  for (int i = 0; i < p->count; i++) {
    p->weights[i] = regexec(&expression, name_of(p, i), 0, NULL, 0) == 0;
    found |= p->weights[i] > 0;
  }
  regfree(&expression);
  return found ? SL_OK
               : sl_arguments_fail(a, key,
                                   "a type among _to_float16, EmbeddingPipe, ParallelTransformerLayerPipe, undo, "
                                   "MixedFusedLayerNorm and float16_to_fp32");
}

static double size_of(const json_t *model, const char *name, const char *other) {
  const json_t *value = json_object_get(model, name);
  return json_number_value(value != NULL ? value : json_object_get(model, other));
}

/* The parameters of each, of a rank, as DeepSpeed builds and counts them: of the tied head all that the embedding has,
 * its positions and its norm, too. */
static enum sl_status weigh_parameters(const struct sl_arguments *a, const json_t *model, const json_t *config,
                                       struct pipe *p) {
  const double tp = (double)json_integer_value(sl_json_at(config, "shardlab.tp"));
  const double width = size_of(model, "n_embd", "hidden_size");
  const double inner = json_object_get(model, "intermediate_size") != NULL || json_object_get(model, "n_inner") != NULL
                           ? size_of(model, "n_inner", "intermediate_size")
                           : 4 * width;
  int64_t multiple = 128;
  if (sl_arguments_has(a, "make-vocab-size-divisible-by"))
    SL_TRY(sl_arguments_int(a, "make-vocab-size-divisible-by", &multiple));
  const bool padded = sl_arguments_has(a, "pad-vocab-size-to") || sl_arguments_has(a, "padded-vocab-size");
  const double unit = padded ? tp : tp * (double)(multiple > 0 ? multiple : 1), size = size_of(model, "vocab_size", "");
  const int64_t rows = (int64_t)((size + unit - 1) / unit) * (int64_t)(unit / tp);
  const double positions = size_of(model, "n_positions", ""); /* gpt2's alone */
  const double norm = sl_arguments_has(a, "embed-layernorm") ? 2 * width : 0;
  const double ends = ((double)rows + positions) * width + norm;
  const double block = (4 * width * width + 2 * width * inner + 3 * width + inner) / tp + 6 * width;
  for (int i = 0; i < p->blocks; i++) p->weights[AHEAD + i] = block;
  p->weights[1] = p->weights[AHEAD + p->blocks + HEAD] = ends;
  p->weights[AHEAD + p->blocks + NORM] = 2 * width;
  return SL_OK;
}

/* ---- the division ---- */

static enum sl_status divide(const struct sl_arguments *a, const json_t *model, const json_t *config, struct pipe *p,
                             int64_t *counts) {
  const char *method;
  SL_TRY(sl_arguments_text(a, key, &method));
  if (strcasecmp(method, "uniform") == 0) {
    for (int i = 0; i < p->stages; i++) counts[i] = p->count / p->stages + (i < p->count % p->stages);
    return SL_OK;
  }
  if (strncasecmp(method, "type:", 5) == 0) {
    SL_TRY(weigh_types(a, method, p));
  } else if (strcasecmp(method, "parameters") != 0) {
    return sl_arguments_fail(a, key, "uniform, parameters or type: and a regular expression");
  } else if (model == NULL) {
    return sl_arguments_fail(a, key,
                             "uniform or type:... beside --model: the parameters of another model are not counted");
  } else {
    SL_TRY(weigh_parameters(a, model, config, p));
  }
  return sl_partition(p->weights, p->count, p->stages, SL_PARTITION_BY_SPREAD, counts);
}

/* The blocks of each stage, if the ends of the model are at the ends of the pipeline. What only turns or casts a tensor
 * may be anywhere. */
static enum sl_status give(const struct sl_arguments *a, const struct pipe *p, const int64_t *counts, json_t *config) {
  json_t *stages = json_array();
  const int64_t first = AHEAD, last = AHEAD + p->blocks; /* of the blocks, and behind them */
  bool expressed = counts[0] > 1 && counts[p->stages - 1] >= p->count - (last + NORM);
  for (int64_t i = 0, from = 0; i < p->stages; from += counts[i++]) {
    const int64_t to = from + counts[i], begin = from > first ? from : first, end = to < last ? to : last;
    json_array_append_new(stages, json_integer(end > begin ? end - begin : 0));
    expressed &= end > begin;
  }
  sl_interop_put(config, "shardlab.stages", stages);
  return expressed ? SL_OK
                   : sl_arguments_fail(a, key,
                                       "a division with the embedding in the first stage, final norm and head in the "
                                       "last, and a block in each, without which Megatron-DeepSpeed's pipeline fails");
}

static enum sl_status check_sizes(const struct sl_arguments *a, int64_t blocks, int64_t pp) {
  char expected[192];
  if (pp > 256) return sl_arguments_fail(a, "pipeline-model-parallel-size", "at most 256 beside --pp-partition-method");
  if (blocks > 4096) return sl_arguments_fail(a, "num-layers", "at most 4096");
  if (blocks >= pp) return SL_OK;
  snprintf(expected, sizeof expected,
           "at least %lld, a block for each stage of --pipeline-model-parallel-size: stages of the embedding or the "
           "head alone are not modelled",
           (long long)pp);
  return sl_arguments_fail(a, "num-layers", expected);
}

enum sl_status sl_megatron_put_stages(const struct sl_arguments *a, const json_t *model, json_t *config) {
  enum sl_status status;
  const int64_t pp = json_integer_value(sl_json_at(config, "shardlab.pp"));
  const int64_t tp = json_integer_value(sl_json_at(config, "shardlab.tp"));
  struct pipe p = {.stages = 0};
  int64_t *counts = NULL;
  if (!sl_arguments_has(a, key)) return SL_OK;
  if (!sl_arguments_has(a, "deepspeed")) return sl_arguments_fail(a, key, "none without --deepspeed");
  if (pp <= 1 || tp < 1) return SL_OK; /* 0 is refused where the configuration is read */
  SL_TRY(sl_arguments_int(a, "num-layers", &p.blocks));
  SL_TRY(check_sizes(a, p.blocks, pp));
  p.stages = (int)pp;
  p.count = (int)p.blocks + AHEAD + BEHIND + (sl_arguments_has(a, "fp16") || sl_arguments_has(a, "bf16"));
  SL_GO(sl_calloc(&p.weights, (size_t)p.count, sizeof *p.weights));
  SL_GO(sl_calloc(&counts, (size_t)p.stages, sizeof *counts));
  SL_GO(divide(a, model, config, &p, counts));
  SL_GO(give(a, &p, counts, config));
done:
  free(p.weights);
  free(counts);
  return status;
}
