/* The training configuration: DeepSpeed's ds_config.json with its names, defaults, batch algebra and errors, plus the
 * top-level "shardlab" section, which DeepSpeed ignores, for what DeepSpeed has no key for:
 *
 *   "shardlab": {"ds_version": "0.19.6", "tp": 1, "pp": 1, "cp": 1, "cp_comm_type": "all_gather",
 *                "rank_order": "tp-dp-pp", "virtual_stages": 1, "schedule": "1f1b", "stages": "uniform",
 *                "recompute": "none", "recompute_modules": ["core_attn"], "recompute_every": 1, "preset": "",
 *                "sequence_parallel": false, "scatter_gather_tensors_in_pipeline": false, "shard_size": 0,
 *                "limit_all_gathers": true, "no_sync": false, "gradient_as_bucket_view": false,
 *                "unshard_ahead": 3, "store_dropout_masks": false, "make_vocab_size_divisible_by": null, "tf32": false,
 *                "tp_vocab": "parallel",
 *                "fp8": false, "fp8_recipe": "tensorwise", "fp8_format": "hybrid", "fp8_margin": 0,
 *                "fp8_amax_compute_algo": "max", "fp8_amax_history_len": 1024, "fp8_param_gather": false, "async_tp": false,
 *                "tp_comm_overlap": false, "overlap_param_gather": false, "seed": 1234, "seq_len": 0, "eval_interval": 0, "eval_iters": 100,
 *                "attention": "flash-on-gpu", "fuse_epilogues": "gpu", "cuda_graph": true, "shuffle": true}
 *
 * Lists may also be written as text, "13,13,13,9", as flags do. The table of all keys is config/fields.c; keys that
 * DeepSpeed knows and shardlab does not model have no field here (config/keys.inc).
 *
 * ds_version selects the defaults. Versions compare by major.minor.patch (a missing patch is 0, "+..." is ignored):
 *   gradient_clipping                     0.0 before 0.19.6, then 1.0
 *   offload_{optimizer,param}.pin_memory  false before 0.19.6, then true
 *   bf16.check_grad_overflow              false before 0.19.6, then true
 *   data_types.grad_accum_dtype           fp32 for bf16 at stage 0 before 0.17.6, then the parameters' type
 * (The first three changed between June and August 2026, on the way to 0.19.6.)
 *
 * Values: "auto" means the default. Whole reals (5e8) are integers. Sections that are pydantic models in DeepSpeed
 * convert "1", "true" or true as those do (config/coerce.h). Deprecated spellings (cpu_offload, bfloat16, ...) are read
 * as DeepSpeed reads them, with a warning. With elasticity.enabled the batch is computed as DeepSpeed computes it
 * (config/elastic.h). tests/peers/deepspeed_config.tsv has DeepSpeed's verdict on some 2,600 configurations, and
 * deepspeed_differences.tsv lists where shardlab differs on purpose. Sources: deepspeed/runtime/config.py,
 * zero/config.py, zero/offload_config.py, precision_config.py, lr_schedules.py of DeepSpeed 0.19.6. */
#pragma once

#include "core/base/dtype.h"
#include "core/base/json.h"
#include "core/base/status.h"
#include "core/config/loss_scale.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum sl_optimizer { SL_OPT_SGD, SL_OPT_ADAM, SL_OPT_ADAMW, SL_OPT_ONEBIT_ADAM };
/* Tensor parallelism of the embedding and the head. PARALLEL: both are cut along the vocabulary, and so is the loss
 * (Megatron-LM). GATHERED: the head is, but its logits are gathered for the loss; the embedding is whole, unless it is
 * the head too (the tp_plan of transformers' models). WHOLE: both are whole. AUTOTP: what DeepSpeed's AutoTP does with
 * the model, one of the last two (core/plan/vocabulary.h). */
enum sl_tp_vocab { SL_TP_VOCAB_PARALLEL, SL_TP_VOCAB_GATHERED, SL_TP_VOCAB_WHOLE, SL_TP_VOCAB_AUTOTP };
/* FLASH is FlashAttention 2 on devices that distinguish the kernels; the following ones up to CUDNN are only predicted.
 * ON_GPU, the default, becomes FLASH on a GPU (with some kernel sets CUDNN, plan/kernels.h) and MATERIALISED on a CPU in
 * the plan's configuration. */
