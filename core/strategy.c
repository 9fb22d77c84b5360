/* The presets: one row a framework's way of sharding; see strategy.h. */
#include "core/strategy.h"

#include <stdio.h>
#include <string.h>

#include "core/text.h"

enum { MIB = 1 << 20 };

/* Sources: torch/nn/parallel/distributed.py (bucket_cap_mb 25, first bucket 1 MiB); torch/distributed/fsdp (transformer
 * auto-wrap, BACKWARD_PRE, limit_all_gathers); Megatron-LM core/distributed/distributed_data_parallel.py (bucket size
 * max(40e6, 1e6 dp)); DeepSpeed 0.19.6 runtime/zero. Bucket limits of 0 come from the configuration or the rank count. */
static const struct preset {
  struct sl_strategy row;
  const char *description;
  int64_t first_bucket_bytes, bucket_bytes;
} presets[] = {
    {{.name = "deepspeed-0", .framework = "DeepSpeed", .zero_stage = 0, .units = SL_UNITS_WHOLE},
     "DeepSpeed without ZeRO: everything replicated",
     0,
     0},
    {{.name = "deepspeed-1",
      .framework = "DeepSpeed",
      .zero_stage = 1,
      .units = SL_UNITS_FLAT,
      .shard_optimizer = true},
     "ZeRO-1: optimizer state in flat partitions",
     0,
     0},
    {{.name = "deepspeed-2",
      .framework = "DeepSpeed",
      .zero_stage = 2,
      .units = SL_UNITS_FLAT,
      .shard_optimizer = true,
      .shard_grads = true},
     "ZeRO-2: gradients too",
     0,
     0},
    {{.name = "deepspeed-3",
      .framework = "DeepSpeed",
      .zero_stage = 3,
      .units = SL_UNITS_PARAMETER,
      .shard_optimizer = true,
      .shard_grads = true,
      .shard_params = true,
      .release = SL_RELEASE_DISTANCE},
     "ZeRO-3: parameters too",
     0,
     0},
    {{.name = "ddp",
      .framework = "PyTorch DDP",
      .zero_stage = 0,
      .units = SL_UNITS_WHOLE,
      .closes_after = true,
      .overlap = true},
     "DistributedDataParallel: 25 MiB buckets, the first 1 MiB, all-reduced as backward fills them",
     MIB,
     25 * MIB},
    {{.name = "zero-redundancy-optimizer",
      .framework = "PyTorch ZeroRedundancyOptimizer",
      .zero_stage = 1,
      .units = SL_UNITS_OWNER,
      .shard_optimizer = true,
      .closes_after = true,
      .overlap = true},
     "DDP gradients; each rank updates its own whole parameters and broadcasts them",
     MIB,
     25 * MIB},
    {{.name = "fsdp",
      .framework = "PyTorch FSDP",
      .zero_stage = 3,
      .units = SL_UNITS_LAYER,
      .shard_optimizer = true,
      .shard_grads = true,
      .shard_params = true,
      .overlap = true,
      .release = SL_RELEASE_PASS,
      .prefetch_units = true},
     "FullyShardedDataParallel FULL_SHARD: one flat parameter a block, gathered for forward and again for backward",
     0,
     0},
    {{.name = "fsdp-shard-grad-op",
      .framework = "PyTorch FSDP",
      .zero_stage = 2,
      .units = SL_UNITS_LAYER,
      .shard_optimizer = true,
      .shard_grads = true,
      .shard_params = true,
      .overlap = true,
      .release = SL_RELEASE_MICRO,
      .prefetch_units = true},
     "FullyShardedDataParallel SHARD_GRAD_OP: gathered for forward, kept until backward is over",
     0,
     0},
    {{.name = "megatron-distributed-optimizer",
      .framework = "Megatron-LM",
      .zero_stage = 1,
      .units = SL_UNITS_BUCKET,
      .shard_optimizer = true,
      .closes_after = true,
      .overlap = true,
      .fp32_gradients = true},
     "Megatron-LM --use-distributed-optimizer: fp32 gradients reduce-scattered by bucket, parameters gathered by "
     "bucket",
     0,
     0},
};
enum { PRESETS = sizeof presets / sizeof *presets };

bool sl_strategy_preset(int i, const char **name, const char **description) {
  if (i < 0 || i >= PRESETS) return false;
  *name = presets[i].row.name;
  *description = presets[i].description;
  return true;
}

