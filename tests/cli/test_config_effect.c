/* label: cli
 * No key is dropped without a word: every key that the table of keys calls modelled, set to something else, changes the
 * plan, a program, the rules of the step state, a warning, an error, what training computes, or what it says
 * meanwhile. */
#include "core/config/fields.h"
#include "core/program/memory_report.h"
#include "core/program/step_state.h"
#include "tests/support/cli_run.h"
#include "tests/support/job_fixture.h"

#include <jansson.h>

#define BF16 "\"bf16\": {\"enabled\": true}"
#define FP16 "\"fp16\": {\"enabled\": true}"
#define ZERO(keys) "\"zero_optimization\": {" keys "}"
#define NVME(more)                                                                                                     \
  ZERO("\"stage\": 3, \"sub_group_size\": 1000000, \"offload_optimizer\": {\"device\": \"nvme\", \"nvme_path\": "      \
       "\".\"}" more)
#define NVME_PARAM ", \"offload_param\": {\"device\": \"nvme\", \"nvme_path\": \".\", \"max_in_cpu\": 0}"
#define STAGE3 ZERO("\"stage\": 3, \"stage3_param_persistence_threshold\": 2000")
#define OPT(type) "\"optimizer\": {\"type\": \"" type "\"}"
#define PLAN(keys) "\"shardlab\": {" keys "}"
#define SCHEDULER(type, params) "\"scheduler\": {\"type\": \"" type "\", \"params\": {" params "}}"
#define MONITOR(name) "\"" name "\": {\"enabled\": true}"
#define CYCLE SCHEDULER("OneCycle", "\"cycle_min_lr\": 0.001, \"cycle_max_lr\": 0.1, \"cycle_first_step_size\": 100")
#define DECAYS                                                                                                         \
  SCHEDULER("OneCycle", "\"cycle_min_lr\": 0.001, \"cycle_max_lr\": 0.1, \"cycle_first_step_size\": 100, "             \
                        "\"decay_lr_rate\": 0.5, \"decay_step_size\": 10")
#define RANGE_TEST SCHEDULER("LRRangeTest", "\"lr_range_test_step_size\": 50")
#define WARMUP SCHEDULER("WarmupLR", "\"warmup_max_lr\": 0.1, \"warmup_num_steps\": 100")
#define DECAY SCHEDULER("WarmupDecayLR", "\"total_num_steps\": 500, \"warmup_num_steps\": 100")
#define COSINE SCHEDULER("WarmupCosineLR", "\"total_num_steps\": 500, \"warmup_num_steps\": 100")

