/* label: unit
 * Presets: what each framework refuses, in its words; what it overrules and says so; groups that shard among
 * themselves; and that the table of frameworks says of today what the presets accept. */
#include "core/plan/frameworks.h"
#include "tests/support/strategy_choice.h"

#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define OFFLOADED(device) "\"offload_optimizer\": {\"device\": \"" device "\", \"nvme_path\": \"x\"}"
#define MICS_OFFLOADED(device) "\"zero_optimization\": {\"stage\": 3, \"mics_shard_size\": 3, " OFFLOADED(device) "}"

static const struct refusal {
  const char *section, *rest;
  int dp;
  const char *says; /* part of the message */
} refusals[] = {
    {"\"preset\": \"ddp\", \"pp\": 2", "", 3,
     "shardlab.pp: Only 1D device mesh is supported; preset ddp (PyTorch DDP)"},
    {"\"preset\": \"zero-redundancy-optimizer\", \"tp\": 3", "", 2, "shardlab.tp: the framework has no such setting"},
    {"\"preset\": \"fsdp-hybrid-shard-zero2\"", "", 6,
     "shardlab.shard_size: Manual wrapping with HYBRID_SHARD requires explicit specification of process group"},
    {"\"preset\": \"fsdp-hybrid-shard\", \"shard_size\": 4", "", 6,
     "shardlab.shard_size: is 4; expected a divisor of the 6 data-parallel ranks"},
    {"\"preset\": \"fsdp\", \"shard_size\": 2", "", 6, "shardlab.shard_size: the framework has no such setting"},
    {"\"preset\": \"fsdp2\", \"pp\": 7", "", 2,
     "gradient_accumulation_steps: Number of microbatches (6) must be greater than or equal to the number of stages"},
    {"\"preset\": \"deepspeed-2\", \"pp\": 3", "\"zero_optimization\": {\"stage\": 2}", 2,
     "zero_optimization.stage: ZeRO-2 and ZeRO-3 are incompatible with pipeline parallelism"},
    {"\"preset\": \"deepspeed-pipeline\"", "\"zero_optimization\": {\"stage\": 3}", 2,
     "ZeRO-2 and ZeRO-3 are incompatible with pipeline parallelism; preset deepspeed-pipeline"},
    {"\"preset\": \"deepspeed-pipeline\", \"pp\": 3, \"virtual_stages\": 2", "", 2, "one stage a rank"},
    {"\"preset\": \"deepspeed-pipeline\", \"pp\": 3, \"schedule\": \"gpipe\"", "", 2, "TrainSchedule, which is 1f1b"},
    {"\"preset\": \"mics\"", "\"zero_optimization\": {\"stage\": 3}", 6,
     "mics_shard_size: is missing; expected the ranks of a group that shards, --shard-size 8"},
    {"\"preset\": \"zero++\"", "\"zero_optimization\": {\"stage\": 3}", 6,
     "zero_hpz_partition_size: is missing; expected the ranks of a group that has a second copy"},
    {"\"preset\": \"zero++\"", "\"zero_optimization\": {\"stage\": 3, \"zero_hpz_partition_size\": 4}", 6,
     "zero_hpz_partition_size: is 4; expected a divisor of the 6 data-parallel ranks"},
    {"\"preset\": \"megatron-lm\", \"virtual_stages\": 3", "", 2,
     "When interleaved schedule is used, pipeline-model-parallel size should be greater than 1"},
    {"\"preset\": \"megatron-lm\", \"pp\": 4, \"virtual_stages\": 3, \"schedule\": \"interleaved\"", "", 2,
     "larger than or equal to the pipeline-parallel size, but it is 2."},
    {"\"preset\": \"megatron-lm\", \"pp\": 7, \"virtual_stages\": 3, \"schedule\": \"interleaved\"", "", 2,
     "should range in [PP, M]"},
    {"\"preset\": \"megatron-lm\", \"pp\": 2, \"schedule\": \"zbv\"", "", 2, "get_forward_backward_func takes 1f1b"},
    {"\"preset\": \"megatron-lm\", \"pp\": 2, \"stages\": \"flops\"", "", 2, "--pipeline-model-parallel-layout"},
    {"\"preset\": \"megatron-lm\", \"recompute_every\": 3", "", 2, "every layer is treated alike"},
    {"\"preset\": \"fsdp2\", \"virtual_stages\": 2", "", 2, "only in a pipeline"},
    {"\"preset\": \"ddp\", \"schedule\": \"zb-h1\"", "", 2, "a schedule is a pipeline's"},
    {"\"preset\": \"megatron-lm\", \"schedule\": \"zb-h1\"", "", 2, "a schedule is a pipeline's"},
    {"\"preset\": \"megatron-fsdp\", \"pp\": 2", "", 2, "Megatron-FSDP goes with TP, EP and CP"},
    {"\"preset\": \"accelerate-ddp\", \"tp\": 2", "", 3, "cannot be used with pure data parallelism"},
    {"\"preset\": \"accelerate-deepspeed\", \"pp\": 2", "", 3,
     "Pipeline parallelism is currently not supported in Accelerate.; preset accelerate-deepspeed (Accelerate), stage "
     "0"},
    {"\"preset\": \"deepspeed-1\", \"tp\": 2, \"sequence_parallel\": true", "", 3,
     "Megatron-LM's sequence parallelism is the client model's"},
    {"\"shard_size\": 3", "", 6,
     "shardlab.shard_size: is 3; ZeRO stage 0 shards nothing: expected 0, or zero_optimization.stage 1, 2 or 3"},
    {"\"preset\": \"deepspeed-0\"", "\"zero_optimization\": {\"offload_optimizer\": {\"device\": \"cpu\"}}", 6,
     "optimizer offload is only supported with ZeRO stage 1, 2 or 3; preset deepspeed-0 is stage 0"},
    {"\"preset\": \"fsdp-shard-grad-op\"",
     "\"zero_optimization\": {\"offload_optimizer\": {\"device\": \"cpu\"}, \"offload_param\": {\"device\": \"cpu\"}}",
     6, "parameter offload is only supported with ZeRO stage 3; preset fsdp-shard-grad-op is stage 2"},
    {"", "\"zero_optimization\": {\"stage\": 2, \"mics_shard_size\": 3}", 6, "MiCS is an extension of ZeRO stage 3"},
    {"", "\"zero_optimization\": {\"stage\": 1, \"zero_hpz_partition_size\": 3}", 6, "the stage is 1"},
    {"", MICS_OFFLOADED("cpu"), 6,
     "offload_optimizer.device: Local sharding has no support for CPU offloading: MiCS, in groups of 3 of 6"},
    {"\"preset\": \"mics\"", MICS_OFFLOADED("nvme"), 6, "Local sharding has no support for CPU offloading"},
    {"\"preset\": \"mics\", \"shard_size\": 2", "\"zero_optimization\": {\"stage\": 3, " OFFLOADED("cpu") "}", 6,
     "Local sharding has no support for CPU offloading"},
};

