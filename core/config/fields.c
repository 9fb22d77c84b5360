/* The table behind config/fields.h: DeepSpeed's keys that shardlab models, and the "shardlab" section. The keys that
 * DeepSpeed knows and shardlab does not model are in config/keys.inc, which is included at the end. The order within a
 * section is that of the dump. */
#include "core/config/fields.h"

#include "core/base/limits.h"

#include <stddef.h>

/* M: modelled, with a target in struct sl_config; the other arguments are designated initialisers, at least the
 * default. */
#define M(in, name, kind, target, ...)                                                                                 \
  {                                                                                                                    \
    .section = in, .key = name, .type = SL_FIELD_##kind, .modelled = true,                                             \
    .offset = offsetof(struct sl_config, target), .size = sizeof(((struct sl_config *)0)->target), __VA_ARGS__         \
  }
/* L: modelled, a list that fills several fields: its target is the whole struct. */
#define L(in, name, kind, ...)                                                                                         \
  {                                                                                                                    \
    .section = in, .key = name, .type = SL_FIELD_##kind, .modelled = true, .offset = 0,                                \
    .size = sizeof(struct sl_config), __VA_ARGS__                                                                      \
  }
/* K: known to DeepSpeed, not modelled. */
#define K(in, name, kind, ...)                                                                                         \
  { .section = in, .key = name, .type = SL_FIELD_##kind, __VA_ARGS__ }
#define D(text) .value = text
#define OLD(text, ...) .old_value = text, .since = SL_DEEPSPEED(__VA_ARGS__)
#define ASKED(...) .asked_since = SL_DEEPSPEED(__VA_ARGS__)
#define NUL .value = "null", .nullable = true
#define NUL_IS(number) .value = "null", .nullable = true, .null_value = number
#define RANGE(low, high) .ranged = true, .min = low, .max = high
#define GE(low) .ranged = true, .min = low, .max = NO_LIMIT
#define GT(low) .ranged = true, .open = true, .min = low, .max = NO_LIMIT
#define WORDS(list) .words = list
#define EXACT(list) .words = list, .exact = true
#define CHECKED .checked = true
#define PLAIN .plain = true
#define ALIAS(name) .alias = name
#define SAY(text) .complaint = text
#define ELSEWHERE .soft = true
#define NO_STEP .soft = true /* DeepSpeed reads it outside of training steps only */
#define NO_LIMIT 1.7976931348623157e308
#define BELOW_ONE 0.99999999999999988898 /* printed as 1 */

_Static_assert(offsetof(struct sl_config, optimizer.beta2) ==
                   offsetof(struct sl_config, optimizer.beta1) + sizeof(double),
               "betas is read as a PAIR");

#define ZERO "zero_optimization"
#define OFF_OPT "zero_optimization.offload_optimizer"
#define OFF_PAR "zero_optimization.offload_param"

// clang-format off
const struct sl_field sl_fields[] = {
  M("", "train_batch_size", INT, train_batch_size, NUL_IS(0), GE(1), SAY("Train batch size: @ has to be greater than 0")),
  M("", "train_micro_batch_size_per_gpu", INT, train_micro_batch_size_per_gpu, NUL_IS(0), GE(1),
    SAY("Micro batch size per gpu: @ has to be greater than 0")),
  M("", "gradient_accumulation_steps", INT, gradient_accumulation_steps, NUL_IS(0), GE(1),
    SAY("Gradient accumulation steps: @ has to be greater than 0")),
  M("", "gradient_clipping", REAL, gradient_clipping, D("1.0"), OLD("0.0", 0, 19, 6), GE(0)),
  M("", "gradient_allreduce_op", WORD, gradient_allreduce_sum, D("\"mean\""), WORDS("mean|sum")),
  M("", "sparse_gradients", BOOL, sparse_gradients, D("false")),
  M("", "communication_data_type", DTYPE, communication_data_type, NUL, WORDS("fp32|fp16|bf16"),
    SAY("Invalid communication_data_type. Supported data types: ['fp16', 'bf16', 'fp32']. Got: @")),
  M("", "seq_parallel_communication_data_type", DTYPE, seq_parallel_communication_data_type, D("\"fp32\""), .nullable = true,
    WORDS("fp32|fp16|bf16"),
    SAY("Invalid communication_data_type. Supported data types: ['fp16', 'bf16', 'fp32']. Got: @")),
  M("", "zero_allow_untested_optimizer", BOOL, zero.allow_untested_optimizer, D("false")),
  M("", "steps_per_print", INT, steps_per_print, NUL_IS(0), GE(1)),
  M("", "wall_clock_breakdown", BOOL, wall_clock_breakdown, D("false")),
  M("comms_logger", "enabled", BOOL, comms_logger.enabled, D("false")),
  M("comms_logger", "verbose", BOOL, comms_logger.verbose, D("false")),
  M("comms_logger", "prof_all", BOOL, comms_logger.prof_all, D("true")),
  M("comms_logger", "prof_ops", LIST, comms_logger.prof_ops, D("[]")),
  M("flops_profiler", "enabled", BOOL, flops_profiler.enabled, D("false"), CHECKED),
  M("flops_profiler", "profile_step", INT, flops_profiler.profile_step, D("1"), GE(0)),
  M("flops_profiler", "recompute_fwd_factor", REAL, flops_profiler.recompute_fwd_factor, D("0.0"), GE(0)),
  M("flops_profiler", "module_depth", INT, flops_profiler.module_depth, D("-1"), GE(-1)),
  M("flops_profiler", "top_modules", INT, flops_profiler.top_modules, D("1"), GE(0)),
  M("flops_profiler", "detailed", BOOL, flops_profiler.detailed, D("true")),
  M("flops_profiler", "output_file", TEXT, flops_profiler.output_file, NUL),
  M("csv_monitor", "enabled", BOOL, csv_monitor.enabled, D("false")),
  M("csv_monitor", "output_path", TEXT, csv_monitor.output_path, D("\"\"")),
  M("csv_monitor", "job_name", TEXT, csv_monitor.job_name, D("\"DeepSpeedJobName\"")),
  M("tensorboard", "enabled", BOOL, tensorboard.enabled, D("false")),
  M("tensorboard", "output_path", TEXT, tensorboard.output_path, D("\"\"")),
  M("tensorboard", "job_name", TEXT, tensorboard.job_name, D("\"DeepSpeedJobName\"")),
  M("data_types", "grad_accum_dtype", DTYPE, grad_accum_dtype, NUL),

  M("fp16", "enabled", BOOL, fp16.enabled, D("false")),
  M("fp16", "loss_scale", REAL, fp16.loss_scale, D("0"), PLAIN, GE(0), SAY("fp16.loss_scale must be >= 0 (0 enables dynamic loss scaling)")),
  M("fp16", "initial_scale_power", INT, fp16.initial_scale_power, D("16"), RANGE(-149, 1023)),
  M("fp16", "loss_scale_window", INT, fp16.loss_scale_window, D("1000"), PLAIN),
  M("fp16", "hysteresis", INT, fp16.hysteresis, D("2")),
  M("fp16", "consecutive_hysteresis", BOOL, fp16.consecutive_hysteresis, D("false")),
  M("fp16", "min_loss_scale", WHOLE, fp16.min_loss_scale, D("1"), PLAIN, ASKED(0, 17, 1)),
  M("bf16", "enabled", BOOL, bf16.enabled, D("false")),
  M("bf16", "check_grad_overflow", BOOL, bf16.check_grad_overflow, D("true"), OLD("false", 0, 19, 6)),

  M("optimizer", "type", TEXT, optimizer.type_name, D("\"\"")),
  M("optimizer.params@adam", "lr", REAL, optimizer.lr, D("0.001"), GE(0)),
  M("optimizer.params@adam", "betas", PAIR, optimizer.beta1, D("[0.9, 0.999]"), RANGE(0, BELOW_ONE)),
  M("optimizer.params@adam", "eps", REAL, optimizer.eps, D("1e-8"), GE(0)),
  M("optimizer.params@adam", "weight_decay", REAL, optimizer.weight_decay, D("0"), GE(0)),
  M("optimizer.params@adam", "bias_correction", BOOL, optimizer.bias_correction, D("true")),
  M("optimizer.params@adam", "adam_w_mode", BOOL, optimizer.adam_w_mode, D("true")),
  M("optimizer.params@onebit", "lr", REAL, optimizer.lr, D("0.001"), GE(0)),
  M("optimizer.params@onebit", "betas", PAIR, optimizer.beta1, D("[0.9, 0.999]"), RANGE(0, BELOW_ONE)),
  M("optimizer.params@onebit", "eps", REAL, optimizer.eps, D("1e-8"), GE(0)),
  M("optimizer.params@onebit", "weight_decay", REAL, optimizer.weight_decay, D("0"), GE(0)),
  M("optimizer.params@onebit", "freeze_step", INT, optimizer.freeze_step, D("100000"), GE(1)),
  M("optimizer.params@sgd", "lr", REAL, optimizer.lr, D("0.001"), GE(0)),
  M("optimizer.params@sgd", "momentum", REAL, optimizer.momentum, D("0"), GE(0)),
  M("optimizer.params@sgd", "dampening", REAL, optimizer.dampening, D("0")),
  M("optimizer.params@sgd", "weight_decay", REAL, optimizer.weight_decay, D("0"), GE(0)),
  M("optimizer.params@sgd", "nesterov", BOOL, optimizer.nesterov, D("false")),

#define LRRT "scheduler.params@LRRangeTest"
  M(LRRT, "lr_range_test_min_lr", REAL, scheduler.range_min_lr, D("0.001"), GE(0)),
  M(LRRT, "lr_range_test_step_size", INT, scheduler.range_step_size, D("2000"), GE(1)),
  M(LRRT, "lr_range_test_step_rate", REAL, scheduler.range_step_rate, D("1.0")),
  M(LRRT, "lr_range_test_staircase", BOOL, scheduler.range_staircase, D("false")),
#define CYCLE "scheduler.params@OneCycle"
  M(CYCLE, "cycle_min_lr", REAL, scheduler.cycle_min_lr, D("null"), GE(0)),
  M(CYCLE, "cycle_max_lr", REAL, scheduler.cycle_max_lr, D("null"), GE(0)),
  M(CYCLE, "decay_lr_rate", REAL, scheduler.decay_lr_rate, D("0"), GE(0)),
  M(CYCLE, "cycle_first_step_size", INT, scheduler.cycle_first_step_size, D("2000"), GE(1)),
  M(CYCLE, "cycle_second_step_size", INT, scheduler.cycle_second_step_size, NUL_IS(-1), GE(0)),
  M(CYCLE, "cycle_first_stair_count", INT, scheduler.cycle_first_stair_count, D("0"), GE(0)),
  M(CYCLE, "cycle_second_stair_count", INT, scheduler.cycle_second_stair_count, NUL_IS(-1), GE(0)),
  M(CYCLE, "decay_step_size", INT, scheduler.decay_step_size, D("0"), GE(0)),
  M(CYCLE, "cycle_momentum", BOOL, scheduler.cycle_momentum, D("true")),
  M(CYCLE, "cycle_min_mom", REAL, scheduler.cycle_min_mom, D("0.8"), RANGE(0, 1)),
  M(CYCLE, "cycle_max_mom", REAL, scheduler.cycle_max_mom, D("0.9"), RANGE(0, 1)),
  M(CYCLE, "decay_mom_rate", REAL, scheduler.decay_mom_rate, D("0")),
#define WARMUP_STEPS D("1000"), GE(1), ASKED(0, 19, 3), SAY("warmup_num_steps must be a positive integer, got @")
#define WARMUP_TYPE D("\"log\""), WORDS("linear|log"), .soft = true
  M("scheduler.params@WarmupLR", "warmup_min_lr", REAL, scheduler.warmup_min_lr, D("0"), GE(0)),
  M("scheduler.params@WarmupLR", "warmup_max_lr", REAL, scheduler.warmup_max_lr, NUL, GE(0)),
  M("scheduler.params@WarmupLR", "warmup_num_steps", INT, scheduler.warmup_num_steps, WARMUP_STEPS),
  M("scheduler.params@WarmupLR", "warmup_type", WORD, scheduler.warmup_log, WARMUP_TYPE),
#define DECAY "scheduler.params@WarmupDecayLR"
  M(DECAY, "total_num_steps", INT, scheduler.total_num_steps, D("null"), GE(0)),
  M(DECAY, "warmup_min_lr", REAL, scheduler.warmup_min_lr, D("0"), GE(0)),
  M(DECAY, "warmup_max_lr", REAL, scheduler.warmup_max_lr, D("0.001"), .nullable = true, GE(0)),
  M(DECAY, "warmup_num_steps", INT, scheduler.warmup_num_steps, WARMUP_STEPS),
  M(DECAY, "warmup_type", WORD, scheduler.warmup_log, WARMUP_TYPE),
#define COSINE "scheduler.params@WarmupCosineLR"
  M(COSINE, "total_num_steps", INT, scheduler.total_num_steps, D("null"), GE(0)),
  M(COSINE, "warmup_min_ratio", REAL, scheduler.warmup_min_ratio, D("0"), GE(0)),
  M(COSINE, "warmup_num_steps", INT, scheduler.warmup_num_steps, WARMUP_STEPS),
  M(COSINE, "cos_min_ratio", REAL, scheduler.cos_min_ratio, D("0.0001"), GE(0)),
  M(COSINE, "warmup_type", WORD, scheduler.warmup_log, WARMUP_TYPE),

  M(ZERO, "stage", INT, zero.stage, D("0"), RANGE(0, 3)),
  M(ZERO, "reduce_bucket_size", INT, zero.reduce_bucket_size, D("5e8"), GT(0)),
  M(ZERO, "allgather_bucket_size", INT, zero.allgather_bucket_size, D("5e8"), GE(0)),
  M(ZERO, "overlap_comm", BOOL, zero.overlap_comm, NUL),
  M(ZERO, "reduce_scatter", BOOL, zero.reduce_scatter, D("true")),
  M(ZERO, "stage3_prefetch_bucket_size", INT, zero.prefetch_bucket_size, D("5e7"), GE(0), ALIAS("prefetch_bucket_size")),
  M(ZERO, "stage3_param_persistence_threshold", INT, zero.param_persistence_threshold, D("100000"), GE(0),
    ALIAS("param_persistence_threshold")),
  M(ZERO, "stage3_model_persistence_threshold", INT, zero.model_persistence_threshold, D("9223372036854775807"), GE(0),
    ALIAS("model_persistence_threshold")),
  M(ZERO, "stage3_max_live_parameters", INT, zero.max_live_parameters, D("1e9"), GE(0), ALIAS("max_live_parameters")),
  M(ZERO, "stage3_max_reuse_distance", INT, zero.max_reuse_distance, D("1e9"), GE(0), ALIAS("max_reuse_distance")),
  M(ZERO, "zero_hpz_partition_size", INT, zero.hpz_partition_size, D("1"), GE(0)),
  M(ZERO, "zero_quantized_weights", BOOL, zero.quantized_weights, D("false")),
  M(ZERO, "zero_quantized_gradients", BOOL, zero.quantized_gradients, D("false")),
  M(ZERO, "mics_shard_size", INT, zero.mics_shard_size, D("-1"), GE(-1)),
  M(ZERO, "use_multi_rank_bucket_allreduce", BOOL, zero.multi_rank_allreduce, D("true"), OLD("false", 0, 12, 4)),
  M(ZERO, "sub_group_size", INT, zero.sub_group_size, D("1e9"), GE(0)),
  M(OFF_PAR, "device", WORD, zero.offload_param, D("\"none\""), EXACT("none|cpu|nvme")),
  M(OFF_PAR, "nvme_path", TEXT, zero.param_nvme_path, NUL),
  M(OFF_PAR, "buffer_count", INT, zero.param_buffer_count, D("5"), GE(0)),
  M(OFF_PAR, "buffer_size", INT, zero.param_buffer_size, D("1e8"), GE(0)),
  M(OFF_PAR, "max_in_cpu", INT, zero.param_max_in_cpu, D("1e9"), GE(0)),
  M(OFF_PAR, "pin_memory", BOOL, zero.param_pinned, D("true"), OLD("false", 0, 19, 6)),
  M(OFF_OPT, "device", WORD, zero.offload_optimizer, D("\"none\""), EXACT("none|cpu|nvme")),
  M(OFF_OPT, "nvme_path", TEXT, zero.optimizer_nvme_path, NUL),
  M(OFF_OPT, "buffer_count", INT, zero.optimizer_buffer_count, D("4"), GE(0)),
  M(OFF_OPT, "ratio", REAL, zero.offload_ratio, D("1.0"), RANGE(0, 1)),
  M(OFF_OPT, "pin_memory", BOOL, zero.optimizer_pinned, D("true"), OLD("false", 0, 19, 6)),
  M(OFF_OPT, "pipeline_read", BOOL, zero.pipeline_read, D("false")),
  M(OFF_OPT, "pipeline_write", BOOL, zero.pipeline_write, D("false")),
  M("aio", "block_size", INT, aio.block_size, D("1048576")),
  M("aio", "queue_depth", INT, aio.queue_depth, D("8")),
  M("aio", "intra_op_parallelism", INT, aio.threads, D("1")),
  M("aio", "single_submit", BOOL, aio.single_submit, D("false")),
  M("aio", "overlap_events", BOOL, aio.overlap_events, D("true")),
  M("activation_checkpointing", "partition_activations", BOOL, activations.partitioned, D("false")),
  M("activation_checkpointing", "cpu_checkpointing", BOOL, activations.on_host, D("false")),

  M("shardlab", "ds_version", TEXT, ds_version, D("\"0.19.6\"")),
  M("shardlab", "tp", INT, sl.tp, D("1"), RANGE(1, SL_MAX_DEGREE)),
  M("shardlab", "pp", INT, sl.pp, D("1"), RANGE(1, SL_MAX_DEGREE)),
  M("shardlab", "cp", INT, sl.cp, D("1"), RANGE(1, SL_MAX_DEGREE)),
  M("shardlab", "cp_comm_type", WORD, sl.cp_comm, D("\"all_gather\""), WORDS("all_gather|a2a")),
  M("shardlab", "rank_order", WORD, sl.rank_order, D("\"tp-dp-pp\""), WORDS("tp-dp-pp|tp-pp-dp|dp-tp-pp|dp-pp-tp|pp-tp-dp|pp-dp-tp")),
  M("shardlab", "virtual_stages", INT, sl.virtual_stages, D("1"), RANGE(1, SL_MAX_DEGREE)),
  M("shardlab", "schedule", TEXT, sl.schedule, D("\"1f1b\"")),
  L("shardlab", "stages", STAGES, D("\"uniform\"")),
  L("shardlab", "recompute", RECOMPUTE, D("\"none\"")),
  L("shardlab", "recompute_modules", MODULES, D("[\"core_attn\"]")),
  M("shardlab", "recompute_every", INT, sl.recompute_every, D("1"), GE(1)),
  M("shardlab", "preset", TEXT, sl.preset, D("\"\"")),
  M("shardlab", "sequence_parallel", BOOL, sl.sequence_parallel, D("false")),
  M("shardlab", "scatter_gather_tensors_in_pipeline", BOOL, sl.scatter_gather, D("false")),
  M("shardlab", "shard_size", INT, sl.shard_size, D("0"), RANGE(0, SL_MAX_DEGREE)),
  M("shardlab", "limit_all_gathers", BOOL, sl.limit_all_gathers, D("true")),
  M("shardlab", "no_sync", BOOL, sl.no_sync, D("false")),
  M("shardlab", "gradient_as_bucket_view", BOOL, sl.bucket_view, D("false")),
  M("shardlab", "unshard_ahead", INT, sl.unshard_ahead, D("3"), RANGE(1, SL_MAX_DEGREE)),
  M("shardlab", "store_dropout_masks", BOOL, sl.store_dropout_masks, D("false")),
  M("shardlab", "make_vocab_size_divisible_by", INT, sl.vocab_multiple, NUL_IS(0), RANGE(1, SL_MAX_DEGREE)),
  M("shardlab", "tp_vocab", WORD, sl.tp_vocab, D("\"parallel\""), WORDS("parallel|gathered|whole|autotp")),
  M("shardlab", "tf32", BOOL, sl.tf32, D("false")),
  M("shardlab", "fp8", BOOL, sl.fp8, D("false")),
  M("shardlab", "fp8_recipe", WORD, sl.fp8_recipe, D("\"tensorwise\""), WORDS("tensorwise|rowwise")),
  M("shardlab", "fp8_format", WORD, sl.fp8_format, D("\"hybrid\""), WORDS("hybrid|e4m3")),
  M("shardlab", "fp8_margin", INT, sl.fp8_margin, D("0"), RANGE(0, SL_MAX_FP8_MARGIN)),
  M("shardlab", "fp8_amax_compute_algo", WORD, sl.fp8_amax_compute_algo, D("\"max\""), WORDS("max|most_recent")),
  M("shardlab", "fp8_amax_history_len", INT, sl.fp8_amax_history_len, D("1024"), RANGE(1, SL_MAX_FP8_HISTORY)),
  M("shardlab", "fp8_param_gather", BOOL, sl.fp8_param_gather, D("false")),
  M("shardlab", "async_tp", BOOL, sl.async_tp, D("false")),
  M("shardlab", "tp_comm_overlap", BOOL, sl.tp_comm_overlap, D("false")),
  M("shardlab", "eval_interval", INT, sl.eval_interval, D("0"), GE(0)),
  M("shardlab", "eval_iters", INT, sl.eval_iters, D("100"), GE(1)),
  M("shardlab", "overlap_param_gather", BOOL, sl.overlap_param_gather, D("false")),
  M("shardlab", "attention", WORD, sl.attention, D("\"flash-on-gpu\""), WORDS("materialised|flash|flash1|flash3|cudnn|flash-on-gpu")),
  M("shardlab", "kernels", WORD, sl.kernels, D("\"shardlab\""), WORDS("shardlab|megatron-fused|megatron-unfused|torch-eager|torch-compile|llm-foundry|nanotron|megatron-deepspeed|aleph-alpha-scaling|torch-compile-blocks|megatron-core")),
  M("shardlab", "fused_norm", BOOL, sl.fused_norm, D("false")),
  M("shardlab", "fused_softmax", BOOL, sl.fused_softmax, D("false")),
  M("shardlab", "cross_entropy_loss_fusion", BOOL, sl.cross_entropy_loss_fusion, D("false")),
  M("shardlab", "expandable_segments", BOOL, sl.expandable_segments, D("false")),
  M("shardlab", "launch_blocking", BOOL, sl.launch_blocking, D("false")),
  M("shardlab", "fuse_epilogues", WORD, sl.fuse_epilogues, D("\"gpu\""), WORDS("gpu|always|never")),
  M("shardlab", "cuda_graph", BOOL, sl.cuda_graph, D("true")),
  M("shardlab", "shuffle", BOOL, sl.shuffle, D("true")),
  M("shardlab", "seed", INT, sl.seed, D("1234"), GE(0)),
  M("shardlab", "seq_len", INT, sl.seq_len, D("0"), GE(0)),

#include "core/config/keys.inc"
};
const size_t sl_field_count = sizeof sl_fields / sizeof sl_fields[0];

#define S(where, ...) {.name = where, .path = where, __VA_ARGS__}
#define V(base, variant) {.name = base "@" variant, .path = base, .strict = true}
#define STRICT .strict = true
#define MODEL .strict = true, .model = true
#define MODEL_SINCE(...) MODEL, .since = SL_DEEPSPEED(__VA_ARGS__)
#define LOOSE .strict = false
/* Parents before children: the reader has checked that a parent is an object before it reaches the child. */
const struct sl_section sl_sections[] = {
  S("", LOOSE), S("shardlab", STRICT), S("data_types", LOOSE), S("fp16", MODEL_SINCE(0, 17, 1)),
  S("bf16", MODEL_SINCE(0, 17, 1), .alias_path = "bfloat16", .nullable = true),
  S("optimizer", LOOSE), V("optimizer.params", "adam"), V("optimizer.params", "onebit"), V("optimizer.params", "sgd"),
  S("scheduler", LOOSE), V("scheduler.params", "LRRangeTest"), V("scheduler.params", "OneCycle"),
  V("scheduler.params", "WarmupLR"), V("scheduler.params", "WarmupDecayLR"), V("scheduler.params", "WarmupCosineLR"),
  S("zero_optimization", MODEL),
  S("zero_optimization.offload_param", MODEL, .nullable = true),
  S("zero_optimization.offload_optimizer", MODEL, .nullable = true),
  S("zero_optimization.zenflow", MODEL, .nullable = true), S("zero_optimization.leaf_module", MODEL, .nullable = true),
  S("amp", LOOSE), S("torch_autocast", LOOSE), S("checkpoint", LOOSE), S("checkpoint.parallel_write", LOOSE),
  S("progressive_layer_drop", LOOSE), S("eigenvalue", LOOSE, .nullable = true), S("pipeline", LOOSE), S("activation_checkpointing", LOOSE),
  S("flops_profiler", LOOSE), S("comms_logger", MODEL), S("aio", LOOSE, .nullable = true), S("elasticity", LOOSE), S("autotuning", LOOSE),
  S("autotuning.model_info", LOOSE, .nullable = true), S("nebula", LOOSE), S("data_efficiency", LOOSE),
  S("data_efficiency.data_sampling", LOOSE), S("data_efficiency.data_sampling.dynamic_batching", LOOSE),
  S("data_efficiency.data_routing", LOOSE), S("curriculum_learning", LOOSE), S("compression_training", LOOSE),
  S("sparse_attention", LOOSE), S("tensorboard", MODEL), S("csv_monitor", MODEL), S("wandb", MODEL), S("comet", MODEL),
  S("tensor_parallel", MODEL), S("tensor_parallel.tp", MODEL, .alias_path = "tensor_parallel.tensor_parallel"),
  S("timers", LOOSE), S("timers.throughput", MODEL), S("hybrid_engine", MODEL), S("compile", MODEL_SINCE(0, 16, 6)),
};
const size_t sl_section_count = sizeof sl_sections / sizeof sl_sections[0];