/* A modelled key, another value for it (JSON), and what else the configuration says so that the key matters. */
static const struct key {
  const char *section, *key, *value, *rest;
} keys[] = {
    {"", "train_batch_size", "8", ""},
    {"", "train_micro_batch_size_per_gpu", "3", ""},
    {"", "gradient_accumulation_steps", "3", ""},
    {"", "gradient_clipping", "0", ""},
    {"", "sparse_gradients", "true", ""},
    {"", "gradient_allreduce_op", "\"sum\"", "\"gradient_clipping\": 0"},
    {"", "communication_data_type", "\"fp32\"", BF16},
    {"", "seq_parallel_communication_data_type", "\"bf16\"", BF16 ", \"sequence_parallel_size\": 2"},
    {"", "zero_allow_untested_optimizer", "true", OPT("SGD") ", " ZERO("\"stage\": 1")},
    {"data_types", "grad_accum_dtype", "\"fp32\"", BF16 ", " ZERO("\"stage\": 1")},
    {"fp16", "enabled", "true", ""},
    {"fp16", "loss_scale", "64", FP16},
    {"fp16", "initial_scale_power", "9", FP16},
    {"fp16", "loss_scale_window", "7", FP16},
    {"fp16", "hysteresis", "5", FP16},
    {"fp16", "consecutive_hysteresis", "true", FP16},
    {"fp16", "min_loss_scale", "4", FP16},
    {"bf16", "enabled", "true", ""},
    {"bf16", "check_grad_overflow", "false", BF16},
    {"optimizer", "type", "\"SGD\"", OPT("AdamW")},
    {"optimizer.params@adam", "lr", "0.1", OPT("AdamW")},
    {"optimizer.params@adam", "betas", "[0.9, 0.5]", OPT("AdamW")},
    {"optimizer.params@adam", "eps", "0.01", OPT("AdamW")},
    {"optimizer.params@adam", "weight_decay", "0.1", OPT("AdamW")},
    {"optimizer.params@adam", "bias_correction", "false", OPT("AdamW")},
    {"optimizer.params@adam", "adam_w_mode", "false", OPT("Adam")},
    {"optimizer.params@onebit", "lr", "0.1", OPT("OneBitAdam")},
    {"optimizer.params@onebit", "betas", "[0.9, 0.5]", OPT("OneBitAdam")},
    {"optimizer.params@onebit", "eps", "0.01", OPT("OneBitAdam")},
    {"optimizer.params@onebit", "weight_decay", "0.1", OPT("OneBitAdam")},
    {"optimizer.params@onebit", "freeze_step", "2", OPT("OneBitAdam")},
    {"optimizer.params@sgd", "lr", "0.1", OPT("SGD")},
    {"optimizer.params@sgd", "momentum", "0.5", OPT("SGD")},
    {"optimizer.params@sgd", "dampening", "0.5", "\"optimizer\": {\"type\": \"SGD\", \"params\": {\"momentum\": 0.5}}"},
    {"optimizer.params@sgd", "weight_decay", "0.5", OPT("SGD")},
    {"optimizer.params@sgd", "nesterov", "true", "\"optimizer\": {\"type\": \"SGD\", \"params\": {\"momentum\": 0.5}}"},
    {"scheduler.params@LRRangeTest", "lr_range_test_min_lr", "0.1", RANGE_TEST},
    {"scheduler.params@LRRangeTest", "lr_range_test_step_size", "70", RANGE_TEST},
    {"scheduler.params@LRRangeTest", "lr_range_test_step_rate", "3", RANGE_TEST},
    {"scheduler.params@LRRangeTest", "lr_range_test_staircase", "true", RANGE_TEST},
    {"scheduler.params@OneCycle", "cycle_min_lr", "0.002", CYCLE},
    {"scheduler.params@OneCycle", "cycle_max_lr", "0.2", CYCLE},
    {"scheduler.params@OneCycle", "decay_lr_rate", "0.1", DECAYS},
    {"scheduler.params@OneCycle", "cycle_first_step_size", "50", CYCLE},
    {"scheduler.params@OneCycle", "cycle_second_step_size", "50", CYCLE},
    {"scheduler.params@OneCycle", "cycle_first_stair_count", "3", CYCLE},
    {"scheduler.params@OneCycle", "cycle_second_stair_count", "3", CYCLE},
    {"scheduler.params@OneCycle", "decay_step_size", "20", DECAYS},
    {"scheduler.params@OneCycle", "cycle_momentum", "false", CYCLE},
    {"scheduler.params@OneCycle", "cycle_min_mom", "0.7", CYCLE},
    {"scheduler.params@OneCycle", "cycle_max_mom", "0.95", CYCLE},
    {"scheduler.params@OneCycle", "decay_mom_rate", "0.1", DECAYS},
    {"scheduler.params@WarmupLR", "warmup_min_lr", "0.01", WARMUP},
    {"scheduler.params@WarmupLR", "warmup_max_lr", "0.2", WARMUP},
    {"scheduler.params@WarmupLR", "warmup_num_steps", "50", WARMUP},
    {"scheduler.params@WarmupLR", "warmup_type", "\"linear\"", WARMUP},
    {"scheduler.params@WarmupDecayLR", "total_num_steps", "700", DECAY},
    {"scheduler.params@WarmupDecayLR", "warmup_min_lr", "0.0001", DECAY},
    {"scheduler.params@WarmupDecayLR", "warmup_max_lr", "0.2", DECAY},
    {"scheduler.params@WarmupDecayLR", "warmup_num_steps", "50", DECAY},
    {"scheduler.params@WarmupDecayLR", "warmup_type", "\"linear\"", DECAY},
    {"scheduler.params@WarmupCosineLR", "total_num_steps", "700", COSINE},
    {"scheduler.params@WarmupCosineLR", "warmup_min_ratio", "0.1", COSINE},
    {"scheduler.params@WarmupCosineLR", "warmup_num_steps", "50", COSINE},
    {"scheduler.params@WarmupCosineLR", "cos_min_ratio", "0.1", COSINE},
    {"scheduler.params@WarmupCosineLR", "warmup_type", "\"linear\"", COSINE},
    {"zero_optimization", "stage", "2", ""},
    {"zero_optimization", "reduce_bucket_size", "9000", ZERO("\"stage\": 2")},
    {"zero_optimization", "allgather_bucket_size", "9000", ZERO("\"stage\": 2")},
    {"zero_optimization", "overlap_comm", "true", ZERO("\"stage\": 2")},
    {"zero_optimization", "reduce_scatter", "false", ZERO("\"stage\": 1")},
    {"zero_optimization", "use_multi_rank_bucket_allreduce", "true", ZERO("\"stage\": 2")},
    {"zero_optimization", "stage3_prefetch_bucket_size", "0", STAGE3},
    {"zero_optimization", "stage3_param_persistence_threshold", "0", STAGE3},
    {"zero_optimization", "stage3_model_persistence_threshold", "0", STAGE3},
    {"zero_optimization", "stage3_max_live_parameters", "0", STAGE3},
    {"zero_optimization", "stage3_max_reuse_distance", "0", STAGE3},
    {"zero_optimization", "zero_hpz_partition_size", "2", STAGE3},
    {"zero_optimization", "zero_quantized_weights", "true", STAGE3},
    {"zero_optimization", "zero_quantized_gradients", "true", STAGE3},
    {"zero_optimization", "mics_shard_size", "2", STAGE3},
    {"zero_optimization", "sub_group_size", "5000", NVME("")},
    {"zero_optimization.offload_param", "device", "\"cpu\"", STAGE3},
    {"zero_optimization.offload_param", "nvme_path", "null", NVME(NVME_PARAM)},
    {"zero_optimization.offload_param", "buffer_count", "3", NVME(NVME_PARAM)},
    {"zero_optimization.offload_param", "buffer_size", "3", NVME(NVME_PARAM)},
    {"zero_optimization.offload_param", "max_in_cpu", "100000000000", NVME(NVME_PARAM)},
    {"zero_optimization.offload_param", "pin_memory", "false",
     ZERO("\"stage\": 3, \"offload_param\": {\"device\": \"cpu\"}")},
    {"zero_optimization.offload_optimizer", "device", "\"cpu\"", STAGE3},
    {"zero_optimization.offload_optimizer", "pin_memory", "false",
     ZERO("\"stage\": 2, \"offload_optimizer\": {\"device\": \"cpu\"}")},
    {"zero_optimization.offload_optimizer", "nvme_path", "null", NVME("")},
    {"zero_optimization.offload_optimizer", "buffer_count", "3", NVME("")},
    {"zero_optimization.offload_optimizer", "ratio", "0.5",
     ZERO("\"stage\": 3, \"sub_group_size\": 1000, \"offload_optimizer\": {\"device\": \"cpu\"}")},
    {"zero_optimization.offload_optimizer", "pipeline_read", "true", NVME("")},
    {"zero_optimization.offload_optimizer", "pipeline_write", "true", NVME("")},
    {"aio", "block_size", "4096", NVME("")},
    {"aio", "queue_depth", "3", NVME("")},
    {"aio", "intra_op_parallelism", "2", NVME("")},
    {"aio", "single_submit", "true", NVME("")},
    {"aio", "overlap_events", "false", NVME("")},
    {"activation_checkpointing", "partition_activations", "true", PLAN("\"recompute\": \"full\", \"tp\": 2")},
    {"activation_checkpointing", "cpu_checkpointing", "true", PLAN("\"recompute\": \"full\"")},
    {"", "steps_per_print", "2", ""},
    {"", "wall_clock_breakdown", "true", ""},
    {"comms_logger", "enabled", "true", ""},
    {"comms_logger", "verbose", "true", MONITOR("comms_logger")},
    {"comms_logger", "prof_all", "false", MONITOR("comms_logger")},
    {"comms_logger", "prof_ops", "[\"all_reduce\"]", "\"comms_logger\": {\"enabled\": true, \"prof_all\": false}"},
    {"flops_profiler", "enabled", "true", ""},
    {"flops_profiler", "profile_step", "9", MONITOR("flops_profiler")},
    {"flops_profiler", "module_depth", "0", MONITOR("flops_profiler")},
    {"flops_profiler", "top_modules", "0", MONITOR("flops_profiler")},
    {"flops_profiler", "recompute_fwd_factor", "1", MONITOR("flops_profiler") ", \"wall_clock_breakdown\": true"},
    {"flops_profiler", "detailed", "false", MONITOR("flops_profiler")},
    {"flops_profiler", "output_file", "\"profile.txt\"", MONITOR("flops_profiler")},
    {"csv_monitor", "enabled", "true", ""},
    {"csv_monitor", "output_path", "\"runs/of today\"", MONITOR("csv_monitor")},
    {"csv_monitor", "job_name", "\"mine\"", MONITOR("csv_monitor")},
    {"tensorboard", "enabled", "true", ""},
    {"tensorboard", "output_path", "\"runs\"", MONITOR("tensorboard")},
    {"tensorboard", "job_name", "\"mine\"", MONITOR("tensorboard")},
    {"shardlab", "ds_version", "\"0.19.5\"", ""},
    {"shardlab", "tp", "2", ""},
    {"shardlab", "pp", "2", ""},
    {"shardlab", "cp", "2", ""},
    {"shardlab", "cp_comm_type", "\"a2a\"", PLAN("\"cp\": 2")},
    {"shardlab", "rank_order", "\"pp-dp-tp\"", PLAN("\"tp\": 2, \"pp\": 2")},
    {"shardlab", "virtual_stages", "3",
     "\"gradient_accumulation_steps\": 4, " PLAN("\"pp\": 2, \"schedule\": \"interleaved\"")},
    {"shardlab", "schedule", "\"gpipe\"", "\"gradient_accumulation_steps\": 4, " PLAN("\"pp\": 2")},
    {"shardlab", "stages", "[1, 3]", PLAN("\"pp\": 2")},
    {"shardlab", "recompute", "\"full\"", ""},
    {"shardlab", "recompute_modules", "[\"layernorm\"]", PLAN("\"recompute\": \"selective\"")},
    {"shardlab", "recompute_every", "2", PLAN("\"recompute\": \"full\"")},
    {"shardlab", "preset", "\"ddp\"", ""},
    {"shardlab", "sequence_parallel", "true", PLAN("\"tp\": 2")},
    {"shardlab", "scatter_gather_tensors_in_pipeline", "true", PLAN("\"tp\": 2, \"pp\": 2")},
    {"shardlab", "shard_size", "2", STAGE3},
    {"shardlab", "limit_all_gathers", "false", PLAN("\"preset\": \"fsdp\"")},
    {"shardlab", "no_sync", "true", "\"gradient_accumulation_steps\": 2, " PLAN("\"preset\": \"fsdp\"")},
    {"shardlab", "gradient_as_bucket_view", "true", PLAN("\"preset\": \"ddp\"")},
    {"shardlab", "unshard_ahead", "1",
     STAGE3
     ", \"gradient_accumulation_steps\": 4, " PLAN("\"pp\": 2, \"virtual_stages\": 2, \"schedule\": \"interleaved\"")},
    {"shardlab", "store_dropout_masks", "true", PLAN("\"seq_len\": 9")},
    {"shardlab", "make_vocab_size_divisible_by", "100", ""},
    {"shardlab", "tp_vocab", "\"whole\"", PLAN("\"tp\": 2")},
    {"shardlab", "tf32", "true", ""},
    {"shardlab", "fp8", "true", BF16},
    {"shardlab", "fp8_recipe", "\"rowwise\"", BF16 ", " PLAN("\"fp8\": true, \"kernels\": \"torch-compile\"")},
    {"shardlab", "fp8_format", "\"e4m3\"", BF16 ", " PLAN("\"fp8\": true")},
    {"shardlab", "fp8_margin", "2", BF16 ", " PLAN("\"fp8\": true")},
    {"shardlab", "fp8_amax_compute_algo", "\"most_recent\"", BF16 ", " PLAN("\"fp8\": true")},
    {"shardlab", "fp8_amax_history_len", "16", BF16 ", " PLAN("\"fp8\": true")},
    {"shardlab", "fp8_param_gather", "true",
     BF16 ", " PLAN("\"fp8\": true, \"kernels\": \"megatron-core\", \"preset\": \"megatron-distributed-optimizer\"")},
    {"shardlab", "tp_comm_overlap", "true", PLAN("\"tp\": 2, \"sequence_parallel\": true")},
    {"shardlab", "overlap_param_gather", "true", PLAN("\"preset\": \"megatron-distributed-optimizer\"")},
    {"shardlab", "async_tp", "true", PLAN("\"tp\": 2, \"sequence_parallel\": true, \"kernels\": \"torch-compile\"")},
    {"shardlab", "attention", "\"flash\"", ""},
    {"shardlab", "fuse_epilogues", "\"always\"", ""},
    {"shardlab", "launch_blocking", "true", ""},
    {"shardlab", "expandable_segments", "true", PLAN("\"kernels\": \"torch-eager\"")},
    {"shardlab", "cuda_graph", "false", ""},
    {"shardlab", "kernels", "\"torch-eager\"", ""},
    {"shardlab", "fused_norm", "true", PLAN("\"kernels\": \"megatron-unfused\"")},
    {"shardlab", "fused_softmax", "true", PLAN("\"kernels\": \"megatron-unfused\"")},
    {"shardlab", "cross_entropy_loss_fusion", "true", PLAN("\"kernels\": \"megatron-core\"")},
    {"shardlab", "eval_interval", "3", ""},
    {"shardlab", "eval_iters", "3", PLAN("\"eval_interval\": 2")},
    {"shardlab", "shuffle", "false", ""},
    {"shardlab", "seed", "77", ""},
    {"shardlab", "seq_len", "9", ""},
};
/* ONLY_KERNELS: hyperparameters of the optimizers, the seed, the order of the data and how much of it is evaluated;
 * ONLY_SAID: what a run says while it goes on. */
