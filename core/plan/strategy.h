/* How a framework shards: which model states are split over the data-parallel ranks, in which units, how gradients are
 * bucketed and reduced, and when parameters are gathered and released. A preset is one row of a table (plan/presets.c);
 * the lowering (lower/zero.c and its neighbours) reads the row and does not know the framework.
 *
 * A preset says how states are sharded; their number types come from the configuration. bf16 and fp16 mean what they
 * mean to DeepSpeed under every preset: 16-bit parameters, gradients as grad_accum_dtype says (where the file leaves it
 * open, other presets than DeepSpeed's sum those of bf16 without ZeRO in fp32), and an optimizer with fp32 masters and
 * moments. That is also what Megatron-LM does, and FSDP with MixedPrecision, whose shards are the
 * masters (casts_shards). torch.autocast under DDP and ZeroRedundancyOptimizer, which keeps parameters and gradients in fp32
 * and all-reduces 4 bytes where bf16 reduces 2, is a choice of its own (torch_autocast; models/autocast.h). One setup is not
 * covered by any preset: a plain torch optimizer, or a ZeroRedundancyOptimizer around one, on a model.to(bfloat16) has no
 * master and bf16 moments (6 bytes a parameter instead of 14 beside the gradient), and drops updates below half a unit in
 * the last place. */
#pragma once

#include "core/config/config.h"

#include <stdbool.h>
#include <stdint.h>

/* What is sharded as one unit, see struct sl_unit. */
enum sl_units {
  SL_UNITS_WHOLE,     /* nothing is sharded */
  SL_UNITS_FLAT,      /* one unit, padded to 2 x members: DeepSpeed stages 1 and 2 */
  SL_UNITS_PARAMETER, /* each parameter: DeepSpeed stage 3 */
  SL_UNITS_LAYER,     /* each block, and the rest as the root: FSDP with a transformer wrap policy */
  SL_UNITS_BUCKET,    /* each gradient bucket: Megatron-LM's distributed optimizer */
  SL_UNITS_OWNER      /* whole parameters, each given to the member with the smallest total: ZeroRedundancyOptimizer */
};

enum sl_release {
  SL_RELEASE_DISTANCE, /* unless used again within stage3_max_reuse_distance elements: DeepSpeed */
  SL_RELEASE_PASS,     /* after the last use in a forward or a backward: FSDP FULL_SHARD */
  SL_RELEASE_MICRO     /* after the last use in the micro-batch: FSDP SHARD_GRAD_OP */
};

/* What an update reads instead of the own gradients as they are kept. */
enum sl_gradient_copies {
  SL_COPIES_NONE,
  /* in their type, then in fp32: DeepSpeed's stage_1_and_2.py, step (flatten and to), and stage3.py,
   * _prepare_fp32_grad_for_sub_group */
  SL_COPIES_FLAT,
  SL_COPIES_LIST, /* in fp32, tensor by tensor and then flat: DeepSpeed's fp16/fused_optimizer.py, step */
  /* in fp32: Megatron-LM's optimizer.py, _copy_model_grads_to_main_grads (main_grad.float()); DeepSpeed's
   * bf16_optimizer.py, step */
  SL_COPIES_FLOAT,
};

/* When a rank's own parts of gradients are summed over the groups of hybrid sharding. */
enum sl_replica_sums {
  SL_REPLICAS_LAST, /* all at once, at the end of the step */
  /* Unit by unit, each right after its reduce-scatter, as it arrived: FSDP's _reduce_grad
   * (torch/distributed/fsdp/_runtime_utils.py), FSDP2's foreach_reduce (fsdp/_fully_shard/_fsdp_collectives.py) and
   * Megatron-LM's start_grad_sync (core/distributed/param_and_grad_buffer.py). */
  SL_REPLICAS_ARRIVED,
  /* Likewise, but in the last backward only, and as they are kept, when that has been added to those before. Calls are
   * on one stream, so that a reduce-scatter waits for the sums of the bucket before: MiCS (DeepSpeed's
   * runtime/zero/mics.py, partition_grads and allreduce_mics_shard_grads). */
  SL_REPLICAS_KEPT
};

