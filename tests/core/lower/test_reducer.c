/* label: unit
 * DDP's reducer (torch/csrc/distributed/c10d/reducer.cpp): buckets of all gradients' bytes stand beside them for the
 * whole run; each gradient is copied there, reduced, and copied back when the backward is over. Training in fp32 with
 * Adam so holds 20 bytes a parameter, 16 where gradients are views of the buckets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/check/rendezvous.h"
#include "core/program/memory_report.h"
#include "tests/support/job_fixture.h"

#define VIEW ", \"gradient_as_bucket_view\": true"

static void open_job(struct fixture *f, const char *preset, const char *keys, const char *types, int world) {
  char config[768];
  snprintf(config, sizeof config,
           "{\"train_micro_batch_size_per_gpu\": 1, \"gradient_accumulation_steps\": 3, \"optimizer\": {\"type\": "
           "\"AdamW\"}%s, \"shardlab\": {\"seq_len\": 64, \"attention\": \"flash\", \"preset\": \"%s\"%s}}",
           types, preset, keys);
  if (fixture_open(f, "gpt2", config, "dgx-a100-80g", world, NULL) != SL_OK)
    fail_msg("%s: %s", config, sl_error_message());
  if (sl_check(&f->job) != SL_OK) fail_msg("%s: %s", config, sl_error_message());
}

static bool is_bucket(const struct sl_buffer *b) {
  return strncmp(b->name, "bucket.", 7) == 0;
}

/* Bytes of buckets that stand for good, and of others. */
static int64_t bucket_bytes(const struct fixture *f, bool standing) {
  const struct sl_class *c = &f->job.classes[0];
  int64_t sum = 0;
  for (size_t i = 0; i < c->buffer_count; i++)
    if (is_bucket(&c->buffers[i]) && c->buffers[i].persistent == standing) sum += c->buffers[i].bytes;
  return sum;
}

/* Elements that the step copies into buckets and out of them, and the reductions before the first copy back. */
struct copies {
  int64_t in, back;
  int sums, before_back;
};

static struct copies copies_of(const struct fixture *f) {
  const struct sl_program *p = fixture_step(f);
  const struct sl_buffer *buffers = f->job.classes[0].buffers;
  struct copies out = {0};
  for (const struct sl_op *op = p->ops; op < p->ops + p->op_count; op++) {
    const struct sl_slice *s = sl_op_slices(p, op);
    if (op->kind == SL_OP_ALL_REDUCE && op->payload == SL_PAYLOAD_GRADIENT) out.sums++;
    if (op->kind != SL_OP_COPY || op->lane != SL_LANE_COMPUTE) continue;
    if (is_bucket(&buffers[s[1].buffer])) out.in += op->dim[0];
    if (!is_bucket(&buffers[s[0].buffer])) continue;
    if (out.back == 0) out.before_back = out.sums;
    out.back += op->dim[0];
  }
  return out;
}

static void gradients_are_copied(void **state) {
  (void)state;
  static const char *const presets[] = {"ddp", "accelerate-ddp", "zero-redundancy-optimizer"};
  for (int i = 0; i < 3; i++) {
    struct fixture f;
    open_job(&f, presets[i], "", "", 4);
    const int64_t n = f.plan.pp_ranks[0].padded;
    const struct copies c = copies_of(&f);
    assert_int_equal(bucket_bytes(&f, true), 4 * n);
    assert_int_equal(bucket_bytes(&f, false), 0);
    assert_int_equal(c.in, n);
    assert_int_equal(c.back, n);
    assert_true(c.sums > 3);
    assert_int_equal(c.before_back, c.sums); /* in the last callback of the backward */
    fixture_close(&f);
  }
}

static void views_need_no_copies(void **state) {
  (void)state;
  struct fixture f;
  open_job(&f, "ddp", VIEW, "", 4);
  const struct copies c = copies_of(&f);
  assert_int_equal(bucket_bytes(&f, true) + bucket_bytes(&f, false), 0);
  assert_int_equal(c.in + c.back, 0);
  fixture_close(&f);
  open_job(&f, "ddp", "", "", 1); /* nobody to reduce with */
  assert_int_equal(bucket_bytes(&f, true), 0);
  fixture_close(&f);
}

/* Gradients that accumulate in fp32 are reduced in buckets of the communicated type. */
static void buckets_have_their_type(void **state) {
  (void)state;
  struct fixture f;
  open_job(&f, "ddp", "",
           ", \"bf16\": {\"enabled\": true}, \"data_types\": {\"grad_accum_dtype\": \"fp32\"}, "
           "\"communication_data_type\": \"bf16\"",
           4);
  const int64_t n = f.plan.pp_ranks[0].padded;
  const struct copies c = copies_of(&f);
  assert_int_equal(bucket_bytes(&f, true), 2 * n);
  assert_int_equal(bucket_bytes(&f, false), 0);
  assert_int_equal(c.in, n);
  assert_int_equal(c.back, n);
  fixture_close(&f);
}

static void twenty_bytes_a_parameter(void **state) {
  (void)state;
  for (int view = 0; view < 2; view++) {
    struct fixture f;
    open_job(&f, "ddp", view ? VIEW : "", "", 4);
    const struct sl_memory_report *r = &f.job.classes[0].memory[SL_SPACE_DEVICE];
    const int64_t n = f.plan.pp_ranks[0].padded, want = n * (view ? 16 : 20);
    const int64_t got = r->phase_peak[SL_PHASE_STEP];
    if (got < want || got > want + (1 << 20))
      fail_msg("%lld bytes in the step, expected %lld", (long long)got, (long long)want);
    fixture_close(&f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(gradients_are_copied), cmocka_unit_test(views_need_no_copies),
                                     cmocka_unit_test(buckets_have_their_type),
                                     cmocka_unit_test(twenty_bytes_a_parameter)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