enum { KEYS = sizeof keys / sizeof *keys, WORLD = 4, ONLY_KERNELS = 14, ONLY_SAID = 19 };

/* The configuration around `k`, with its other value or without; free() it. */
static char *config_of(const struct key *k, bool changed) {
  char text[1024], path[128];
  snprintf(text, sizeof text, "{\"train_micro_batch_size_per_gpu\": 1%s%s}", k->rest[0] != '\0' ? ", " : "", k->rest);
  json_t *root = json_loads(text, 0, NULL), *object = root;
  if (root == NULL) fail_msg("%s.%s: %s", k->section, k->key, text);
  if (strstr(text, "\"optimizer\"") == NULL)
    json_object_set_new(root, "optimizer", json_pack("{s:s}", "type", "AdamW"));
  snprintf(path, sizeof path, "%.*s", (int)strcspn(k->section, "@"), k->section);
  for (char *part = strtok(path, "."); changed && part != NULL; part = strtok(NULL, ".")) {
    if (json_object_get(object, part) == NULL) json_object_set_new(object, part, json_object());
    object = json_object_get(object, part);
  }
  if (strcmp(k->key, "train_batch_size") == 0) json_object_del(root, "train_micro_batch_size_per_gpu");
  if (strcmp(k->key, "train_batch_size") == 0) json_object_set_new(root, "train_batch_size", json_integer(4));
  if (changed) json_object_set_new(object, k->key, json_loads(k->value, JSON_DECODE_ANY, NULL));
  char *out_text = json_dumps(root, 0);
  json_decref(root);
  return out_text;
}

