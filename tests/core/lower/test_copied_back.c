/* label: unit
 * Whole gradients that are communicated in another type than they are kept in: each bucket's sum is copied back right
 * behind its all-reduce, on the same lane, and buckets take turns in one buffer, with overlap in two, as DeepSpeed's
 * allreduce_bucket frees what it has cast before the next call, however many buckets there are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/check/rendezvous.h"
#include "core/program/memory_report.h"
#include "tests/support/job_fixture.h"

#define FP32_SUMS "\"communication_data_type\": \"fp32\", "
#define FP32_KEPT "\"data_types\": {\"grad_accum_dtype\": \"fp32\"}, "
#define ZERO1(overlap, size) "\"stage\": 1, \"overlap_comm\": " overlap ", \"reduce_bucket_size\": " size
#define WHOLE ", \"use_multi_rank_bucket_allreduce\": true"

struct row {
  const char *model, *types, *zero, *section;
  int buffers;
};

static void open_job(struct fixture *f, const struct row *c) {
  char config[768];
  snprintf(config, sizeof config,
           "{\"train_micro_batch_size_per_gpu\": 1, \"gradient_accumulation_steps\": 2, \"bf16\": {\"enabled\": true}, "
           "%s\"optimizer\": {\"type\": \"AdamW\"}, \"zero_optimization\": {%s}, \"shardlab\": {\"seq_len\": 64, "
           "\"attention\": \"flash\"%s}}",
           c->types, c->zero, c->section);
  if (fixture_open(f, c->model, config, "dgx-a100-80g", 4, NULL) != SL_OK)
    fail_msg("%s: %s", config, sl_error_message());
  if (sl_check(&f->job) != SL_OK) fail_msg("%s: %s", config, sl_error_message());
}

static bool is_sum(const struct sl_op *op) {
  return op->kind == SL_OP_ALL_REDUCE && op->payload == SL_PAYLOAD_GRADIENT;
}

/* Is the sum `op` copied from where it is to the gradients by the op behind it, on its lane? */
static bool copied_back(const struct fixture *f, const struct sl_op *op) {
  const struct sl_program *p = fixture_step(f);
  const struct sl_slice *sum = sl_op_slices(p, op), *copy = sl_op_slices(p, op + 1);
  const bool copies = op[1].kind == SL_OP_COPY && op[1].lane == op->lane && op[1].dim[0] == op->dim[0];
  return copies && copy[0].buffer == sum[0].buffer && copy[0].offset == sum[0].offset &&
         f->job.classes[0].buffers[copy[1].buffer].category == SL_CATEGORY_GRADIENT;
}

/* Bytes of the buffers for buckets: those of casts, or DeepSpeed's own, which stand beside whole gradients whatever is
 * communicated. */
static int64_t bytes_of(const struct fixture *f, bool own) {
  const struct sl_class *c = &f->job.classes[0];
  int64_t bytes = 0;
  for (size_t i = 0; i < c->buffer_count; i++)
    if (strncmp(c->buffers[i].name, "bucket.", 7) == 0 && own == (strcmp(c->buffers[i].name, "bucket.beside") == 0))
      bytes += c->buffers[i].bytes;
  return bytes;
}

static void buckets_take_turns(void **state) {
  (void)state;
  static const struct row rows[] = {
      {"gpt2", FP32_SUMS, ZERO1("false", "3e6") WHOLE, "", 1},
      {"gpt2", FP32_SUMS, ZERO1("true", "3e6") WHOLE, "", 2},
      {"gpt2", FP32_SUMS, ZERO1("false", "1e7"), ", \"kernels\": \"torch-eager\"", 1},
      {"gpt2", FP32_SUMS, ZERO1("true", "1e7"), ", \"kernels\": \"torch-eager\"", 2},
      {"gpt2", FP32_KEPT, ZERO1("false", "3e6"), ", \"kernels\": \"torch-eager\"", 1},
      {"gpt2", FP32_KEPT, ZERO1("true", "1e7") WHOLE, "", 2},
      {"gpt2-medium", FP32_SUMS, "\"stage\": 0, \"overlap_comm\": true, \"reduce_bucket_size\": 1e7",
       ", \"kernels\": \"torch-eager\"", 2},
      {"gpt2", FP32_SUMS, "\"stage\": 0, \"overlap_comm\": false, \"reduce_bucket_size\": 3e6", "", 1},
      {"gpt2", FP32_SUMS, "\"stage\": 0, \"overlap_comm\": true, \"reduce_bucket_size\": 1e7", "", 2},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct fixture f;
    open_job(&f, &rows[i]);
    const struct sl_program *p = fixture_step(&f);
    int64_t largest = 0;
    int sums = 0;
    for (const struct sl_op *op = p->ops; op < p->ops + p->op_count; op++) {
      if (!is_sum(op)) continue;
      if (!copied_back(&f, op)) fail_msg("row %d: sum %d is not copied back", (int)i, sums);
      const int64_t bytes = op->dim[0] * sl_dtype_bytes(op->dtype);
      if (bytes > largest) largest = bytes;
      sums++;
    }
    const struct sl_memory_report *r = &f.job.classes[0].memory[SL_SPACE_DEVICE];
    const int64_t most = rows[i].buffers * largest, live = r->category_max[SL_CATEGORY_COMMUNICATION];
    assert_true(sums > 2 * rows[i].buffers);
    if (bytes_of(&f, false) > most)
      fail_msg("row %d: buffers of %lld bytes, not %lld", (int)i, (long long)bytes_of(&f, false), (long long)most);
    assert_true(live <= most + bytes_of(&f, true) + 4 * SL_ALIGN);
    assert_true(r->at_peak[SL_CATEGORY_COMMUNICATION] <= live);
    fixture_close(&f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(buckets_take_turns)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
