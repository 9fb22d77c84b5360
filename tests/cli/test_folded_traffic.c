/* label: cli
 * A prediction that folds ranks which are alike says the same of every rank's traffic as one that simulates all, as a
 * summary and in full, and as a measurement. */
#include <jansson.h>

#include "tests/support/cli_run.h"

static json_t *load(const char *name) {
  char path[600];
  json_error_t error;
  snprintf(path, sizeof path, "%s/%s", scratch, name);
  json_t *root = json_load_file(path, 0, &error);
  if (root == NULL) fail_msg("%s: %s", name, error.text);
  unlink(path);
  return root;
}

static void drop_times(json_t *rows) {
  json_t *row;
  size_t i;
  json_array_foreach(rows, i, row) {
    json_object_del(row, "time_s"); /* may differ in the last bit */
    json_object_del(row, "busbw_GBps");
  }
}

static void same_traffic(json_t *a, json_t *b, const char *what, int world) {
  drop_times(a), drop_times(b);
  if (!json_equal(a, b)) fail_msg("world %d: traffic of %s differs: %s", world, what, json_dumps(a, JSON_COMPACT));
}

static void predict(const char *name, int stage, int world, const char *flags) {
  const int code = shardlab(scratch,
                            "predict --model gpt2-tiny --config %s/examples/ds_zero2.json --zero-stage %d --world %d "
                            "--seq 32 --train-batch %d --cluster dgx-a100-80g --quiet --json %s %s",
                            SL_SOURCE_DIR, stage, world, 2 * world, name, flags);
  if (code != 0) fail_msg("world %d: %s", world, err);
}

static void compare_all(int stage, int world) {
  predict("folded", stage, world, "--per-rank");
  predict("whole", stage, world, "--per-rank --no-fold");
  predict("summary", stage, world, "");
  json_t *folded = load("folded"), *whole = load("whole"), *summary = load("summary"), *rank;
  const json_t *others = json_object_get(whole, "ranks");
  size_t i;
  same_traffic(json_object_get(folded, "traffic"), json_object_get(whole, "traffic"), "folded ranks", world);
  same_traffic(json_object_get(summary, "traffic"), json_object_get(whole, "traffic"), "a summary", world);
  json_array_foreach(json_object_get(folded, "ranks"), i, rank) {
    const json_t *other = json_array_get(others, i);
    if (!json_equal(json_object_get(rank, "wire_bytes"), json_object_get(other, "wire_bytes")))
      fail_msg("world %d: rank %zu", world, i);
  }
  json_decref(folded), json_decref(whole), json_decref(summary);
}

static void folded_ranks_have_traffic_of_their_own(void **state) {
  (void)state;
  for (int world = 2; world <= 9; world++)
    for (int stage = 0; stage <= 3; stage++) compare_all(stage, world);
  compare_all(1, 300); /* a summary of which most ranks are left out */
}

static void measured_worlds_agree(void **state) {
  (void)state;
  static const char job[] = "--model gpt2-tiny --config " SL_SOURCE_DIR "/examples/ds_zero2.json --seq 32 --quiet";
  for (int world = 3; world <= 5; world += 2) {
    assert_int_equal(shardlab(scratch, "predict %s --world %d --train-batch %d --json p", job, world, 2 * world), 0);
    assert_int_equal(shardlab(scratch, "measure %s --world %d --train-batch %d --steps 1 --json m --data %s", job,
                              world, 2 * world, SL_SOURCE_DIR "/examples/corpus.txt"),
                     0);
    if (shardlab(scratch, "compare p m") != 0) fail_msg("world %d: %s", world, err);
    json_decref(load("p")), json_decref(load("m"));
  }
}

static int64_t of_traffic(const json_t *record, const char *op, const char *key) {
  json_t *row;
  size_t i;
  json_array_foreach(json_object_get(record, "traffic"), i, row) {
    if (strcmp(json_string_value(json_object_get(row, "op")), op) == 0)
      return (int64_t)json_integer_value(json_object_get(row, key));
  }
  fail_msg("no %s", op);
  return 0;
}

/* Both ends of a pipeline receive one message a micro-batch, those between them two. */
static void what_is_received_is_that_of_the_rank_that_receives_most(void **state) {
  (void)state;
  for (int fold = 0; fold <= 1; fold++) {
    predict("pipeline", 0, 4,
            fold ? "--pp 4 --micro-batch 1 --grad-accum 8" : "--pp 4 --micro-batch 1 --grad-accum 8 --no-fold");
    json_t *record = load("pipeline");
    assert_int_equal(of_traffic(record, "send", "calls"), 16);
    assert_int_equal(of_traffic(record, "recv", "calls"), 16);
    assert_int_equal(of_traffic(record, "recv", "bytes"), of_traffic(record, "send", "bytes"));
    json_decref(record);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(folded_ranks_have_traffic_of_their_own),
                                     cmocka_unit_test(what_is_received_is_that_of_the_rank_that_receives_most),
                                     cmocka_unit_test(measured_worlds_agree)};
  return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
