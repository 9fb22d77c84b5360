/* See megatron_refused.h. Sources: megatron/training/arguments.py of core_r0.12 and d98e8a64dd, Megatron-DeepSpeed's
 * and BigScience's megatron/arguments.py: defaults, help; the first one's validate_args for what interleaving
 * changes. */
#include "core/interop/megatron_refused.h"

#include <stdio.h>
#include <string.h>

const struct sl_megatron_refusal sl_megatron_refused[] = {
    /* the model */
    {"num-experts", "1"},
    {"expert-model-parallel-size", "1"},
    {"moe-router-topk", NULL},
    {"moe-grouped-gemm", NULL},
    {"num-experts-per-tok", NULL},
    {"mlp-type", "standard"},
    {"multi-latent-attention", NULL},
    {"mtp-num-layers", "0"},
    {"hybrid-override-pattern", NULL},
    {"hybrid-layer-pattern", NULL},
    {"hybrid-attention-ratio", "0.0"},
    {"hybrid-mlp-ratio", "0.0"},
    {"is-hybrid-model", NULL},
    {"experimental-attention-variant", NULL},
    {"linear-attention-freq", NULL},
    {"quick-geglu", NULL},
    {"activation-func-clamp-value", NULL},
    {"apply-residual-connection-post-layernorm", NULL},
    {"spec", NULL},
    {"yaml-cfg", NULL},
    {"use-mp-args-from-checkpoint-args", NULL},
    {"heterogeneous-layers-config-path", NULL},
    {"encoder-num-layers", NULL},
    {"decoder-num-layers", NULL},
    {"encoder-seq-length", NULL},
    {"window-size", NULL},
    {"softmax-type", "vanilla"},
    {"no-rope-freq", NULL},
    {"qk-l2-norm", NULL},
    {"qk-clip", NULL},
    {"attention-output-gate", NULL},
    {"use-mup", NULL},
    {"rotary-seq-len-interpolation-factor", "1"},
    {"vocab-extra-ids", "0"},
    {"no-pad-vocab-size", NULL},
    {"disable-pad-vocab-size", NULL},
    {"img-h", NULL},
    {"freeze-LM", NULL},
    {"freeze-ViT", NULL},
    {"vision-model-type", NULL},
    {"language-model-type", NULL},
    {"mos", NULL},
    {"kd", NULL},
    {"random-ltd", NULL},
    /* number types */
    {"params-dtype", NULL},
    {"main-params-dtype", "fp32"},
    {"main-grads-dtype", "fp32"},
    {"exp-avg-dtype", "fp32"},
    {"exp-avg-sq-dtype", "fp32"},
    {"fp32-residual-connection", NULL},
    {"fp16-lm-cross-entropy", NULL},
    {"embedding-weights-in-fp32", NULL},
    {"use-precision-aware-optimizer", NULL},
    {"use-bnb-optimizer", NULL},
    {"ddp-reduce-scatter-with-fp32-accumulation", NULL},
    {"ddp-param-name-patterns-for-fp32-local-accumulation", NULL},
    {"fp8-hybrid", NULL},
    {"fp8-e4m3", NULL},
    {"fp8-output-proj", NULL},
    {"keep-fp8-transpose-cache", NULL},
    {"keep-fp8-transpose-cache-when-using-custom-fsdp", NULL},
    {"te-precision-config-file", NULL},
    {"kitchen-config-file", NULL},
    {"kitchen-recipe-number", NULL},
    {"fp4-format", NULL},
    /* kernels */
    {"deterministic-mode", NULL},
    {"batch-invariant-mode", NULL},
    {"sft", NULL}, /* sequences are packed */
    {"dataloader-inter-document-masking", NULL},
    /* shards and stages */
    {"model-parallel-size", NULL}, /* of 2020: later ones refuse it, too */
    {"batch-size", NULL},
    {"use-torch-fsdp2", NULL},
    {"use-custom-fsdp", NULL},
    {"use-megatron-fsdp", NULL},
    {"num-distributed-optimizer-instances", "1"},
    {"tensor-parallel-num-weight-shards", "1"},
    {"hierarchical-context-parallel-sizes", NULL},
    {"hybrid-context-parallel", NULL},
    {"ds-sequence-parallel-fpdt", NULL},
    {"force-ds-sequence-parallel", NULL},
    {"encoder-tensor-model-parallel-size", "0"},
    {"encoder-pipeline-model-parallel-size", "0"},
    {"decoder-first-pipeline-num-layers", NULL},
    {"decoder-last-pipeline-num-layers", NULL},
    {"pipeline-model-parallel-layout", NULL},
    {"pipeline-model-parallel-split-rank", NULL},
    {"account-for-embedding-in-pipeline-split", NULL},
    {"account-for-loss-in-pipeline-split", NULL},
    {"standalone-embedding-stage", NULL},
    {"mlp-chunks-for-training", "1"},
    /* offload and recomputation */
    {"optimizer-cpu-offload", NULL},
    {"cpu-offloading", NULL},
    {"cpu-offloading-num-layers", "0"},
    {"fine-grained-activation-offloading", NULL},
    {"remote-device", "none"},
    {"checkpoint-num-layers", "1"},
    {"checkpoint-in-cpu", NULL},
    {"contigious-checkpointing", NULL},
    {"synchronize-each-layer", NULL},
    {"distribute-saved-activations", NULL},
    {"distribute-checkpointed-activations", NULL},
    {"split-transformers", NULL},
    {"scattered-embeddings", NULL},
    {"memory-centric-tiled-linear", NULL},
    /* traffic */
    {"ddp-bucket-size", NULL},
    {"ddp-num-buckets", NULL},
    {"zero-reduce-bucket-size", "0"},
    {"zero-allgather-bucket-size", "0"},
    {"overlap-param-gather-with-optimizer-step", NULL},
    {"defer-embedding-wgrad-compute", NULL},
    {"delay-wgrad-compute", NULL},
    {"sync-tp-duplicated-parameters", NULL},
    {"symmetric-ar-type", NULL},
    {"use-sharp", NULL},
    {"use-ring-exchange-p2p", NULL},
    {"pipeline-model-parallel-comm-backend", "nccl"},
    {NULL, NULL},
};