static enum sl_status find_preset(const struct preset **out, const struct sl_config *config) {
  const char *names[PRESETS];
  char by_stage[16];
  const char *wanted = config->sl.preset;
  if (wanted[0] == '\0') {
    snprintf(by_stage, sizeof by_stage, "deepspeed-%d", config->zero.stage);
    wanted = by_stage;
  }
  for (int i = 0; i < PRESETS; i++) {
    names[i] = presets[i].row.name;
    *out = &presets[i];
    if (strcmp(names[i], wanted) == 0) return SL_OK;
  }
  const char *near = sl_nearest(wanted, names, PRESETS);
  return sl_json_fail(&config->doc, "shardlab.preset",
                      "\"%s\" is no preset; did you mean %s? (shardlab show presets lists them)", wanted,
                      near != NULL ? near : "deepspeed-2");
}

/* What the framework itself would refuse. */
static enum sl_status check_degrees(const struct sl_strategy *s, const struct sl_config *c) {
  const struct {
    const char *key;
    int value;
  } asked[] = {{"shardlab.tp", c->sl.tp}, {"shardlab.pp", c->sl.pp}, {"shardlab.cp", c->sl.cp}};
  if (strcmp(s->framework, "Megatron-LM") == 0) return SL_OK;
  if (strcmp(s->framework, "DeepSpeed") == 0) {
    if (c->sl.pp == 1 || !s->shard_grads || c->sl.preset[0] == '\0') return SL_OK; /* no preset: shardlab's own */
    return sl_json_fail(&c->doc, "zero_optimization.stage",
                        "ZeRO-2 and ZeRO-3 are incompatible with pipeline parallelism; stage %d with pp %d",
                        s->zero_stage, c->sl.pp);
  }
  for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
    if (asked[i].value > 1)
      return sl_json_fail(&c->doc, asked[i].key, "is %d; preset %s (%s) is data parallel only: expected 1",
                          asked[i].value, s->name, s->framework);
  }
  return SL_OK;
}

/* The stage is DeepSpeed's word for what a preset already says: the two must not contradict each other. */
static enum sl_status check_stage(const struct sl_strategy *s, const struct sl_config *c, bool deepspeed) {
  if (deepspeed && c->zero.stage != s->zero_stage) {
    return sl_json_fail(&c->doc, "zero_optimization.stage", "is %d; preset %s is stage %d", c->zero.stage, s->name,
                        s->zero_stage);
  }
  if (!deepspeed && c->zero.stage != 0 && c->zero.stage != s->zero_stage) {
    return sl_json_fail(&c->doc, "zero_optimization.stage",
                        "is %d; preset %s (%s) shards as stage %d does: leave the stage out or at 0", c->zero.stage,
                        s->name, s->framework, s->zero_stage);
  }
  return SL_OK;
}

/* MiCS and ZeRO++'s hpZ are extensions of stage 3; DeepSpeed's other optimizers never look at the keys. */
static enum sl_status check_stage3_keys(const struct sl_strategy *s, const struct sl_config *c) {
  if (s->zero_stage == 3) return SL_OK;
  if (c->zero.mics_shard_size > 0)
    return sl_json_fail(&c->doc, "zero_optimization.mics_shard_size",
                        "is %lld; MiCS is an extension of ZeRO stage 3; the stage is %d",
                        (long long)c->zero.mics_shard_size, s->zero_stage);
  if (c->zero.hpz_partition_size > 1)
    return sl_json_fail(&c->doc, "zero_optimization.zero_hpz_partition_size",
                        "is %lld; ZeRO++'s hpZ keeps a second copy of the parameters that ZeRO stage 3 shards; the "
                        "stage is %d",
                        (long long)c->zero.hpz_partition_size, s->zero_stage);
  return SL_OK;
}

/* What only DeepSpeed's engine has. */
static enum sl_status check_foreign_keys(const struct sl_strategy *s, const struct sl_config *c) {
  if (c->zero.offload_optimizer != SL_OFFLOAD_NONE || c->zero.offload_param != SL_OFFLOAD_NONE) {
    return sl_json_fail(&c->doc, "zero_optimization",
                        "preset %s: offload_optimizer and offload_param are DeepSpeed's; %s has none", s->name,
                        s->framework);
  }
  if (c->zero.hpz_partition_size > 1 || c->zero.mics_shard_size > 0) {
    return sl_json_fail(&c->doc,
                        c->zero.mics_shard_size > 0 ? "zero_optimization.mics_shard_size"
                                                    : "zero_optimization.zero_hpz_partition_size",
                        "preset %s: shards over part of the ranks are DeepSpeed's (ZeRO++, MiCS); %s shards over all",
                        s->name, s->framework);
  }
  if (c->prescale_gradients) {
    return sl_json_fail(&c->doc, "prescale_gradients", "is true; preset %s: %s averages after the reduction", s->name,
                        s->framework);
  }
  if (c->gradient_allreduce_sum) {
    return sl_json_fail(&c->doc, "gradient_allreduce_op", "is \"sum\"; preset %s: %s averages gradients", s->name,
                        s->framework);
  }
  return SL_OK;
}