static void frameworks_refuse(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
    struct sl_strategy s;
    const struct refusal *r = &refusals[i];
    if (choose(&s, r->section, r->rest, r->dp) == SL_OK) fail_msg("accepted: %s", r->section);
    if (strstr(sl_error_message(), r->says) == NULL) fail_msg("%s: %s", r->section, sl_error_message());
  }
}

/* What is next to each refusal is accepted. */
static void neighbours_pass(void **state) {
  (void)state;
  struct sl_strategy s;
  static const char *const sections[] = {
      "\"preset\": \"fsdp2\", \"pp\": 6, \"tp\": 2",
      "\"preset\": \"deepspeed-pipeline\", \"pp\": 3",
      "\"preset\": \"deepspeed-pipeline\", \"pp\": 3, \"schedule\": \"zb-h1\"",
      "\"preset\": \"megatron-lm\", \"pp\": 3, \"virtual_stages\": 2, \"schedule\": \"interleaved\"",
      "\"preset\": \"megatron-lm\", \"pp\": 7",
      "\"preset\": \"accelerate-megatron\", \"pp\": 2, \"tp\": 2, \"sequence_parallel\": true",
      "\"preset\": \"deepspeed-0\", \"tp\": 2, \"sequence_parallel\": true, \"kernels\": \"megatron-deepspeed\"",
      "\"pp\": 2, \"virtual_stages\": 3, \"schedule\": \"interleaved\", \"recompute_every\": 3",
  };
  for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
    if (choose(&s, sections[i], "", 5) != SL_OK) fail_msg("%s: %s", sections[i], sl_error_message());
  /* a preset's stage, which the file need not repeat */
  assert_int_equal(choose(&s, "\"preset\": \"fsdp\"",
                          "\"zero_optimization\": {\"offload_optimizer\": {\"device\": \"cpu\"}, \"offload_param\": "
                          "{\"device\": \"cpu\"}}",
                          5),
                   SL_OK);
  /* no preset: shardlab's own, without DeepSpeed's limit */
  assert_int_equal(choose(&s, "\"pp\": 2", "\"zero_optimization\": {\"stage\": 3}", 5), SL_OK);
  assert_true(s.shard_params);
  assert_int_equal(choose(&s, "\"shard_size\": 2", "\"zero_optimization\": {\"stage\": 3, " OFFLOADED("cpu") "}", 6),
                   SL_OK);
  /* a group of all ranks has no replicas to sum over; parameters may be offloaded */
  assert_int_equal(choose(&s, "", MICS_OFFLOADED("cpu"), 3), SL_OK);
  assert_int_equal(choose(&s, "",
                          "\"zero_optimization\": {\"stage\": 3, \"mics_shard_size\": 3, \"offload_param\": "
                          "{\"device\": \"cpu\"}}",
                          6),
                   SL_OK);
}