enum sl_attention {
  SL_ATTENTION_MATERIALISED,
  SL_ATTENTION_FLASH,
  SL_ATTENTION_FLASH_1,
  SL_ATTENTION_FLASH_3,
  SL_ATTENTION_CUDNN,
  SL_ATTENTION_ON_GPU
};
/* The framework whose kernels run (plan/kernels.h). All but SHARDLAB are only predicted. */
enum sl_kernel_choice {
  SL_KERNELS_SHARDLAB,
  SL_KERNELS_MEGATRON_FUSED,
  SL_KERNELS_MEGATRON_UNFUSED,
  SL_KERNELS_TORCH_EAGER,
  SL_KERNELS_TORCH_COMPILE,
  SL_KERNELS_LLM_FOUNDRY,
  SL_KERNELS_NANOTRON,
  SL_KERNELS_MEGATRON_DEEPSPEED,
  SL_KERNELS_ALEPH_ALPHA_SCALING,
  SL_KERNELS_TORCH_COMPILE_BLOCKS,
  SL_KERNELS_MEGATRON_CORE,
  SL_KERNELS_COUNT
};
/* Where matrix products include element-wise neighbours as an epilogue: on devices of kind "gpu", on all, or on
 * none. */
enum sl_fuse { SL_FUSE_GPU, SL_FUSE_ALWAYS, SL_FUSE_NEVER };
/* The axes of the world of ranks, the fastest-varying one first (plan/coords.h). */
enum sl_rank_order {
  SL_RANKS_TP_DP_PP,
  SL_RANKS_TP_PP_DP,
  SL_RANKS_DP_TP_PP,
  SL_RANKS_DP_PP_TP,
  SL_RANKS_PP_TP_DP,
  SL_RANKS_PP_DP_TP,
  SL_RANK_ORDERS
};
/* How layers are divided among pipeline stages. */
enum sl_stages_by {
  SL_STAGES_UNIFORM,    /* the same number of layers each, as far as possible */
  SL_STAGES_PARAMETERS, /* with parameter counts as equal as DeepSpeed's partition_method of that name makes them */
  SL_STAGES_FLOPS,      /* minimising the largest count of floating-point operations */
  SL_STAGES_COST,       /* as nanotron does, which may leave the last ranks without layers: plan/stages.c */
  SL_STAGES_LIST        /* as stage_layers says; a stage of 0 layers passes on its input, or is only the LM head */
};
/* How ranks that share sequences get at each other's keys: they gather keys and values, or exchange heads. */
enum sl_cp_comm { SL_CP_ALL_GATHER, SL_CP_A2A };
enum sl_fp8_recipe { SL_FP8_TENSORWISE, SL_FP8_ROWWISE };
enum sl_fp8_format { SL_FP8_HYBRID, SL_FP8_ALL_E4M3 }; /* gradients in E5M2, or in E4M3 as all else */
enum sl_fp8_amax { SL_FP8_MAX, SL_FP8_MOST_RECENT };
/* SELECTIVE recomputes the modules of recompute_modules; SELECTIVE_OP all but attention's output and every other
 * product's. */
enum sl_recompute { SL_RECOMPUTE_NONE, SL_RECOMPUTE_SELECTIVE, SL_RECOMPUTE_FULL, SL_RECOMPUTE_SELECTIVE_OP };
enum { SL_MAX_STAGES = 256 }; /* entries of a list of stages */
enum sl_offload_device { SL_OFFLOAD_NONE, SL_OFFLOAD_CPU, SL_OFFLOAD_NVME };

/* Where the numbers of a run are written during the run: csv_monitor, tensorboard. */
struct sl_monitor_config {
  bool enabled;
  char output_path[1024], job_name[256];
};

