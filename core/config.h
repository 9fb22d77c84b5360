/* The training configuration: DeepSpeed's ds_config.json, its names, defaults, batch algebra and errors, plus the
 * top-level "shardlab" section, which DeepSpeed ignores, for what DeepSpeed has no key for. */
#ifndef SL_CORE_CONFIG_H
#define SL_CORE_CONFIG_H

#include "core/dtype.h"
#include "core/json.h"
#include "core/status.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum sl_optimizer { SL_OPT_SGD, SL_OPT_ADAM, SL_OPT_ADAMW };
enum sl_lr_schedule { SL_LR_CONSTANT, SL_LR_WARMUP, SL_LR_WARMUP_DECAY, SL_LR_WARMUP_COSINE, SL_LR_ONE_CYCLE, SL_LR_RANGE_TEST };
enum sl_offload_device { SL_OFFLOAD_NONE, SL_OFFLOAD_CPU, SL_OFFLOAD_NVME };

struct sl_config {
  char ds_version[16];            /* shardlab.ds_version: whose defaults apply; "0.19.6" */
  /* batch; 0 = not given, until sl_config_resolve_batch */
  int64_t train_batch_size, train_micro_batch_size_per_gpu, gradient_accumulation_steps;
  double gradient_clipping;       /* global norm, 0 = off */
  bool prescale_gradients;
  double gradient_predivide_factor;
  bool gradient_allreduce_sum;    /* gradient_allreduce_op == "sum" */
  enum sl_dtype param_dtype;      /* F32, F16 (fp16.enabled) or BF16 (bf16.enabled) */
  enum sl_dtype communication_data_type;
  enum sl_dtype grad_accum_dtype;
  struct {
    bool enabled;                 /* fp16.enabled: loss scaling is on */
    double loss_scale;            /* 0 = dynamic */
    int initial_scale_power;
    int64_t loss_scale_window, hysteresis;
    bool consecutive_hysteresis;
    double min_loss_scale;
  } fp16;
  struct {
    enum sl_optimizer type;
    char type_name[32];           /* as written */
    double lr, beta1, beta2, eps, weight_decay, momentum, dampening;
    bool nesterov, bias_correction;
  } optimizer;                    /* Adam with adam_w_mode (the default) is SL_OPT_ADAMW, as in DeepSpeed */
  struct {
    enum sl_lr_schedule type;
    double warmup_min_lr, warmup_max_lr, warmup_min_ratio, cos_min_ratio;
    int64_t warmup_num_steps, total_num_steps;
    bool warmup_log;              /* warmup_type "log" */
    double cycle_min_lr, cycle_max_lr, decay_lr_rate;
    int64_t cycle_first_step_size, cycle_second_step_size, decay_step_size;
    int64_t cycle_first_stair_count, cycle_second_stair_count;
    bool cycle_momentum;
    double cycle_min_mom, cycle_max_mom, decay_mom_rate;
    double range_min_lr, range_step_rate;
    int64_t range_step_size;
    bool range_staircase;
  } scheduler;
  struct {
    int stage;                    /* 0..3 */
    bool contiguous_gradients, reduce_scatter, allgather_partitions, overlap_comm;
    int64_t reduce_bucket_size, allgather_bucket_size; /* elements */
    int64_t prefetch_bucket_size, param_persistence_threshold, model_persistence_threshold, max_live_parameters,
        max_reuse_distance, sub_group_size; /* elements, stage 3 */
    enum sl_offload_device offload_optimizer, offload_param;
    bool pin_optimizer, pin_param;
    int64_t hpz_partition_size, mics_shard_size;
    bool allow_untested_optimizer; /* top-level zero_allow_untested_optimizer */
  } zero;
  struct {                        /* the "shardlab" section; flags override */
    int tp, pp, cp, virtual_stages;
    char schedule[32], recompute[16], preset[32];
    bool sequence_parallel;
    int64_t seed, seq_len;        /* seq_len 0 = the model's n_positions */
  } sl;
  struct sl_json doc;             /* the file, kept for places; owned */
};

/* Read `path`. Unknown top-level keys warn with the nearest known name (`strict`: they fail); an unknown key inside a
 * section fails; a key DeepSpeed knows and shardlab does not model is named in a warning. */
enum sl_status sl_config_load(struct sl_config *config, const char *path, bool strict);
enum sl_status sl_config_parse(struct sl_config *config, const char *name, const char *text, size_t length, bool strict);
void sl_config_free(struct sl_config *config);

/* DeepSpeed's batch algebra and cross-field checks for `dp` data-parallel ranks. After SL_OK
 * train_batch_size == train_micro_batch_size_per_gpu * gradient_accumulation_steps * dp. */
enum sl_status sl_config_resolve_batch(struct sl_config *config, int dp);

/* Learning rate (and SGD/Adam momentum where OneCycle cycles it) of optimizer step `step`, counted from 0. */
double sl_config_lr(const struct sl_config *config, int64_t step);

/* Everything after defaults, under DeepSpeed's own names; new reference. */
json_t *sl_config_to_json(const struct sl_config *config);

#endif