static void print_program(const struct sl_program *p, FILE *to) {
  for (size_t i = 0; i < p->op_count; i++) {
    const struct sl_op *o = &p->ops[i];
    fprintf(to, "%d %d %d %d %d %x %g %d:", o->kind, o->lane, o->group, o->place_group, o->dtype, o->flags, o->scale,
            o->tensor);
    for (int d = 0; d < 5; d++) fprintf(to, " %lld", (long long)o->dim[d]);
    for (int s = o->slice; s < o->slice + o->slice_count; s++)
      fprintf(to, ", %d %lld %lld", p->slices[s].buffer, (long long)p->slices[s].offset, (long long)p->slices[s].bytes);
    fprintf(to, "\n");
  }
  for (size_t i = 0; i < p->instance_count; i++)
    fprintf(to, "%d %d %d\n", p->instances[i].action.kind, p->instances[i].action.stage, p->instances[i].micro_batch);
}

static void print_class(const struct sl_class *c, FILE *to) {
  fprintf(to, "ranks %d to %d\n", c->first_rank, c->last_rank);
  for (size_t i = 0; i < c->buffer_count; i++) {
    const struct sl_buffer *b = &c->buffers[i];
    fprintf(to, "%d %d %d %lld x %d\n", b->category, b->space, b->dtype, (long long)b->bytes, b->slots);
  }
  for (int k = 0; k < SL_PROGRAM_COUNT; k++) print_program(&c->programs[k], to);
}