struct sl_config {
  char ds_version[16]; /* shardlab.ds_version, which selects defaults; "0.19.6" */
  /* batch sizes; 0 = not given, until sl_config_resolve_batch */
  int64_t train_batch_size, train_micro_batch_size_per_gpu, gradient_accumulation_steps;
  /* the argument of Megatron-LM, borrowed, that train_batch_size is from; NULL: none */
  const char *megatron_batch;
  double gradient_clipping;    /* global norm, 0 = off */
  bool sparse_gradients;       /* of an embedding */
  bool gradient_allreduce_sum; /* gradient_allreduce_op == "sum" */
  enum sl_dtype param_dtype;   /* F32, F16 (fp16.enabled) or BF16 (bf16.enabled) */
  /* torch_autocast, if it is enabled beside fp32 parameters: what torch.autocast casts to, F16 or BF16; else F32. null
   * is F16, the default of torch.autocast("cuda") */
  enum sl_dtype autocast_dtype;
  enum sl_dtype communication_data_type; /* null: param_dtype */
  /* what Ulysses reduces in instead (plan/strategy.c, choose_ulysses_type); null: param_dtype */
  enum sl_dtype seq_parallel_communication_data_type;
  /* data_types.grad_accum_dtype; null: param_dtype, but F32 for bf16 at stage 0 before DeepSpeed 0.17.6 and under the
   * presets of other frameworks, which set it in the plan's configuration */
  enum sl_dtype grad_accum_dtype;
  struct {
    bool enabled;      /* fp16.enabled: loss scaling is on */
    double loss_scale; /* 0 = dynamic */
    int initial_scale_power;
    int64_t loss_scale_window, hysteresis;
    bool consecutive_hysteresis;
    double min_loss_scale;
  } fp16;
  struct {
    bool enabled, check_grad_overflow;
  } bf16;
  struct {
    enum sl_optimizer type;
    char type_name[32]; /* as written */
    double lr, beta1, beta2, eps, weight_decay, momentum, dampening;
    bool nesterov, bias_correction, adam_w_mode;
    int64_t freeze_step; /* OneBitAdam: steps after which the variance is frozen and the momentum is sent as signs */
  } optimizer;           /* Adam with adam_w_mode (the default) is SL_OPT_ADAMW, as in DeepSpeed */
  struct sl_lr_rules scheduler;
  struct {
    int stage; /* 0..3 */
    bool overlap_comm;
    bool reduce_scatter; /* false: ZeRO 1 and 2 all-reduce whole buckets */
    /* use_multi_rank_bucket_allreduce: ZeRO 1 and 2 do so unless it is false. Where the file does not say, true with the
     * kernels of frameworks, since DeepSpeed 0.12.4; our own backend scatters, which is half the traffic. */
    bool multi_rank_allreduce;
    int64_t reduce_bucket_size, allgather_bucket_size; /* elements */
    int64_t prefetch_bucket_size, param_persistence_threshold, model_persistence_threshold, max_live_parameters,
        max_reuse_distance; /* elements, stage 3 */
    enum sl_offload_device offload_optimizer, offload_param;
    double offload_ratio; /* offloaded optimizer states: the share that the host updates; the device updates the rest */
    /* optimizer states on NVMe: elements that are in host memory at once; states or parameters in two memories:
     * elements of a shard that stay together */
    int64_t sub_group_size;
    char optimizer_nvme_path[1024], param_nvme_path[1024]; /* "": not given */
    int64_t optimizer_buffer_count, param_buffer_count;
    bool optimizer_pinned, param_pinned;         /* pin_memory, of what is offloaded to host memory */
    bool pipeline_read, pipeline_write;          /* of optimizer states, overlapping with the update of others */
    int64_t param_buffer_size, param_max_in_cpu; /* elements */
    int64_t hpz_partition_size, mics_shard_size;
    bool quantized_weights, quantized_gradients; /* ZeRO++'s qwZ and qgZ */
    bool allow_untested_optimizer;               /* top-level zero_allow_untested_optimizer */
  } zero;
  struct {
    int64_t block_size, queue_depth; /* bytes; blocks in flight per thread */
    int64_t threads;                 /* intra_op_parallelism, "thread_count" before DeepSpeed 0.15 */
    bool single_submit, overlap_events;
  } aio;
  struct { /* activation_checkpointing: applies to what "recompute": "full" keeps; see core/models/saved_input.h */
    bool partitioned, on_host;
  } activations;
  struct sl_monitor_config csv_monitor, tensorboard;
  int64_t steps_per_print; /* 0: no lines */
  bool wall_clock_breakdown;
  struct {
    bool enabled, verbose, prof_all;
    char prof_ops[512]; /* a list of names as JSON text: what is logged without prof_all */
  } comms_logger;
  struct {
    bool enabled, detailed;
    int64_t profile_step; /* counted from 0 */
    int64_t module_depth; /* -1: all */
    int64_t top_modules;
    double recompute_fwd_factor; /* extra forwards of a backward, for recomputation, beyond the two it costs itself */
    char output_file[1024];      /* "": standard output */
  } flops_profiler;
  struct { /* the "shardlab" section; flags override */
    int tp, pp, cp, virtual_stages;
    enum sl_rank_order rank_order;
    char schedule[256]; /* a builder's name, or a .csv path */
    enum sl_stages_by stages_by;
    int64_t stage_layers[SL_MAX_STAGES];        /* (stage_count): layers of each of the pp * virtual_stages stages */
    int stage_count;                            /* 0 unless stages_by is SL_STAGES_LIST */
    enum sl_recompute recompute[SL_MAX_STAGES]; /* (recompute_count): per pipeline rank */
    int recompute_count;                        /* pp, or 1: the same everywhere */
    bool recompute_attention, recompute_norms;  /* what "selective" recomputes: core_attn, layernorm */
    int64_t recompute_every;                    /* n: recompute every n-th layer of a pipeline rank */
    /* dp ranks that shard among themselves, groups of which are replicas; 0 = all. See sl_config_shard_size */
    int64_t shard_size;
    bool limit_all_gathers; /* FSDP only: a gather waits until the one before the last is freed */
    /* FSDP only: micro-batches are summed in whole gradients, which have the type in which they are reduced, and only
     * the last of a step reduces them */
    bool no_sync;
    bool bucket_view;         /* gradient_as_bucket_view, DDP only: gradients are views of the reducer's buckets */
    int unshard_ahead;        /* stages of a pipeline rank whose parameters are gathered at a time */
    bool store_dropout_masks; /* forward stores them, a byte an element; else backward draws them again. Where the file
                               * says nothing: with any kernels but our own */
    char preset[32];
    bool sequence_parallel; /* false if tp is 1 */
    /* pipeline messages: each tp rank sends 1 / tp, and the receivers all-gather over tp */
    bool scatter_gather;
    enum sl_attention attention;   /* probabilities kept for backward, or recomputed: memory linear in seq_len */
    enum sl_kernel_choice kernels; /* whose kernels are predicted */
    /* CUDA_LAUNCH_BLOCKING=1: the host of a prediction waits for every kernel it launches */
    bool launch_blocking;
    /* PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True: a framework's allocator reserves one segment that grows */
    bool expandable_segments;
    bool fused_norm, fused_softmax; /* for a kernel set that has both forms: one kernel each */
    bool cross_entropy_loss_fusion; /* Megatron-LM's switch, for its kernels on Transformer Engine */
    int vocab_multiple;             /* make_vocab_size_divisible_by; 0: the plan's choice, see core/plan/plan.h */
    enum sl_tp_vocab tp_vocab;      /* where the file says nothing: AUTOTP beside "tensor_parallel", else PARALLEL */
    bool tf32;                      /* fp32 products are SL_TF32: HF's tf32, PyTorch's cuda.matmul.allow_tf32 */
    bool fp8;                       /* bf16 products are SL_F8. The kernel set determines the casts; our own run */
    enum sl_cp_comm cp_comm;        /* cp_comm_type, Megatron-LM's word */
    enum sl_fp8_recipe fp8_recipe;  /* for a kernel set that casts: one scale per tensor, or per row */
    /* of our own casts, as in Transformer Engine's DelayedScaling: what gradients are cast to, the powers of two that a
     * scale keeps free, and the steps whose largest magnitudes make it */
    enum sl_fp8_format fp8_format;
    int fp8_margin;
    enum sl_fp8_amax fp8_amax_compute_algo;
    int fp8_amax_history_len;
    bool fp8_param_gather; /* Megatron-LM's: weights of linear layers are kept and gathered in fp8 alone */
    /* of torch's compiled kernels: sequence-parallel transfers in pieces that overlap with products */
    bool async_tp;
    bool tp_comm_overlap;        /* Megatron-LM's userbuffers, with any kernels: likewise */
    bool overlap_param_gather;   /* of its distributed optimizer: the next forward gathers updated parameters */
    enum sl_fuse fuse_epilogues; /* GELU, its gradient and bias gradients as part of a product */
    bool cuda_graph;             /* backend cuda: a step is a single launch of a graph recorded from the first step */
    bool shuffle;                /* false: sequences in the order of the file */
    int64_t eval_interval;       /* steps between evaluations; 0: no evaluation */
    int64_t eval_iters;          /* global batches of each evaluation, at most */
    int64_t seed, seq_len;       /* seq_len 0 = the model's n_positions */
  } sl;
  struct sl_json doc; /* the file, kept for the places in messages; owned */
};

