/* label: unit
 * How tensor parallelism shards a weight of q, k and v in one: each member has its own query heads and the key heads
 * that these read, each element is in one place, and both directions of the cut agree. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/plan/cut.h"
#include "tests/support/job_fixture.h"

#include <stdlib.h>

enum { HEADS = 12, KEY_HEADS = 4, HEAD = 2, WIDTH = 24, ROWS = (HEADS + 2 * KEY_HEADS) * HEAD };
#define PHI3                                                                                                           \
  "{\"model_type\": \"phi3\", \"hidden_size\": 24, \"num_attention_heads\": 12, \"num_key_value_heads\": 4, "          \
  "\"num_hidden_layers\": 1, \"intermediate_size\": 8, \"vocab_size\": 8, \"max_position_embeddings\": 8}"

static void open_job(struct fixture *f, int tp) {
  char config[256];
  snprintf(config, sizeof config,
           "{\"train_micro_batch_size_per_gpu\": 1, \"optimizer\": {\"type\": \"AdamW\"}, "
           "\"shardlab\": {\"tp\": %d, \"seq_len\": 5}}",
           tp);
  if (fixture_open(f, PHI3, config, "localhost", tp, NULL) != SL_OK) fail_msg("%s", sl_error_message());
}

/* The member whose head row `row` of the weight belongs to. */
static int owner(int row, int tp) {
  const int head = row / HEAD;
  if (head < HEADS) return head / (HEADS / tp);
  return (head - HEADS) % KEY_HEADS / (KEY_HEADS / tp);
}

static void a_member_is_one_of(const struct sl_tensor *t, const struct sl_cut *cut, int member, int tp, int *places) {
  const int64_t local = t->numel / tp;
  int64_t before = -1;
  for (int64_t at = 0; at < local;) {
    const struct sl_run_of run = sl_cut_run(cut, member, at, local);
    assert_true(run.local == at && run.count > 0 && run.logical > before);
    assert_int_equal(sl_cut_held(cut, member, at), at);
    for (int64_t k = 0; k < run.count; k++) {
      const struct sl_cut_place place = sl_cut_find(cut, run.logical + k);
      assert_true(place.member == member && place.local == at + k);
      assert_int_equal(place.count, run.count - k);
      assert_int_equal(owner((int)((run.logical + k) / WIDTH), tp), member);
      places[run.logical + k]++;
    }
    before = run.logical;
    at += run.count;
  }
}

static void every_head_is_where_it_is_read(void **state) {
  (void)state;
  for (int tp = 1; tp <= KEY_HEADS; tp *= 2) {
    struct fixture f;
    int places[ROWS * WIDTH] = {0};
    open_job(&f, tp);
    const struct sl_tensor *t = &f.model.tensors[sl_model_part(&f.model, SL_PART_QKV, 0)];
    const struct sl_cut cut = sl_cut_of(&f.plan, t);
    assert_int_equal(t->numel, ROWS * WIDTH);
    assert_int_equal(sl_cut_local_size(&f.plan, t, 0) * tp, ROWS);
    for (int member = 0; member < tp; member++) a_member_is_one_of(t, &cut, member, tp, places);
    for (int i = 0; i < ROWS * WIDTH; i++) assert_int_equal(places[i], 1);
    fixture_close(&f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_head_is_where_it_is_read)};
  return cmocka_run_group_tests_name("cut", tests, NULL, NULL);
}