struct sl_strategy {
  const char *name, *framework;
  int zero_stage;        /* the equivalent ZeRO stage */
  bool nothing_to_shard; /* one data-parallel rank: what was asked to be sharded is whole, and zero_stage 0 */
  enum sl_units units;
  bool shard_params; /* parameters are whole only around their use */
  /* whose hooks in Python would gather them, even where one rank holds all; SL_UNITS_WHOLE: there are none */
  enum sl_units hooked;
  /* Gradients are reduced into the member's shard after every micro-batch. FSDP2 with a pipeline instead accumulates
   * whole gradients and reduces once: torch/distributed/pipelining/stage.py, backward_maybe_with_nosync
   * (set_requires_gradient_sync(False) until the last backward), torch/distributed/fsdp/_fully_shard/_fsdp_param.py,
   * to_accumulated_grad_if_needed. */
  bool shard_grads;
  /* FSDP: so does every training loop that accumulates inside torch's no_sync() or with
   * set_requires_gradient_sync(False): Accelerate's accumulate() and the Trainer of transformers, unless
   * sync_each_batch is set. Whole gradients have the type in which they are reduced (the file just named;
   * fsdp/_runtime_utils.py, _post_backward_hook, returns before its cast, with the type of the gathered parameters, in
   * which Accelerate reduces). */
  bool no_sync;
  /* Of FSDP's SHARD_GRAD_OP under no_sync: a backward that does not reduce leaves the parameters gathered, so the next
   * micro-batch finds them (torch/distributed/fsdp/_runtime_utils.py, _should_free_in_backward). They are gathered once
   * a step, and go as the last backward has used them. FSDP2 frees them after every backward
   * (fsdp/_fully_shard/_fsdp_param_group.py, post_backward: reshard_after_backward). */
  bool gathers_once;
  bool shard_optimizer;
  /* Hybrid sharding: states are sharded within groups of this many consecutive data-parallel ranks (coordinates g S ..
   * g S + S - 1) and replicated across the groups; gradients are reduce-scattered within and all-reduced across. 0: one
   * group of all ranks. */
  int64_t shard_size;
  enum sl_replica_sums replica_sums;
  /* Size of the groups of consecutive data-parallel ranks that shard a second copy of the parameters, from which the
   * backward gathers (hpZ of ZeRO++, arXiv:2306.10209). 0: none. */
  int64_t secondary_size;
  /* ZeRO++: parameters are gathered in 8 bits (qwZ); gradients are reduced in 4 bits, within nodes first (qgZ) */
  bool quantized_weights, quantized_gradients;
  bool sparse_embedding; /* of an embedding's gradient only the rows of tokens that occur are sent */
  /* Bucket sizes in elements. A bucket closes before the parameter that would exceed the limit (DeepSpeed) or after the
   * one that reaches it (PyTorch, Megatron-LM); where units are layers or buckets, there is one bucket per unit. */
  int64_t first_bucket, bucket;
  bool closes_after;
  /* only the first stage of the first pipeline rank has several buckets, any other has one (Megatron-LM) */
  bool whole_later_stages;
  bool overlap; /* reductions and gathers overlap with compute */
  bool
      overlap_param_gather; /* the next step's forward gathers the updated parameters, bucket by bucket (Megatron-LM) */
  /* Whole buckets are all-reduced, although the optimizer state is sharded (nanotron; DeepSpeed's ZeRO 1 and 2 with
   * use_multi_rank_bucket_allreduce or without reduce_scatter, stage_1_and_2.py, average_tensor). Of those a rank that
   * keeps a part of the gradients takes its own. */
  bool sums_whole;
  /* A bucket's buffer holds reduce_bucket_size elements, whatever fills it: at ZeRO 1 and 2 as long as gradients may
   * come (the same file, setup_buckets), at ZeRO-3 from the beginning, like the gradients of the rank's parts (stage3.py,
   * _setup_for_real_optimizer). Only in predictions of frameworks. */
  bool whole_buckets;
  /* Every bucket has a buffer for good, where whole gradients are copied to as they become complete, reduced, and
   * copied back from when the backward is over: the reducer of DDP, unless gradients are views of its buckets
   * (gradient_as_bucket_view; torch/csrc/distributed/c10d/reducer.cpp, initialize_buckets, mark_variable_ready_dense,
   * finalize_backward). */
  bool copies_to_buckets;
  /* FSDP that sums gradients whole: the rank's part of their sum over the ranks is a tensor of its own (FSDP's
   * _runtime_utils.py, _get_reduce_scatter_tensors), which another stream allocates, so that its memory serves nothing
   * else. FSDP2 copies the gradients of a unit into a flat buffer first; in a pipeline the last such buffer stays until
   * the next step reduces, as no backward finds it left (fsdp/_fully_shard/_fsdp_collectives.py, foreach_reduce;
   * _fsdp_param_group.py, post_backward: reduce_scatter_state). Only in predictions of frameworks. */
  bool reduces_apart;
  /* ZeRO-2's buckets are of the parameters' type. What is communicated is a copy, in the communicated type, from which
   * sums are copied back (stage_1_and_2.py, setup_buckets and allreduce_bucket). Only in predictions of frameworks that
   * sum whole buckets. */
  bool casts_buckets;
  /* ZeRO-2 puts own parts of each backward into new memory, in the parameters' type, whatever grad_accum_dtype says, and
   * adds them to those of the backwards before when it is over (the same file, copy_grads_in_partition,
   * independent_gradient_partition_epilogue, get_all_grad_tensors): from the second micro-batch on there are two
   * partitions of gradients. Only in predictions of frameworks. */
  bool adds_parts_later;
  /* ZeRO-2 with offloaded states adds gradients up as lower/host_sum.h says. Only in predictions of frameworks. */
  bool sums_through_host;
  bool pipeline_engine; /* DeepSpeed's pipeline engine, see plan/communicators.h */
  bool pair_messages;   /* pipeline messages are sent without a group, so each pair of ranks has a communicator */
  /* The pipeline uses torch.distributed.send and recv instead of isend and irecv: the compute stream waits for each
   * message, one after the other (DeepSpeed's runtime/pipe/p2p.py; Aleph-Alpha/scaling's
   * src/scaling/core/nn/parallel_module/communicator.py). */
  bool blocking_messages;
  /* The gradients of a backward are apart from those that they are added to, though of the same type: torch's beside
   * those of BF16_Optimizer (bf16_optimizer.py, _update_hp_grad). Only in predictions of frameworks. */
  bool gradients_apart;
  bool gradient_buffer; /* gradients are in one buffer, allocated once (Megatron-LM's main_grad) */
  /* Whole gradients are allocated tensor by tensor, by the op of the backward that computes them first, and are gone
   * after the update: torch's zero_grad(set_to_none=True), its default (torch/optim/optimizer.py), and DeepSpeed's
   * zero_grad (runtime/engine.py; zero/stage_1_and_2.py and fp16/fused_optimizer.py, where set_to_none=True is the
   * default, too). Not where they are parts of one buffer: Megatron-LM's of any year, DeepSpeed's BF16_Optimizer's. */
  bool gradients_by_tensor;
  bool ulysses; /* of DeepSpeed, whose gradients are reduced in ulysses_type, whatever communication_data_type says */
  enum sl_dtype ulysses_type;
  bool fp32_gradients;  /* accumulated and reduced in fp32, whatever the parameters' type */
  bool fp32_reductions; /* accumulated in the parameters' type, reduced in fp32 */
  /* Buckets are reduced only after a stage's last backward, whose gradient has been sent by then: DeepSpeed's
   * pipelines, whose engine knows no overlap_comm (runtime/engine.py, _configure_zero_optimizer;
   * runtime/pipe/schedule.py, TrainSchedule.steps: ReduceGrads; zero/stage_1_and_2.py, process_gradients), and FSDP2 in
   * torch's (distributed/pipelining/stage.py, backward_maybe_with_nosync: run_post_backward behind the last backward of
   * each stage). */
  bool reduces_last;
  enum sl_release release;
  /* optimizer state, and the reduced gradients that it reads, are in host memory, and the host runs the update */
  bool offload_optimizer;
  bool offload_params; /* parameter shards are in host memory and are copied to the device before each gather */
  /* Shards are fp32, whatever the type of the gathered parameters: the optimizer updates them where they are, there is
   * no other copy of them, and each gather casts this rank's part first. FSDP with MixedPrecision
   * (torch/distributed/fsdp/_flat_param.py, _use_low_precision_shard) and FSDP2 with MixedPrecisionPolicy
   * (fsdp/_fully_shard/_fsdp_param.py, all_gather_inputs). */
  bool casts_shards;
  /* The optimizer has an fp32 copy of fp32 parameters, too: DeepSpeed's ZeRO (stage_1_and_2.py, clone().float() of each
   * partition; stage3.py, _create_fp32_partitions), not FSDP. Without offload only in predictions of frameworks. */
  bool master_beside_fp32;
  enum sl_gradient_copies copies_gradients; /* only in predictions of frameworks */
  bool optimizer_on_nvme; /* offloaded states are on NVMe, and in host memory only while they are updated */
  bool params_on_nvme;    /* offloaded parameters are on NVMe, except as many as zero.param_max_in_cpu says */
  bool gathers_at_once;   /* FSDP without limit_all_gathers: a gather does not wait for earlier compute */
  /* gathered parameters are copied to where they are used (FSDP2); only in predictions of frameworks
   * (lower/flat_gather.h) */
  bool copies_gathered;
  bool keeps_messages; /* of torch.distributed.pipelining; only in predictions of frameworks (lower/messages.h) */
  bool prefetch_units; /* prefetch one unit ahead (FSDP) instead of stage3_prefetch_bucket_size elements */
};