/* Reads `text`, called `name`; on failure nothing is allocated. An unknown top-level key is a warning with the nearest known name (an
 * error if `strict`), an unknown key inside a section is an error. One warning names all keys that DeepSpeed knows and
 * shardlab does not model. Errors: SL_ERR_INPUT with file, line and key. */
enum sl_status sl_config_parse(struct sl_config *config, const char *name, const char *text, size_t length,
                               bool strict);
/* The same from a document, for callers that add keys of their own. Takes ownership of `doc`, also on failure. */
enum sl_status sl_config_from_json(struct sl_config *config, struct sl_json *doc, bool strict);
void sl_config_free(struct sl_config *config);

/* The value in the file at a key path without array indices; NULL if absent, null or "auto". Borrowed. */
const json_t *sl_config_at(const struct sl_config *config, const char *path);
/* The truth value of that, or `otherwise` if there is none. */
bool sl_config_flag(const struct sl_config *config, const char *path, bool otherwise);
/* Is shardlab.ds_version this release of DeepSpeed or a later one? */
bool sl_config_since(const struct sl_config *config, int major, int minor, int patch);
/* Formats `value` as JSON text for a message, truncated to `size`. */
const char *sl_config_show(const json_t *value, char *out, size_t size);
/* Warns about the key `path`, with its place. */
void sl_config_warn(const struct sl_config *config, const char *path, const char *text);