#define ZERO_KEY(key) "\"zero_optimization\": {" key "}"
#define KEPT "\"data_types\": {\"grad_accum_dtype\": \"bf16\"}"
#define BF16 "\"bf16\": {\"enabled\": true}"

/* A key that the file gives and the preset overrules; `says` NULL: it is what the preset does anyhow. */
static const struct {
  const char *preset, *rest, *says;
} overruled[] = {
    {"megatron-lm", "\"communication_data_type\": \"bf16\"",
     "communication_data_type: is \"bf16\", which has no effect: preset megatron-lm (Megatron-LM): gradients are "
     "reduced in fp32\n"},
    {"megatron-lm", BF16 ", \"communication_data_type\": \"fp32\"", NULL},
    {"megatron-lm", BF16, NULL},
    {"deepspeed-1", ZERO_KEY("\"stage\": 1") ", \"communication_data_type\": \"bf16\"", NULL},
    {"megatron-distributed-optimizer", BF16 ", " KEPT,
     "data_types.grad_accum_dtype: is \"bf16\", which has no effect: preset megatron-distributed-optimizer "
     "(Megatron-LM): gradients accumulate in fp32\n"},
    {"aleph-alpha-scaling", BF16 ", " KEPT, NULL},
    {"aleph-alpha-scaling", BF16 ", \"data_types\": {\"grad_accum_dtype\": \"fp32\"}",
     "data_types.grad_accum_dtype: is \"fp32\", which has no effect: preset aleph-alpha-scaling (Aleph Alpha Scaling): "
     "gradients accumulate in the parameters' type\n"},
    {"fsdp", BF16 ", " KEPT,
     "data_types.grad_accum_dtype: is \"bf16\", which has no effect: preset fsdp (PyTorch FSDP): gradients are kept in "
     "fp32, as the shards of parameters are\n"},
    {"fsdp", BF16, NULL},
    {"", ZERO_KEY("\"stage\": 2, \"offload_optimizer\": {\"device\": \"cpu\"}") ", " BF16 ", " KEPT,
     "data_types.grad_accum_dtype: is \"bf16\", which has no effect: preset deepspeed-2 (DeepSpeed): gradients in host "
     "memory are fp32\n"},
    {"", ZERO_KEY("\"stage\": 1, \"offload_optimizer\": {\"device\": \"cpu\"}") ", " BF16 ", " KEPT, NULL},
    {"", ZERO_KEY("\"stage\": 1, \"reduce_scatter\": false"), NULL},
    {"ddp", ZERO_KEY("\"reduce_scatter\": false"), NULL}, /* it all-reduces anyway */
    {"", ZERO_KEY("\"stage\": 2, \"reduce_scatter\": false"), NULL},
    {"", ZERO_KEY("\"stage\": 3, \"reduce_scatter\": false"),
     "zero_optimization.reduce_scatter: is false, which has no effect: preset deepspeed-3 (DeepSpeed): only ZeRO 1 and "
     "2 "
     "over all ranks sum whole buckets\n"},
    {"", ZERO_KEY("\"stage\": 2, \"use_multi_rank_bucket_allreduce\": true"), NULL},
    {"zero-redundancy-optimizer", ZERO_KEY("\"use_multi_rank_bucket_allreduce\": true"),
     "zero_optimization.use_multi_rank_bucket_allreduce: is true, which has no effect: preset "
     "zero-redundancy-optimizer "
     "(PyTorch ZeroRedundancyOptimizer): only ZeRO 1 and 2 over all ranks sum whole buckets\n"},
    {"ddp", ZERO_KEY("\"reduce_bucket_size\": 1000001"),
     "zero_optimization.reduce_bucket_size: is 1000001, which has no effect: preset ddp (PyTorch DDP): buckets of "
     "6553600 elements\n"},
    {"ddp", BF16 ", " ZERO_KEY("\"reduce_bucket_size\": 13107200"), NULL},
    {"megatron-distributed-optimizer", ZERO_KEY("\"reduce_bucket_size\": 77"), "buckets of 40000000 elements\n"},
    {"megatron-lm", ZERO_KEY("\"reduce_bucket_size\": 77"), "buckets of 40000000 elements\n"},
    {"megatron-lm", ZERO_KEY("\"reduce_bucket_size\": 40000000"), NULL},
    {"megatron-fsdp", ZERO_KEY("\"reduce_bucket_size\": 77"), "each wrapped block is a bucket\n"},
    {"deepspeed-2", ZERO_KEY("\"stage\": 2, \"reduce_bucket_size\": 77, \"overlap_comm\": false"), NULL},
    {"fsdp", ZERO_KEY("\"reduce_bucket_size\": 77"),
     "zero_optimization.reduce_bucket_size: is 77, which has no effect: preset fsdp (PyTorch FSDP): each wrapped block "
     "is a bucket\n"},
    {"ddp", ZERO_KEY("\"overlap_comm\": false"),
     "zero_optimization.overlap_comm: is false, which has no effect: preset ddp (PyTorch DDP): communication overlaps "
     "with computation\n"},
    {"ddp", ZERO_KEY("\"overlap_comm\": true"), NULL},
    {"zero-redundancy-optimizer", ZERO_KEY("\"allgather_bucket_size\": 77"),
     "allgather_bucket_size: is 77, which has no effect: preset zero-redundancy-optimizer (PyTorch "
     "ZeroRedundancyOptimizer): each parameter is broadcast by its owner\n"},
    {"megatron-distributed-optimizer", ZERO_KEY("\"allgather_bucket_size\": 77"), "gathered by gradient bucket\n"},
    {"deepspeed-1", ZERO_KEY("\"stage\": 1, \"allgather_bucket_size\": 77"), NULL},
    {"fsdp2", ZERO_KEY("\"stage3_prefetch_bucket_size\": 77"),
     "stage3_prefetch_bucket_size: is 77, which has no effect"},
    {"fsdp2", ZERO_KEY("\"prefetch_bucket_size\": 77"), "zero_optimization.prefetch_bucket_size: is 77, which has no"},
    {"fsdp", ZERO_KEY("\"max_live_parameters\": 77"), "max_live_parameters: is 77, which has no effect"},
    {"fsdp", ZERO_KEY("\"stage3_max_reuse_distance\": 77"), "max_reuse_distance: is 77, which has no effect"},
    {"fsdp", ZERO_KEY("\"param_persistence_threshold\": 77"),
     "param_persistence_threshold: is 77, which has no effect"},
    {"fsdp", ZERO_KEY("\"model_persistence_threshold\": 77"),
     "model_persistence_threshold: is 77, which has no effect"},
    {"deepspeed-3", ZERO_KEY("\"stage\": 3, \"prefetch_bucket_size\": 77, \"max_reuse_distance\": 77"), NULL},
};

