/* label: unit
 * DeepSpeed's ZeRO-2 with its optimizer in host memory: how often gradients cross the link to it in a step of several
 * micro-batches, in which type, and what they take of both memories. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/check/rendezvous.h"
#include "tests/support/job_fixture.h"

static void open_job(struct fixture *f, int world, int micro, bool overlap, const char *kernels) {
  char config[640];
  snprintf(
      config, sizeof config,
      "{\"train_micro_batch_size_per_gpu\": 1, \"gradient_accumulation_steps\": %d, \"bf16\": {\"enabled\": true}, "
      "\"optimizer\": {\"type\": \"AdamW\"}, \"zero_optimization\": {\"stage\": 2, \"reduce_bucket_size\": 3000, "
      "\"overlap_comm\": %s, \"offload_optimizer\": {\"device\": \"cpu\"}}, \"shardlab\": {\"seq_len\": 8, "
      "\"attention\": \"materialised\", \"kernels\": \"%s\"}}",
      micro, overlap ? "true" : "false", kernels);
  if (fixture_open(f, SL_SOURCE_DIR "/tests/mpi/grid_llama.json", config, "dgx-a100-80g", world, NULL) != SL_OK)
    fail_msg("%s: %s", config, sl_error_message());
  if (sl_check(&f->job) != SL_OK) fail_msg("%s: %s", config, sl_error_message());
}

/* Elements that a step copies, by where they go. */
struct crossed {
  int64_t to_sum, from_sum, to_optimizer, added;
  bool blocks; /* compute waits for some of them */
};

static struct crossed look(const struct fixture *f) {
  struct crossed s = {0};
  const struct sl_class *c = &f->job.classes[0];
  const struct sl_program *p = &c->programs[SL_PROGRAM_STEP];
  for (size_t i = 0; i < p->instance_count; i++) {
    const struct sl_instance *it = &p->instances[i];
    for (const struct sl_op *op = &p->ops[it->first_op]; op < &p->ops[it->first_op + it->op_count]; op++) {
      if (op->kind != SL_OP_COPY && op->kind != SL_OP_ADD) continue;
      const struct sl_slice *at = sl_op_slices(p, op);
      const char *from = c->buffers[at[0].buffer].name, *to = c->buffers[at[1].buffer].name;
      const bool optimizer = at[1].buffer == c->role[SL_ROLE_GRAD].buffer;
      if (strcmp(to, "grad.summed") == 0) s.to_sum += op->dim[0];
      if (strcmp(from, "grad.summed") == 0) s.from_sum += op->dim[0];
      if (strcmp(from, "grad.restored") == 0 && op->kind == SL_OP_ADD) s.added += op->dim[0];
      if (optimizer) s.to_optimizer += op->dim[0];
      if ((optimizer || strcmp(to, "grad.summed") == 0) && op->flags & SL_OP_BLOCKING) s.blocks = true;
    }
  }
  return s;
}

static int64_t bytes_of(const struct fixture *f, const char *name, enum sl_space space) {
  const struct sl_class *c = &f->job.classes[0];
  for (size_t i = 0; i < c->buffer_count; i++)
    if (strcmp(c->buffers[i].name, name) == 0 && c->buffers[i].space == space) return c->buffers[i].bytes;
  return 0;
}

static void sums_come_and_go(void **state) {
  (void)state;
  for (int world = 1; world <= 3; world += 2) {
    for (int micro = 1; micro <= 4; micro++) {
      struct fixture f;
      open_job(&f, world, micro, micro == 3, "torch-eager");
      const struct crossed s = look(&f);
      const int64_t own = f.plan.pp_ranks[0].shard_numel, sums = micro > 1 ? own : 0;
      assert_int_equal(s.to_sum, micro * sums);
      assert_int_equal(s.from_sum, (micro - 1) * sums);
      assert_int_equal(s.added, (micro - 1) * sums);
      assert_int_equal(s.to_optimizer, own);
      assert_int_equal(s.blocks, micro > 1 && micro != 3);
      assert_int_equal(bytes_of(&f, "grad.summed", SL_SPACE_HOST), 2 * sums);
      int64_t most = 0;
      for (int i = 0; i < f.plan.pp_ranks[0].tensor_count; i++)
        if (f.plan.pp_ranks[0].tensors[i].numel > most) most = f.plan.pp_ranks[0].tensors[i].numel;
      assert_int_equal(bytes_of(&f, "grad.restored", SL_SPACE_DEVICE), 2 * most);
      assert_int_equal(bytes_of(&f, "grad.temporary", SL_SPACE_HOST), 2 * most);
      fixture_close(&f);
    }
  }
}

/* Our own backend adds in host memory. */
static void ours_are_added_there(void **state) {
  (void)state;
  struct fixture f;
  open_job(&f, 3, 4, false, "shardlab");
  const struct crossed s = look(&f);
  assert_int_equal(s.to_sum, 0);
  assert_int_equal(s.to_optimizer, 4 * f.plan.pp_ranks[0].shard_numel);
  assert_int_equal(bytes_of(&f, "grad.restored", SL_SPACE_DEVICE), 0);
  fixture_close(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(sums_come_and_go), cmocka_unit_test(ours_are_added_there)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