/* Resolves the batch sizes for `dp` data-parallel ranks by DeepSpeed's batch algebra, and does the checks that depend
 * on what flags may override (tp, pp, ...); reading the file has done those among DeepSpeed's own keys. Call it once.
 * Afterwards train_batch_size == train_micro_batch_size_per_gpu * gradient_accumulation_steps * dp. Errors:
 * SL_ERR_INPUT with the key to blame. */
enum sl_status sl_config_resolve_batch(struct sl_config *config, int dp);

/* Number of consecutive data-parallel ranks that shard among themselves, while such groups are replicas (FSDP's
 * HYBRID_SHARD, DeepSpeed's MiCS): shardlab.shard_size or zero_optimization.mics_shard_size, 0 = all of them. */
int64_t sl_config_shard_size(const struct sl_config *config);

/* The type of matrix products (gemm): sl_config_compute_dtype, but SL_TF32 if that is fp32 and shardlab.tf32 is set, SL_F8 if it is
 * bf16 and shardlab.fp8 is set. 16-bit models have no fp32 products. */
enum sl_dtype sl_config_product_dtype(const struct sl_config *config);

/* The type of products and of what is between them (attention, activations, logits): param_dtype, or autocast_dtype under
 * torch.autocast, which leaves parameters, their gradients, norms and the residual stream in fp32. */
enum sl_dtype sl_config_compute_dtype(const struct sl_config *config);

/* The number types of a run in a word: "fp32", "bf16", "fp16", "bf16-autocast" or "fp16-autocast". */
const char *sl_config_precision(const struct sl_config *config);

/* The learning rate at optimizer step `step`, counted from 0 without skipped steps. DeepSpeed sets a first value when
 * it builds the scheduler (last_batch_iteration -1) and calls scheduler.step() after each optimizer step, so step s
 * runs with last_batch_iteration i = s - 1 (lr_schedules.py of 0.19.6). With w = max(2, warmup_num_steps) and g(i) =
 * log(i+1)/log(w) or i/w (warmup_type "linear"):
 *   none            the optimizer's lr
 *   WarmupLR        s=0: min;   i < w: min + (max - min) g(i);   then max   (max null: the optimizer's lr)
 *   WarmupDecayLR   s=0: min;   i < w: the same;   then min + (max - min) max(0, (total - i)/max(1, total - w))
 *   WarmupCosineLR  s=0: 0;     i < w: lr (r + (1 - r) g(i)), r = warmup_min_ratio;
 *                   then lr (c + (1 - c)(1 + cos(pi p))/2), c = cos_min_ratio,
 *                   p = min(1, (i - w + 1)/max(1, total - w))
 *   LRRangeTest     min (1 + step_rate s/step_size), s/step_size rounded down with the staircase
 *   OneCycle        s=0: min;   s <= first + second: min + (max - min) scale(s), rising from 0 to 1 over `first` steps
 *                   and back over `second`, in stairs if asked for;   then
 *                   min / (1 + decay_lr_rate (s - first - second) / decay_step_size), or min if either of the two is 0
 * The log warm-up therefore stays at min for the first two steps. */
double sl_config_lr(const struct sl_config *config, int64_t step);
/* Adam's betas at `step`: those of the optimizer, except under OneCycle with cycle_momentum. There beta2 is 0.99, and
 * beta1 starts at cycle_min_mom (s=0), then runs from cycle_max_mom down to cycle_min_mom and back, opposite to the
 * learning rate, then grows by decay_mom_rate. SGD has no betas: DeepSpeed disables cycle_momentum for it. */
void sl_config_betas(const struct sl_config *config, int64_t step, double *beta1, double *beta2);

/* Everything that is modelled, after defaults, under DeepSpeed's own names, and the "shardlab" section. Reading the
 * result again gives the same configuration. Returns a new reference, NULL when out of memory. */
json_t *sl_config_to_json(const struct sl_config *config);
