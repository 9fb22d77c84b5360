/* See megatron_words.h. Sources: megatron/training/arguments.py of core_r0.12 and its neighbours, Megatron-DeepSpeed's
 * megatron/arguments.py: action, nargs. */
#include "core/interop/megatron_words.h"

#include "core/interop/megatron_rows.h"
#include "core/interop/unsaid.h"

#include <stdint.h>
#include <string.h>

static const char *const switches[] = {
    "abort-on-unmet-fused-kernel-constraints",
    "accumulate-allreduce-grads-in-fp32",
    "add-qkv-bias",
    "adlr-autoresume",
    "apply-layernorm-1p",
    "async-save",
    "attention-output-gate",
    "attention-softmax-in-fp32",
    "auto-detect-ckpt-format",
    "bf16",
    "checkpoint-activations",
    "ckpt-assume-constant-structure",
    "ckpt-fully-parallel-load",
    "ckpt-fully-parallel-save",
    "cpu-optimizer",
    "cross-entropy-loss-fusion",
    "ddp-average-in-collective",
    "deepspeed",
    "deepspeed-activation-checkpointing",
    "disable-bias-linear",
    "distribute-saved-activations",
    "embed-layernorm",
    "enable-zbh1-exact-semantics",
    "enable-zbh1-pipeline",
    "eod-mask-loss",
    "exit-signal-handler",
    "finetune",
    "first-last-layers-bf16",
    "fp16",
    "fp8-dot-product-attention",
    "fp8-hybrid",
    "fp8-multi-head-attention",
    "fp8-param-gather",
    "full-validation",
    "grad-reduce-in-bf16",
    "group-query-attention",
    "init-method-xavier-uniform",
    "is-hybrid-model",
    "legacy-tokenizer",
    "log-batch-size-to-tensorboard",
    "log-learning-rate-to-tensorboard",
    "log-memory-to-tensorboard",
    "log-num-zeros-in-grad",
    "log-optimizer-states-to-tensorboard",
    "log-params-norm",
    "log-straggler",
    "log-throughput",
    "log-timers-to-tensorboard",
    "log-validation-ppl-to-tensorboard",
    "manual-gc",
    "mock-data",
    "moe-grouped-gemm",
    "multi-latent-attention",
    "no-async-tensor-model-parallel-allreduce",
    "no-bias-dropout-fusion",
    "no-bias-gelu-fusion",
    "no-bias-swiglu-fusion",
    "no-check-for-nan-in-loss-and-grad",
    "no-create-attention-mask-in-dataloader",
    "no-gradient-accumulation-fusion",
    "no-initialization",
    "no-load-optim",
    "no-load-rng",
    "no-masked-softmax-fusion",
    "no-mmap-bin-files",
    "no-overlap-p2p-communication",
    "no-pipeline-parallel",
    "no-position-embedding",
    "no-query-key-layer-scaling",
    "no-rope-fusion",
    "no-save-optim",
    "no-save-rng",
    "nvtx-ranges",
    "optimizer-cpu-offload",
    "overlap-grad-reduce",
    "overlap-p2p-communication",
    "overlap-p2p-communication-warmup-flush",
    "overlap-param-gather",
    "override-opt-param-scheduler",
    "partition-activations",
    "qk-layernorm",
    "recompute-activations",
    "record-memory-history",
    "sequence-parallel",
    "skip-warmup",
    "squared-relu",
    "swiglu",
    "tp-comm-overlap",
    "trust-remote-code",
    "universal-checkpoint",
    "untie-embeddings-and-output-weights",
    "use-checkpoint-args",
    "use-checkpoint-opt-param-scheduler",
    "use-cpu-initialization",
    "use-custom-fsdp",
    "use-dist-ckpt",
    "use-distributed-optimizer",
    "use-flash-attn",
    "use-flash-attn-builder",
    "use-flash-attn-triton",
    "use-flash-attn-v1",
    "use-flash-attn-v2",
    "use-legacy-models",
    "use-mcore-models",
    "use-megatron-fsdp",
    "use-persistent-ckpt-worker",
    "use-precision-aware-optimizer",
    "use-pytorch-profiler",
    "use-rope-scaling",
    "use-rotary-position-embeddings",
    "use-torch-fsdp2",
    "use-tp-pp-dp-mapping",
    "zero-contigious-gradients",
    "zero-reduce-scatter",
    NULL,
};