static enum sl_status check_limits(const struct sl_strategy *s, const struct sl_config *c) {
  const bool deepspeed = strcmp(s->framework, "DeepSpeed") == 0;
  SL_TRY(check_degrees(s, c));
  SL_TRY(deepspeed ? check_stage3_keys(s, c) : check_foreign_keys(s, c));
  SL_TRY(check_stage(s, c, deepspeed));
  if (strcmp(s->framework, "Megatron-LM") == 0 && c->optimizer.type == SL_OPT_ADAM) {
    return sl_json_fail(
        &c->doc, "optimizer.type",
        "\"%s\" with L2 in the gradient; Megatron-LM's distributed optimizer runs AdamW (adam_w_mode) or SGD",
        c->optimizer.type_name);
  }
  return SL_OK;
}

/* DeepSpeed's ZeRO-Offload and ZeRO-Infinity on host memory. */
static enum sl_status choose_offload(struct sl_strategy *s, const struct sl_config *c) {
  if (c->zero.offload_optimizer == SL_OFFLOAD_NVME) {
    return sl_json_fail(&c->doc, "zero_optimization.offload_optimizer.device",
                        "\"nvme\" is not modelled; expected cpu or none");
  }
  if (c->zero.offload_param == SL_OFFLOAD_NVME) {
    return sl_json_fail(&c->doc, "zero_optimization.offload_param.device",
                        "\"nvme\" is not modelled; expected cpu or none");
  }
  s->offload_optimizer = c->zero.offload_optimizer == SL_OFFLOAD_CPU;
  s->offload_params = c->zero.offload_param == SL_OFFLOAD_CPU && s->shard_params;
  return SL_OK;
}

static void choose_buckets(struct sl_strategy *s, const struct preset *p, const struct sl_config *c, int dp) {
  const int64_t element = sl_dtype_bytes(c->param_dtype);
  if (p->bucket_bytes > 0) {
    s->first_bucket = p->first_bucket_bytes / element;
    s->bucket = p->bucket_bytes / element;
  } else if (s->units == SL_UNITS_BUCKET) {
    s->bucket = 1000000 * (int64_t)dp > 40000000 ? 1000000 * (int64_t)dp : 40000000;
    s->first_bucket = s->bucket;
  } else {
    s->first_bucket = s->bucket = c->zero.reduce_bucket_size;
  }
}

/* Groups that shard among themselves: they must come out even. */
static enum sl_status choose_shard_size(struct sl_strategy *s, const struct sl_config *c, int dp) {
  const int64_t size = sl_config_shard_size(c), hpz = c->zero.hpz_partition_size;
  if (size > 0 && s->zero_stage == 0)
    return sl_json_fail(&c->doc, "shardlab.shard_size", "is %lld; preset %s shards nothing: expected 0",
                        (long long)size, s->name);
  if (size > 0 && dp % size != 0)
    return sl_json_fail(&c->doc, c->sl.shard_size > 0 ? "shardlab.shard_size" : "zero_optimization.mics_shard_size",
                        "is %lld; expected a divisor of the %d data-parallel ranks", (long long)size, dp);
  if (hpz > 1 && dp % hpz != 0)
    return sl_json_fail(&c->doc, "zero_optimization.zero_hpz_partition_size",
                        "is %lld; expected a divisor of the %d data-parallel ranks", (long long)hpz, dp);
  s->shard_size = size < dp ? size : 0;
  return SL_OK;
}

enum sl_status sl_strategy_choose(struct sl_strategy *s, const struct sl_config *config, int dp) {
  const struct preset *p;
  SL_TRY(find_preset(&p, config));
  *s = p->row;
  SL_TRY(check_limits(s, config));
  if (strcmp(s->framework, "DeepSpeed") == 0) s->overlap = config->zero.overlap_comm;
  SL_TRY(choose_shard_size(s, config, dp));
  choose_buckets(s, p, config, dp);
  SL_TRY(choose_offload(s, config));
  if (dp > 1 || s->offload_optimizer || s->offload_params) return SL_OK;
  s->units = SL_UNITS_WHOLE;
  s->shard_params = s->shard_grads = s->shard_optimizer = false;
  s->zero_stage = 0;
  return SL_OK;
}