/* --params-dtype is what --bf16 and --fp16 say. */
static bool agrees(const struct sl_arguments *a, const char *type) {
  const char *said = sl_arguments_has(a, "bf16") ? "bf16" : sl_arguments_has(a, "fp16") ? "fp16" : "fp32";
  return strcmp(type, said) == 0;
}

static bool is_neutral(const struct sl_arguments *a, const struct sl_megatron_refusal *r, const char *value) {
  if (strcmp(r->name, "params-dtype") == 0) return agrees(a, value);
  return r->neutral != NULL && strcmp(value, r->neutral) == 0;
}

enum sl_status sl_megatron_check_refused(const struct sl_arguments *a) {
  for (const struct sl_megatron_refusal *r = sl_megatron_refused; r->name != NULL; r++) {
    char expected[64] = "none: it is not modelled";
    const struct sl_argument_given *g = sl_arguments_find(a, r->name);
    if (g == NULL) continue;
    sl_arguments_has(a, r->name);
    if (g->value_count > 0 && is_neutral(a, r, g->values[0])) continue;
    if (r->neutral != NULL) snprintf(expected, sizeof expected, "%s: nothing else is modelled", r->neutral);
    return sl_arguments_fail(a, r->name, expected);
  }
  return SL_OK;
}

/* Without interleaving Megatron-LM sets overlap_p2p_comm to False, whatever is given; with it, it is on unless told
 * otherwise, and messages pass beside computation here. */
enum sl_status sl_megatron_check_interleaved(const struct sl_arguments *a, int64_t pp, int64_t virtual_stages) {
  static const char size[] = "microbatch-group-size-per-virtual-pipeline-stage";
  static const char *const refused[] = {"no-overlap-p2p-communication", "overlap-p2p-communication-warmup-flush"};
  int64_t group = pp;
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
    if (sl_arguments_has(a, refused[i]) && virtual_stages > 1)
      return sl_arguments_fail(a, refused[i],
                               "none beside several stages a rank: their messages overlap here, but in the "
                               "pipeline's warm-up and end");
  sl_arguments_has(a, "overlap-p2p-communication"); /* the default of later releases */
  if (sl_arguments_has(a, size)) SL_TRY(sl_arguments_int(a, size, &group));
  if (virtual_stages > 1 && group != pp)
    return sl_arguments_fail(a, size, "--pipeline-model-parallel-size: no other group is modelled");
  return SL_OK;
}