static void what_a_preset_overrules_is_said(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof overruled / sizeof *overruled; i++) {
    char section[128], rest[512];
    struct sl_strategy s;
    snprintf(section, sizeof section, "\"preset\": \"%s\"", overruled[i].preset);
    snprintf(rest, sizeof rest, "%s, \"optimizer\": {\"type\": \"AdamW\"}", overruled[i].rest);
    if (choose(&s, section, rest, 3) != SL_OK) fail_msg("%s: %s", rest, sl_error_message());
    const char *says = overruled[i].says, *line = strchr(said, '\n');
    if (says == NULL && said[0] == '\0') continue;
    if (says == NULL || line == NULL || line[1] != '\0' || strncmp(said, "ds.json:1:", 10) != 0 ||
        strstr(said, says) == NULL)
      fail_msg("preset %s, %s: said\n%snot\n%s", overruled[i].preset, rest, said, says != NULL ? says : "(nothing)");
  }
}

/* What a run record tells of the configuration is what was used. */
static void what_a_preset_decides_is_the_configuration(void **state) {
  (void)state;
  struct sl_strategy s;
  assert_int_equal(choose(&s, "\"preset\": \"megatron-distributed-optimizer\"",
                          BF16 ", " KEPT ", " ZERO_KEY("\"reduce_bucket_size\": 77"), 53),
                   SL_OK);
  assert_int_equal(chosen.communication_data_type, SL_F32);
  assert_int_equal(chosen.grad_accum_dtype, SL_F32);
  assert_int_equal(chosen.zero.reduce_bucket_size, 53000000);
  assert_true(chosen.zero.overlap_comm);
  assert_int_equal(choose(&s, "", BF16 ", " KEPT ", " ZERO_KEY("\"stage\": 2, \"reduce_bucket_size\": 77"), 53), SL_OK);
  assert_int_equal(chosen.communication_data_type, SL_BF16);
  assert_int_equal(chosen.grad_accum_dtype, SL_BF16);
  assert_int_equal(chosen.zero.reduce_bucket_size, 77);
  assert_false(chosen.zero.overlap_comm);
}