static const char *const lists[] = {
    "data-path",
    "train-data-path",
    "valid-data-path",
    "test-data-path",
    "rampup-batch-size",
    "recompute-modules",
    "spec",
    "num-experts",
    "profile",
    "profile-ranks",
    "eval-only",
    "cp-comm-type",
    "train-weighted-split-paths",
    "valid-weighted-split-paths",
    "test-weighted-split-paths",
    NULL,
};

/* What is named as without effect, and takes one value. */
static const char *const named[] = {
    "split",
    "transformer-impl",
    "empty-unused-memory-level",
    "start-weight-decay",
    "end-weight-decay",
    "weight-decay-incr-style",
    NULL,
};

size_t sl_megatron_takes(const char *name) {
  return sl_interop_among(switches, name) ? 0 : sl_interop_among(lists, name) ? SIZE_MAX : 1;
}

/* The word that a launcher starts; what stands before it is the launcher's. NULL: none. */
static char *const *program_of(const struct sl_arguments *a) {
  for (size_t i = 0; i < a->words.count; i++) {
    const size_t length = strlen(a->words.list[i]);
    if (length > 3 && strcmp(a->words.list[i] + length - 3, ".py") == 0) return a->words.list + i;
  }
  return NULL;
}

static enum sl_status stray(const struct sl_arguments *a, const char *word, const char *behind) {
  return sl_fail(SL_ERR_INPUT, "%s: '%s' behind %s belongs to no argument; expected --NAME", a->name, word, behind);
}

static enum sl_status check_argument(const struct sl_arguments *a, const struct sl_argument_given *g) {
  const bool is_switch = sl_interop_among(switches, g->name);
  const bool is_known =
      is_switch || g->used || sl_interop_among(sl_megatron_beside, g->name) || sl_interop_among(named, g->name);
  if (!is_known || sl_interop_among(lists, g->name)) return SL_OK;
  const size_t takes = is_switch ? 0 : 1;
  if (g->value_count < takes) return sl_fail(SL_ERR_INPUT, "%s: --%s: has no value; expected one", a->name, g->name);
  if (g->value_count == takes) return SL_OK;
  char behind[128];
  snprintf(behind, sizeof behind, "--%.100s", g->name);
  return stray(a, g->values[takes], behind);
}

enum sl_status sl_megatron_check_words(const struct sl_arguments *a) {
  char *const *program = program_of(a), *const *first = program != NULL ? program + 1 : a->words.list;
  if (first < a->words.list + a->words.count && (strncmp(*first, "--", 2) != 0 || (*first)[2] == '\0'))
    return stray(a, *first, program != NULL ? *program : "nothing");
  for (size_t i = 0; i < a->count; i++)
    if (program == NULL || a->list[i].values > program) SL_TRY(check_argument(a, &a->list[i]));
  return SL_OK;
}

enum sl_status sl_megatron_check_rampup(const struct sl_arguments *a) {
  static const char *const expected = "three whole numbers: the first batch, its increment and the samples it grows in";
  for (size_t i = 0; i < a->count; i++) {
    const struct sl_argument_given *g = &a->list[i];
    if (strcmp(g->name, "rampup-batch-size") != 0) continue;
    bool whole = g->value_count == 3;
    for (size_t k = 0; k < g->value_count && whole; k++)
      whole = g->values[k][0] != '\0' && strspn(g->values[k], "0123456789") == strlen(g->values[k]);
    if (!whole) return sl_arguments_fail(a, g->name, expected);
  }
  return SL_OK;
}
