/* label: unit
 * Gradients that are reduced at once: Megatron-LM's local DDP and nanotron at ZeRO-1 make one all-reduce of all that a
 * pipeline rank holds, and none of its products is left when it starts. (An embedding tied to the head of another rank
 * is apart.) DeepSpeed's pipelines begin as late, bucket by bucket, and FSDP2's unit by unit. And how nanotron gathers what was updated. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/check/rendezvous.h"
#include "core/program/memory_report.h"
#include "tests/support/job_fixture.h"

static void open_job(struct fixture *f, const char *preset, const char *kernels) {
  char config[512];
  snprintf(config, sizeof config,
           "{\"train_micro_batch_size_per_gpu\": 1, \"gradient_accumulation_steps\": 3, \"bf16\": {\"enabled\": true}, "
           "\"zero_optimization\": {\"reduce_bucket_size\": 1000}, \"optimizer\": {\"type\": \"AdamW\"}, "
           "\"shardlab\": {\"pp\": 2, \"preset\": \"%s\", \"kernels\": \"%s\", \"seq_len\": 8, \"attention\": "
           "\"materialised\"}}",
           preset, kernels);
  if (fixture_open(f, SL_SOURCE_DIR "/tests/mpi/grid_llama.json", config, "dgx-a100-80g", 6, NULL) != SL_OK)
    fail_msg("%s", sl_error_message());
  if (sl_check(&f->job) != SL_OK) fail_msg("%s", sl_error_message());
}

/* The reductions of gradients over dp in a step, and whether a product follows the first. */
struct seen {
  int calls;
  enum sl_op_kind kind;
  enum sl_dtype type;
  int64_t elements, sum; /* of the last call, and of all */
  bool product_follows;
};

static struct seen look(const struct fixture *f, int rank) {
  struct seen s = {0};
  const struct sl_program *p = &f->job.classes[rank].programs[SL_PROGRAM_STEP];
  for (size_t i = 0; i < p->instance_count; i++) {
    const struct sl_instance *it = &p->instances[i];
    for (const struct sl_op *op = &p->ops[it->first_op]; op < &p->ops[it->first_op + it->op_count]; op++) {
      if (op->kind == SL_OP_GEMM && s.calls > 0) s.product_follows = true;
      if (op->payload != SL_PAYLOAD_GRADIENT || op->group == SL_GROUP_EMBED || !sl_op_is_comm(op->kind)) continue;
      s.calls++, s.kind = op->kind, s.type = op->dtype, s.elements = op->dim[0], s.sum += op->dim[0];
    }
  }
  return s;
}

static void one_call_behind_the_last_product(void **state) {
  (void)state;
  static const char *const presets[] = {"megatron-local-ddp", "nanotron-zero1"};
  for (int i = 0; i < 2; i++) {
    struct fixture f;
    open_job(&f, presets[i], i == 0 ? "megatron-fused" : "nanotron");
    for (int rank = 0; rank < 2; rank++) {
      const struct seen s = look(&f, rank);
      int64_t held = 0;
      for (int k = 0; k < f.plan.pp_ranks[rank].tensor_count; k++) held += f.plan.pp_ranks[rank].tensors[k].numel;
      assert_int_equal(s.calls, 1);
      assert_int_equal(s.kind, SL_OP_ALL_REDUCE);
      assert_true(s.elements >= held && s.elements < held + 64); /* and padding */
      assert_false(s.product_follows);
    }
    fixture_close(&f);
  }
}

/* nanotron's updated parameters go through lists: around the gather a copy of the own part, and two of the whole, all
 * there at once; and the gather stands between what fills them and what empties them. */
