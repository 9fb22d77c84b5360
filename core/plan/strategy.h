/* How a framework shards: what of the model states is split over the data-parallel ranks, in which units, how gradients are
 * bucketed and reduced, and when parameters are gathered and let go. A preset is one row of a table; the lowering
 * (lower/zero.c and its neighbours) reads the row and knows no framework's name.
 *
 * A preset says how states are sharded; their number types come from the configuration, and bf16 or fp16 there means what it
 * means to DeepSpeed under every preset: 16-bit parameters, gradients by grad_accum_dtype, and an optimizer with fp32 masters
 * and moments. That is FSDP with MixedPrecision (its shards are fp32) and Megatron-LM. It is not a plain torch optimizer, or
 * ZeroRedundancyOptimizer around one, on a model.to(bfloat16): that keeps no master, has bf16 moments (6 bytes a parameter
 * instead of 14 beside the gradient) and drops updates below half a unit in the last place. Nor is it autocast under DDP: that
 * keeps parameters and gradients in fp32 and all-reduces 4 bytes where this reduces 2. Neither is a mode of these presets. */
#pragma once

#include "core/config/config.h"

#include <stdbool.h>
#include <stdint.h>

/* What is sharded as one; see struct sl_unit. */
enum sl_units {
  SL_UNITS_WHOLE,     /* nothing is split */
  SL_UNITS_FLAT,      /* one unit, padded to 2 x members: DeepSpeed stages 1 and 2 */
  SL_UNITS_PARAMETER, /* each parameter: DeepSpeed stage 3 */
  SL_UNITS_LAYER,     /* each block, and the rest as the root: FSDP with a transformer wrap policy */
  SL_UNITS_BUCKET,    /* each gradient bucket: Megatron-LM's distributed optimizer */
  SL_UNITS_OWNER      /* whole parameters, dealt to the member with the smallest total: ZeroRedundancyOptimizer */
};

enum sl_release {
  SL_RELEASE_DISTANCE, /* unless used again within stage3_max_reuse_distance elements: DeepSpeed */
  SL_RELEASE_PASS,     /* after a forward's or a backward's last use: FSDP FULL_SHARD */
  SL_RELEASE_MICRO     /* after the micro-batch's last use: FSDP SHARD_GRAD_OP */
};

struct sl_strategy {
  const char *name, *framework;
  int zero_stage; /* what it amounts to in ZeRO's terms */
  enum sl_units units;
  bool shard_params; /* parameters exist whole only around their use */
  /* Gradients are reduced into the member's shard after every micro-batch. FSDP2 beside a pipeline sums them whole instead and
   * reduces once: torch/distributed/pipelining/stage.py, backward_maybe_with_nosync (set_requires_gradient_sync(False) until
   * the last backward), torch/distributed/fsdp/_fully_shard/_fsdp_param.py, to_accumulated_grad_if_needed. */
  bool shard_grads;
  bool shard_optimizer;
  /* Hybrid sharding: what is sharded is sharded inside groups of this many consecutive data-parallel ranks (coordinates
   * g S .. g S + S - 1) and replicated across the groups; gradients are reduce-scattered inside and all-reduced across.
   * 0: one group of all of them. */
  int64_t shard_size;
  /* A second copy of sharded parameters, split over groups of this many consecutive data-parallel ranks, from which the
   * backward gathers (hpZ of ZeRO++, arXiv:2306.10209). 0: none. */
  int64_t secondary_size;
  /* ZeRO++: parameters are gathered in 8 bits (qwZ); gradients go to their owners in 4, inside nodes first (qgZ) */
  bool quantized_weights, quantized_gradients;
  bool sparse_embedding; /* of an embedding's gradient the rows that tokens touch are sent, not the whole */
  /* Buckets in elements. A bucket closes before the parameter that would make it larger than the limit (DeepSpeed), or
   * with the one that reaches it (PyTorch, Megatron-LM); per unit, where units are layers or buckets themselves. */
  int64_t first_bucket, bucket;
  bool closes_after;
  bool whole_later_stages; /* the first pipeline rank's first stage is cut, any other is one bucket (Megatron-LM) */
  bool overlap;            /* reductions and gathers run beside compute */
  bool
      overlap_param_gather; /* updated parameters are gathered by the next step's forward, bucket by bucket (Megatron-LM) */
  bool sums_whole;          /* gradients are all-reduced whole, though the optimizer's state is sharded (nanotron) */
  bool pipeline_engine;     /* DeepSpeed's pipeline: see plan/communicators.h */
  bool pair_messages;       /* a pipeline's messages go without a group: a communicator for each pair of ranks */
  /* torch.distributed.send and recv, not isend and irecv: the stream that computes waits for each message, one after the other
   * (DeepSpeed's runtime/pipe/p2p.py; Aleph-Alpha/scaling's src/scaling/core/nn/parallel_module/communicator.py) */
  bool blocking_messages;
  bool fp32_gradients;  /* accumulated and reduced in fp32 whatever the parameters are (Megatron-LM's main_grad) */
  bool fp32_reductions; /* accumulated in the parameters' type, reduced in fp32 */
  bool reduces_last;    /* no bucket is reduced before the rank's last backward is over */
  enum sl_release release;
  /* optimizer state, and the reduced gradients that it reads, live in host memory, which runs the update */
  bool offload_optimizer;
  bool offload_params;    /* parameter shards live in host memory and travel to the device before each gather */
  bool master_beside_fp32; /* offloaded states have an fp32 copy of fp32 parameters, too (DeepSpeed, not FSDP) */
  bool optimizer_on_nvme; /* offloaded states live on NVMe, and are in host memory while they are updated */
  bool params_on_nvme;    /* offloaded parameters live on NVMe, but for what zero.param_max_in_cpu says */
  bool gathers_at_once;   /* FSDP without limit_all_gathers: a gather does not wait for the compute before it */
  bool
      copies_gathered; /* what was gathered is copied to where it is used (FSDP2); in predictions of frameworks alone */
  bool prefetch_units; /* look-ahead of one unit (FSDP) instead of stage3_prefetch_bucket_size elements */
};

/* The strategy of `config` for `dp` data-parallel ranks: its preset (config->sl.preset), or DeepSpeed's ZeRO stage. One rank
 * has nobody to share with, so it gets the replicated form of whatever was asked for, unless states are offloaded.
 * Where the preset has an answer of its own (communication_data_type, grad_accum_dtype, reduce_bucket_size, overlap_comm),
 * `config` has it too afterwards; a key that the file gives and the preset overrules is named in a warning.
 * Errors: SL_ERR_INPUT: unknown preset, or a configuration that its framework refuses, in that framework's terms. */
enum sl_status sl_strategy_choose(struct sl_strategy *strategy, struct sl_config *config, int dp);

/* The ZeRO stage of a preset that is one of DeepSpeed's, -1 for any other name. */
int sl_strategy_deepspeed_stage(const char *name);

/* Name and one-line description of preset `i`; false past the end. */
bool sl_strategy_preset(int i, const char **name, const char **description);