static void groups_that_shard(void **state) {
  (void)state;
  struct sl_strategy s;
  assert_int_equal(choose(&s, "\"preset\": \"fsdp-hybrid-shard\", \"shard_size\": 3", "", 6), SL_OK);
  assert_int_equal(s.shard_size, 3);
  assert_int_equal(choose(&s, "\"preset\": \"fsdp-hybrid-shard\", \"shard_size\": 6", "", 6), SL_OK);
  assert_int_equal(s.shard_size, 0); /* one group is all of them */
  assert_int_equal(
      choose(&s, "\"preset\": \"mics\"", "\"zero_optimization\": {\"stage\": 3, \"mics_shard_size\": 2}", 6), SL_OK);
  assert_int_equal(s.shard_size, 2);
  assert_true(s.shard_params && s.units == SL_UNITS_PARAMETER);
  assert_int_equal(choose(&s, "\"shard_size\": 3", "\"zero_optimization\": {\"stage\": 1}", 9), SL_OK);
  assert_int_equal(s.shard_size, 3);
  assert_int_equal(choose(&s, "\"preset\": \"fsdp\"", "", 6), SL_OK);
  assert_int_equal(s.shard_size, 0);
}

/* Buckets of Megatron-LM grow with the data-parallel ranks; DeepSpeed's key says nothing to it. */
static void megatrons_buckets(void **state) {
  (void)state;
  static const char *const presets[] = {"megatron-lm", "megatron-distributed-optimizer", "accelerate-megatron"};
  static const struct {
    int dp;
    int64_t elements;
  } buckets[] = {{8, 40000000}, {40, 40000000}, {41, 41000000}, {4000, 4000000000}};
  for (int p = 0; p < 3; p++) {
    for (int i = 0; i < 4; i++) {
      char section[64];
      struct sl_strategy s;
      snprintf(section, sizeof section, "\"preset\": \"%s\"", presets[p]);
      assert_int_equal(choose(&s, section, "\"zero_optimization\": {\"reduce_bucket_size\": 1e6}", buckets[i].dp),
                       SL_OK);
      assert_int_equal(s.first_bucket, buckets[i].elements);
      assert_int_equal(s.bucket, buckets[i].elements);
    }
  }
}