static void parameters_are_gathered_into_lists(void **state) {
  (void)state;
  struct fixture f;
  open_job(&f, "nanotron-zero1", "nanotron");
  const struct sl_class *c = &f.job.classes[0];
  const struct sl_program *p = &c->programs[SL_PROGRAM_STEP];
  const int64_t part = f.plan.pp_ranks[0].units[0].part * 2, members = 3;
  const int64_t tensors = f.plan.pp_ranks[0].tensor_count;
  int64_t room = 0, bytes = 0, lists = 0, before = 0, after = 0;
  bool gathered = false;
  for (size_t i = 0; i < c->buffer_count; i++) {
    if (strncmp(c->buffers[i].name, "gather.", strlen("gather.")) != 0) continue;
    room += c->buffers[i].bytes;
    lists += strcmp(c->buffers[i].name, "gather.list") == 0;
  }
  for (size_t i = 0; i < p->op_count; i++) {
    gathered |= p->ops[i].kind == SL_OP_ALL_GATHER && p->ops[i].payload == SL_PAYLOAD_PARAMETER;
    if (p->ops[i].kind != SL_OP_PASS || p->ops[i].phase != SL_PHASE_STEP) continue;
    *(gathered ? &after : &before) += 1;
    bytes += p->ops[i].dim[0];
    assert_int_equal(p->ops[i].dim[1], gathered ? tensors : 1); /* kernels */
    assert_int_equal(p->ops[i].dim[2], tensors);
  }
  assert_int_equal(lists, members);
  assert_int_equal(room, part + 2 * part * members);
  assert_int_equal(before, members + 1);
  assert_int_equal(after, members);
  assert_int_equal(bytes, 2 * part + (2 + 4) * part * members);
  const struct sl_memory_report *m = c->memory;
  assert_true(m->reserved_bytes >= m->state_bytes[SL_CATEGORY_PARAMETER] + room);
  fixture_close(&f);
}

/* nanotron at ZeRO-0 has DDP's buckets: each gradient is copied there and back, once a step, and summed by a
 * call of its own. */
static void gradients_go_through_the_buckets_of_ddp(void **state) {
  (void)state;
  struct fixture f;
  open_job(&f, "nanotron", "nanotron");
  for (int rank = 0; rank < 2; rank++) {
    const struct sl_program *p = &f.job.classes[rank].programs[SL_PROGRAM_STEP];
    int64_t kernels = 0, bytes = 0;
    for (size_t i = 0; i < p->instance_count; i++) {
      const struct sl_instance *it = &p->instances[i];
      for (const struct sl_op *op = &p->ops[it->first_op]; op < &p->ops[it->first_op + it->op_count]; op++) {
        if (op->kind != SL_OP_PASS || op->phase != SL_PHASE_BACKWARD || op->slice_count > 0 || op->tensor >= 0)
          continue;
        kernels += op->dim[1], bytes += op->dim[0];
      }
    }
    assert_int_equal(kernels, 3 * f.plan.pp_ranks[rank].tensor_count);
    assert_int_equal(bytes, 2 * 2 * 2 * look(&f, rank).sum);
  }
  fixture_close(&f);
}

/* FSDP2 beside a pipeline sums gradients whole: of three micro-batches the last reduces, a unit a call, when its backward
 * is over. */
static void fsdp2_reduces_once_a_unit(void **state) {
  (void)state;
  struct fixture f;
  open_job(&f, "fsdp2", "torch-compile");
  for (int rank = 0; rank < 2; rank++) {
    const struct seen s = look(&f, rank);
    assert_int_equal(s.calls, f.plan.pp_ranks[rank].unit_count);
    assert_int_equal(s.kind, SL_OP_REDUCE_SCATTER);
    assert_false(s.product_follows);
  }
  fixture_close(&f);
}

/* Whole gradients of FSDP, beside a pipeline and under no_sync, are reduced into tensors of their own. FSDP2 copies a
 * unit's into one buffer first, in fp32 here; FSDP sends them as they are. Our own kernels reduce in place. */