/* Chooses the strategy of `config` for `dp` data-parallel ranks: that of its preset (config->sl.preset), or of
 * DeepSpeed's ZeRO stage. A single rank has no one to share with and gets the replicated form of any strategy, unless
 * states are offloaded. Values that the preset imposes (communication_data_type, grad_accum_dtype, reduce_bucket_size,
 * overlap_comm) are written to `config`; a warning names each key of the file that is overruled. Errors: SL_ERR_INPUT:
 * unknown preset, or a configuration that its framework refuses, in that framework's terms. */
enum sl_status sl_strategy_choose(struct sl_strategy *strategy, struct sl_config *config, int dp);

/* The ZeRO stage of a preset of DeepSpeed, -1 for any other name. */
int sl_strategy_deepspeed_stage(const char *name);

/* Do the models of a preset's framework always cut embedding and head along the vocabulary (Megatron-LM's
 * VocabParallelEmbedding, and those that follow it)? */
bool sl_strategy_cuts_vocabulary(const char *name);

/* The preset of the same maker that shards more than preset `name` does, as little more as there is; NULL if there is
 * none, or if the configuration says the stage. */
const char *sl_strategy_more_sharded(const char *name);

/* Name and one-line description of preset `i`; false after the last. */
bool sl_strategy_preset(int i, const char **name, const char **description);