/* What the CONTROL op makes of the configuration: the loss scale while steps overflow and while they do not, the factor
 * of the gradients, learning rate and momentum. */
static void print_control(const struct sl_config *config, FILE *to) {
  static const int overflows[] = {0, 0, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  struct sl_step_state control;
  sl_step_state_init(&control, config);
  for (int64_t step = 0; step < 600; step++) {
    double beta1, beta2;
    const size_t n = sizeof overflows / sizeof *overflows;
    control.loss_sum = 1;
    control.square_sum = 4;
    control.overflow = (size_t)step < n && overflows[step];
    sl_step_state_advance(&control, config);
    sl_config_betas(config, step, &beta1, &beta2);
    fprintf(to, "%g %g, %g %g\n", control.loss_scale, control.grad_factor, sl_config_lr(config, step), beta1);
  }
}

/* Everything that follows from the configuration before training, as text; free() it. */
static char *consequences(const struct key *k, bool changed) {
  char *config = config_of(k, changed), *text = NULL;
  size_t size;
  struct fixture f;
  FILE *to = open_memstream(&text, &size);
  assert_non_null(to);
  if (fixture_open(&f, "gpt2", config, "localhost", WORLD, NULL) != SL_OK) {
    if (!changed) fail_msg("%s: %s", config, sl_error_message());
    if (strstr(sl_error_message(), k->key) == NULL) fail_msg("%s: %s", config, sl_error_message());
    fprintf(to, "%s\n", sl_error_message());
  } else {
    for (int i = 0; i < f.job.class_count; i++) print_class(&f.job.classes[i], to);
    print_control(f.plan.config, to);
    fprintf(to, "%d\n", f.plan.kernel_costs.launch_blocking);
    fprintf(to, "%lld\n", (long long)f.job.classes[0].memory[SL_SPACE_DEVICE].reserved_bytes);
    fprintf(to, "%d\n", f.plan.config->sl.cuda_graph); /* what the cuda backend is told, see test_cuda_graph */
    /* what a backend's file on NVMe is told: struct sl_nvme_rules, see test_nvme */
    fprintf(to, "%d %d %s %s\n", f.plan.config->aio.single_submit, f.plan.config->aio.overlap_events,
            f.plan.config->zero.optimizer_nvme_path, f.plan.config->zero.param_nvme_path);
  }
  fprintf(to, "%s", fixture_warnings);
  fclose(to);
  fixture_close(&f);
  free(config);
  return text;
}

/* The losses of a short training, as text; free() it. */
static char *losses(const struct key *k, bool changed) {
  char *config = config_of(k, changed), path[600];
  snprintf(path, sizeof path, "%s/config.json", scratch);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fprintf(file, "%s", config);
  fclose(file);
  snprintf(path, sizeof path, "%s/model.json", scratch);
  file = fopen(path, "w");
  assert_non_null(file);
  fprintf(file, "{\"model_type\": \"mlp\", \"dims\": [5, 7, 3]}");
  fclose(file);
  const char *split = strstr(k->rest, "eval_interval") != NULL ? "--val-split 0.3" : "";
  if (shardlab(scratch, "measure --model model.json --config config.json --data random:37 --steps 4 %s --json -",
               split) != 0)
    fail_msg("%s: %s", config, err);
  json_t *record = json_loads(out, 0, NULL);
  assert_non_null(record);
  assert_int_equal(json_array_size(json_object_get(record, "losses")), 4);
  json_t *both = json_pack("[O, O?]", json_object_get(record, "losses"), json_object_get(record, "evaluation_losses"));
  char *text = json_dumps(both, 0);
  json_decref(both);
  json_decref(record);
  free(config);
  return text;
}

/* What a short training prints while it goes on, and the files that it leaves, up to the time in a name, as text;
 * free() it. */
static char *said(const struct key *k, bool changed) {
  char command[2048], *config = config_of(k, changed);
  FILE *file;
  static const char work[] = "rm -rf said && mkdir said && cd said && cat >../config.json";
  snprintf(command, sizeof command, "cd '%s' && %s", scratch, work);
  file = popen(command, "w");
  assert_non_null(file);
  fputs(config, file);
  assert_int_equal(pclose(file), 0);
  free(config);
  char where[600];
  snprintf(where, sizeof where, "%s/said", scratch);
  if (shardlab(where, "measure --model ../model.json --config ../config.json --data random:37 --steps 4 %s",
               strcmp(k->section, "comms_logger") == 0 ? "--world 2" : "") != 0)
    fail_msg("%s", err);
  snprintf(command, sizeof command, "cd '%s/said' && find . -type f | sed 's/tfevents.*/tfevents/' | sort", scratch);
  char *text = NULL;
  size_t size;
  FILE *to = open_memstream(&text, &size);
  fprintf(to,
          "lines: %d of steps, %d of times, %d of messages, %d of calls, %d of modules, %d of depths, %d of kinds, %d "
          "of backwards\n",
          lines_with(out, "step 2 of 4, loss") + lines_with(out, "step 4 of 4, loss"),
          lines_with(out, "time (ms) | fwd: "), lines_with(out, "\nall_reduce "),
          lines_with(out, "comm op: all_reduce | "), lines_with(out, " %  "), lines_with(out, "\ndepth "),
          lines_with(out, "': '"), lines_with(out, "bwd FLOPS per GPU = 2 * "));
  file = popen(command, "r");
  assert_non_null(file);
  for (int c; (c = fgetc(file)) != EOF;) fputc(c, to);
  assert_int_equal(pclose(file), 0);
  fclose(to);
  return text;
}

static bool differ(const struct key *k, char *(*what)(const struct key *k, bool changed)) {
  char *before = what(k, false), *after = what(k, true);
  const bool different = strcmp(before, after) != 0;
  free(before);
  free(after);
  return different;
}

/* Sections that say what a run tells of itself. */
static bool only_tells(const struct key *k) {
  static const char *const sections[] = {"comms_logger", "flops_profiler", "csv_monitor", "tensorboard"};
  for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
    if (strcmp(k->section, sections[i]) == 0) return true;
  return false;
}

/* What only kernels read is seen where they can run. */
static void every_key_has_consequences(void **state) {
  (void)state;
  const bool host = has_host();
  int trained = 0, watched = 0;
  for (int i = 0; i < KEYS; i++) {
    const struct key *k = &keys[i];
    if (differ(k, consequences)) continue;
    trained++;
    if (!host || (!only_tells(k) && differ(k, losses))) continue;
    watched++;
    if (!differ(k, said)) fail_msg("%s.%s: %s changes nothing", k->section, k->key, k->value);
  }
  assert_int_equal(trained, ONLY_KERNELS + ONLY_SAID);
  assert_int_equal(watched, host ? ONLY_SAID : 0);
}

/* A new row of the table needs a line above. */
static void no_key_is_left_out(void **state) {
  (void)state;
  size_t modelled = 0;
  for (size_t i = 0; i < sl_field_count; i++) {
    const struct sl_field *f = &sl_fields[i];
    if (!f->modelled) continue;
    modelled++;
    int k = 0;
    while (k < KEYS && (strcmp(keys[k].section, f->section) != 0 || strcmp(keys[k].key, f->key) != 0)) k++;
    if (k == KEYS) fail_msg("%s.%s: no line says what it changes", f->section, f->key);
  }
  assert_int_equal(modelled, KEYS);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_key_has_consequences),
                                     cmocka_unit_test(no_key_is_left_out)};
  return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