#define ADAM "\"optimizer\": {\"type\": \"AdamW\"}"

/* --overlap-grad-reduce is overlap_comm: unsaid it is on, and without it all is one bucket behind the last backward. */
static void megatron_may_reduce_after_backward(void **state) {
  (void)state;
  static const char *const presets[] = {"megatron-lm", "megatron-distributed-optimizer", "accelerate-megatron"};
  for (int p = 0; p < 3; p++) {
    char section[128];
    struct sl_strategy s;
    snprintf(section, sizeof section, "\"preset\": \"%s\"", presets[p]);
    assert_int_equal(choose(&s, section, ADAM ", " ZERO_KEY("\"overlap_comm\": true"), 8), SL_OK);
    assert_true(s.overlap && s.bucket == 40000000);
    assert_int_equal(choose(&s, section, ADAM ", " ZERO_KEY("\"overlap_comm\": false"), 8), SL_OK);
    assert_false(s.overlap || chosen.zero.overlap_comm);
    assert_true(s.bucket > 1000000000000 && s.first_bucket == s.bucket);
    assert_string_equal(said, "");
  }
  struct sl_strategy s;
  assert_int_equal(choose(&s, "\"preset\": \"megatron-distributed-optimizer\", \"overlap_param_gather\": true",
                          ADAM ", " ZERO_KEY("\"overlap_comm\": false"), 8),
                   SL_ERR_INPUT);
  assert_int_equal(choose(&s, "\"preset\": \"megatron-fsdp\"", ADAM ", " ZERO_KEY("\"overlap_comm\": false"), 8),
                   SL_OK);
  assert_true(s.overlap);
}

static void stages_of_names(void **state) {
  (void)state;
  assert_int_equal(sl_strategy_deepspeed_stage("deepspeed-2"), 2);
  assert_int_equal(sl_strategy_deepspeed_stage("mics"), 3);
  assert_int_equal(sl_strategy_deepspeed_stage("zero++"), 3);
  assert_int_equal(sl_strategy_deepspeed_stage("deepspeed-pipeline"), -1);
  assert_int_equal(sl_strategy_deepspeed_stage("fsdp"), -1);
  assert_int_equal(sl_strategy_deepspeed_stage("no such"), -1);
}