static void fsdp_reduces_into_tensors_of_its_own(void **state) {
  (void)state;
  static const struct {
    const char *preset, *kernels, *more;
    int pp;
    bool apart, copied;
  } cases[] = {{"fsdp2", "torch-compile", "", 2, true, true},
               {"fsdp2", "torch-eager", ", \"no_sync\": true", 1, true, true},
               {"fsdp", "torch-eager", ", \"no_sync\": true", 1, true, false},
               {"fsdp2", "torch-eager", "", 1, true, false},
               {"fsdp2", "shardlab", "", 2, false, false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct fixture f;
    char config[512];
    snprintf(
        config, sizeof config,
        "{\"train_micro_batch_size_per_gpu\": 1, \"gradient_accumulation_steps\": 3, \"bf16\": {\"enabled\": true}, "
        "\"communication_data_type\": \"fp32\", \"optimizer\": {\"type\": \"AdamW\"}, \"shardlab\": {\"pp\": %d, "
        "\"preset\": \"%s\", \"kernels\": \"%s\", \"seq_len\": 8%s}}",
        cases[i].pp, cases[i].preset, cases[i].kernels, cases[i].more);
    if (fixture_open(&f, SL_SOURCE_DIR "/tests/mpi/grid_llama.json", config, "dgx-a100-80g", 6, NULL) != SL_OK ||
        sl_check(&f.job) != SL_OK)
      fail_msg("%s", sl_error_message());
    for (int rank = 0; rank < cases[i].pp; rank++) {
      const struct sl_pp_rank *r = &f.plan.pp_ranks[rank];
      const struct sl_class *c = &f.job.classes[rank];
      int64_t largest = 0;
      for (int u = 0; u < r->unit_count; u++) largest = r->units[u].part > largest ? r->units[u].part : largest;
      assert_int_equal(fixture_bytes_named(c, "grad.shard"), cases[i].apart ? r->shard_numel * 4 : 0);
      if (f.plan.strategy.shard_grads) continue;
      const int64_t unit = largest * f.plan.shard * 4;
      assert_true(cases[i].copied ? fixture_bytes_named(c, "bucket.0") == unit
                                  : fixture_bytes_named(c, "bucket.0") == 0);
    }
    fixture_close(&f);
  }
}

/* Aleph Alpha Scaling has buckets, in fp32 of gradients in 16 bits, and none before the last product either. */
static void buckets_behind_the_last_product(void **state) {
  (void)state;
  struct fixture f;
  open_job(&f, "aleph-alpha-scaling", "shardlab");
  assert_int_equal(f.plan.config->grad_accum_dtype, SL_BF16);
  for (int rank = 0; rank < 2; rank++) {
    const struct seen s = look(&f, rank);
    int64_t held = 0;
    for (int k = 0; k < f.plan.pp_ranks[rank].tensor_count; k++) held += f.plan.pp_ranks[rank].tensors[k].numel;
    assert_true(s.calls > 5 && s.elements < held);
    assert_int_equal(s.kind, SL_OP_ALL_REDUCE);
    assert_int_equal(s.type, SL_F32);
    assert_true(s.sum >= held && s.sum < held + 64);
    assert_false(s.product_follows);
  }
  fixture_close(&f);
}

/* DeepSpeed's pipelines reduce behind the last backward, bucket by bucket. Their BF16_Optimizer, at stage 0 too, has
 * its state in partitions and all-reduces; ZeRO-1 in other types reduce-scatters. */
static void deepspeeds_pipelines_reduce_behind_the_last_backward(void **state) {
  (void)state;
  static const struct {
    const char *bf16, *preset;
    int stage;
    bool partitions, scatters;
    const char *more;
  } cases[] = {{"true", "deepspeed-pipeline", 0, true, false, ""},
               {"true", "deepspeed-pipeline", 0, true, false, ", \"data_types\": {\"grad_accum_dtype\": \"bf16\"}"},
               {"true", "deepspeed-pipeline", 1, true, true, ""},
               {"true", "deepspeed-pipeline", 1, true, false, ", \"data_types\": {\"grad_accum_dtype\": \"fp32\"}"},
               {"false", "deepspeed-pipeline", 1, true, true, ""},
               {"false", "deepspeed-pipeline", 0, false, false, ""},
               {"true", "deepspeed-1", 1, true, true, ""},
               {"true", "", 0, false, false, ""}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct fixture f;
    char config[512];
    snprintf(
        config, sizeof config,
        "{\"train_micro_batch_size_per_gpu\": 1, \"gradient_accumulation_steps\": 3, \"bf16\": {\"enabled\": %s}, "
        "\"zero_optimization\": {\"stage\": %d, \"reduce_bucket_size\": 30000, \"overlap_comm\": %s}, \"optimizer\": "
        "{\"type\": \"AdamW\"}%s, \"shardlab\": {\"pp\": 2, \"preset\": \"%s\", \"seq_len\": 8}}",
        cases[i].bf16, cases[i].stage, strstr(cases[i].preset, "pipeline") != NULL ? "true" : "false", cases[i].more,
        cases[i].preset);
    if (fixture_open(&f, "gpt2-tiny", config, "dgx-a100-80g", 8, NULL) != SL_OK) fail_msg("%s", sl_error_message());
    if (sl_check(&f.job) != SL_OK) fail_msg("%s", sl_error_message());
    for (int rank = 0; rank < 2; rank++) {
      const struct seen s = look(&f, rank);
      const double own = (double)f.plan.pp_ranks[rank].shard_numel;
      assert_true(s.calls > 1);
      assert_false(s.product_follows);
      assert_int_equal(s.kind, cases[i].scatters ? SL_OP_REDUCE_SCATTER : SL_OP_ALL_REDUCE);
      assert_int_equal(f.plan.pp_ranks[rank].units != NULL && f.plan.strategy.shard_optimizer, cases[i].partitions);
      const double states = (double)f.job.classes[rank].memory->state_bytes[SL_CATEGORY_OPTIMIZER];
      assert_true(states == own * (cases[i].bf16[0] == 't' ? 12 : 8));
    }
    fixture_close(&f);
  }
}

/* A tied embedding's gradient is summed over the ends of a pipeline: whole in frameworks, in own parts with our own
 * kernels. */
static void frameworks_sum_a_tied_embedding_whole(void **state) {
  (void)state;
  static const char *const presets[] = {"megatron-distributed-optimizer", "deepspeed-1"};
  for (int i = 0; i < 4; i++) {
    struct fixture f;
    char config[512];
    snprintf(config, sizeof config,
             "{\"train_micro_batch_size_per_gpu\": 1, \"gradient_accumulation_steps\": 2, \"zero_optimization\": "
             "{\"stage\": %d}, \"optimizer\": {\"type\": \"AdamW\"}, \"shardlab\": {\"pp\": 2, \"preset\": \"%s\", "
             "\"kernels\": \"%s\", \"seq_len\": 8}}",
             i % 2, presets[i % 2], i < 2 ? "megatron-fused" : "shardlab");
    if (fixture_open(&f, "gpt2-tiny", config, "dgx-a100-80g", 8, NULL) != SL_OK) fail_msg("%s", sl_error_message());
    const struct sl_program *p = fixture_step(&f);
    const struct sl_placed *wte = &f.plan.pp_ranks[0].tensors[0];
    int64_t summed = 0;
    for (size_t k = 0; k < p->op_count; k++)
      if (p->ops[k].group == SL_GROUP_EMBED && p->ops[k].kind == SL_OP_ALL_REDUCE) summed += p->ops[k].dim[0];
    assert_true(wte->tied);
    if (i < 2)
      assert_int_equal(summed, wte->numel);
    else
      assert_true(summed >= wte->numel / 4 && summed < wte->numel / 4 + 64);
    fixture_close(&f);
  }
}

/* Those that overlap do not wait, and a partitioned optimizer elsewhere gets its part alone. */
static void others_do_otherwise(void **state) {
  (void)state;
  static const char *const presets[] = {"ddp", "deepspeed-1"};
  for (int i = 0; i < 2; i++) {
    struct fixture f;
    char config[512];
    snprintf(config, sizeof config,
             "{\"train_micro_batch_size_per_gpu\": 1, \"zero_optimization\": {\"stage\": %d, \"reduce_bucket_size\": "
             "30000}, \"optimizer\": {\"type\": \"AdamW\"}, \"shardlab\": {\"preset\": \"%s\", \"seq_len\": 16}}",
             i, presets[i]);
    if (fixture_open(&f, "gpt2-tiny", config, "dgx-a100-80g", 3, NULL) != SL_OK) fail_msg("%s", sl_error_message());
    const struct seen s = look(&f, 0);
    assert_true(s.calls > 1 && s.product_follows);
    assert_int_equal(s.kind, i == 0 ? SL_OP_ALL_REDUCE : SL_OP_REDUCE_SCATTER);
    fixture_close(&f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(one_call_behind_the_last_product),
                                     cmocka_unit_test(parameters_are_gathered_into_lists),
                                     cmocka_unit_test(gradients_go_through_the_buckets_of_ddp),
                                     cmocka_unit_test(buckets_behind_the_last_product),
                                     cmocka_unit_test(fsdp2_reduces_once_a_unit),
                                     cmocka_unit_test(fsdp_reduces_into_tensors_of_its_own),
                                     cmocka_unit_test(deepspeeds_pipelines_reduce_behind_the_last_backward),
                                     cmocka_unit_test(frameworks_sum_a_tied_embedding_whole),
                                     cmocka_unit_test(others_do_otherwise)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