/* One cell of the table against the preset that stands for it. */
static void compare(const struct sl_framework_support *f, int stage) {
  char section[256], rest[64];
  struct sl_strategy s;
  const bool pipeline = f->parallelism == SL_PIPELINE_PARALLEL || f->parallelism == SL_3D_PARALLEL;
  const bool tensor = f->parallelism == SL_TENSOR_PARALLEL || f->parallelism == SL_3D_PARALLEL;
  snprintf(section, sizeof section, "\"preset\": \"%s\", \"pp\": %d, \"tp\": %d", f->presets[stage], pipeline ? 3 : 1,
           tensor ? 2 : 1);
  snprintf(rest, sizeof rest, "\"zero_optimization\": {\"stage\": %d}", stage);
  const bool accepted = choose(&s, section, rest, 5) == SL_OK, listed = f->now >> stage & 1;
  if (accepted != listed)
    fail_msg("%s, %s, stage %d: listed %d, preset %s: %s", f->framework, sl_parallelism_name(f->parallelism), stage,
             listed, f->presets[stage], accepted ? "accepts" : sl_error_message());
  if (accepted) assert_int_equal(s.zero_stage, stage);
}

static void the_table_is_what_presets_accept(void **state) {
  (void)state;
  const struct sl_framework_support *f;
  int cells = 0;
  for (int i = 0; (f = sl_framework_support(i)) != NULL; i++) {
    assert_in_range(f->then, 0, 15);
    for (int stage = 0; stage < 4; stage++) {
      if (f->presets[stage] == NULL) continue;
      compare(f, stage);
      cells++;
    }
  }
  assert_int_equal(cells, 80);
  assert_null(sl_framework_support(-1));
}

/* Of every preset: the next one exists and is of a higher stage or, behind one that shards in groups, of the same over all
 * ranks; so going on ends. */
static void what_shards_more_shards_more(void **state) {
  (void)state;
  const char *name, *description;
  int links = 0;
  for (int i = 0; sl_strategy_preset(i, &name, &description); i++) {
    const char *more = sl_strategy_more_sharded(name);
    struct sl_strategy s[2];
    char section[96];
    if (more == NULL) continue;
    for (int k = 0; k < 2; k++) {
      const char *preset = k == 0 ? name : more;
      const char *size = strstr(preset, "hybrid") ? ", \"shard_size\": 2" : "";
      snprintf(section, sizeof section, "\"preset\": \"%s\"%s", preset, size);
      const char *groups_of = strcmp(preset, "mics") == 0     ? ", \"mics_shard_size\": 2"
                              : strcmp(preset, "zero++") == 0 ? ", \"zero_hpz_partition_size\": 2"
                                                              : "";
      char zero[96] = "";
      const int stage = sl_strategy_deepspeed_stage(preset);
      if (stage >= 0) snprintf(zero, sizeof zero, "\"zero_optimization\": {\"stage\": %d%s}", stage, groups_of);
      if (choose(&s[k], section, zero, 4) != SL_OK) fail_msg("%s: %s", preset, sl_error_message());
    }
    const bool groups = strstr(name, "hybrid") || strcmp(name, "mics") == 0 || strcmp(name, "zero++") == 0;
    if (groups ? s[1].zero_stage != s[0].zero_stage : s[1].zero_stage <= s[0].zero_stage)
      fail_msg("%s shards no more than %s", more, name);
    links++;
  }
  assert_int_equal(links, 16);
  assert_null(sl_strategy_more_sharded("nothing"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(frameworks_refuse),
      cmocka_unit_test(neighbours_pass),
      cmocka_unit_test(what_a_preset_overrules_is_said),
      cmocka_unit_test(what_a_preset_decides_is_the_configuration),
      cmocka_unit_test(groups_that_shard),
      cmocka_unit_test(megatrons_buckets),
      cmocka_unit_test(megatron_may_reduce_after_backward),
      cmocka_unit_test(stages_of_names),
      cmocka_unit_test(the_table_is_what_presets_accept),
      cmocka_unit_test(what_shards_more_shards_more),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
