/* label: cli
 * Searches for the largest micro-batch, the fewest ranks and the longest sequence: what is found is where fitting ends.
 */
#include "tests/support/small_cluster.h"

/* What is found fits, and what lies just beyond does not. */
static void check_search(const char *flags, const char *search, const char *sets, int beyond) {
  char changed[600];
  snprintf(changed, sizeof changed, "%s --%s", flags, search);
  json_t *record = predict(changed);
  const json_t *found = json_object_get(json_object_get(record, "search"), "found");
  const long long value = (long long)json_integer_value(found);
  assert_true(fits(record) && value > 1);
  assert_null(json_object_get(json_object_get(record, "search"), "limit"));
  snprintf(changed, sizeof changed, "%s --%s %lld", flags, sets, value + beyond);
  json_t *other = predict(changed);
  if (fits(other)) fail_msg("%s: fits, and --%s found %lld", changed, search, value);
  json_decref(other);
  snprintf(changed, sizeof changed, "%s --%s %lld", flags, sets, value);
  other = predict(changed);
  assert_true(fits(other));
  assert_float_equal(json_real_value(json_object_get(other, "step_time_s")),
                     json_real_value(json_object_get(record, "step_time_s")), 1e-12);
  json_decref(other);
  json_decref(record);
}

/* Where all fit, it is said what ends the search. */
static void a_search_names_its_limit(void **state) {
  (void)state;
  write_job();
  write_cluster(100, 100, 100);
  json_t *record = predict("--model gpt2-mini --config ds.json --world 4 --micro-batch 1 --max-seq");
  const json_t *search = json_object_get(record, "search");
  assert_int_equal(json_integer_value(json_object_get(search, "found")), 256);
  assert_string_equal(json_string_value(json_object_get(search, "limit")), "the model has no more positions");
  json_decref(record);
}

static void a_search_ends_where_fitting_does(void **state) {
  (void)state;
  write_job();
  write_cluster(0.5, 100, 100);
  check_search("--model gpt2-mini --config ds.json --world 4 --seq 256", "max-micro-batch", "micro-batch", 1);
  check_search("--model gpt2-mini --config ds.json --world 4 --micro-batch 48", "max-seq", "seq", 4);
  write_cluster(0.092, 100, 100);
  check_search("--model gpt2-mini --config ds.json --seq 64 --micro-batch 1 --zero-stage 3", "min-world", "world", -1);
}

/* What an allocator reserves does not grow with the micro-batch: 4 is said not to fit, 5 and 6 are. */
static void a_search_looks_behind_what_does_not_fit(void **state) {
  (void)state;
  write_job();
  json_t *record =
      predict("--model gpt2-xl --config ds.json --dtype bf16 --cluster dgx-a100-40g --zero-stage 3 --kernels "
              "torch-compile --world 1 --seq 1024 --max-micro-batch");
  const json_t *search = json_object_get(record, "search"), *probe;
  int64_t found = json_integer_value(json_object_get(search, "found")), fails = 0;
  size_t i;
  json_array_foreach(json_object_get(search, "probes"), i, probe) {
    const int64_t value = json_integer_value(json_object_get(probe, "value"));
    if (!json_is_true(json_object_get(probe, "fits")) && (fails == 0 || value < fails)) fails = value;
  }
  assert_true(fails > 0 && fails < found);
  json_decref(record);
}

/* Only worlds and lengths that make a plan are looked at: groups that shard are whole, and so are the chunks of a cp
 * group. */
static void a_search_looks_at_what_makes_a_plan(void **state) {
  (void)state;
  static const struct {
    const char *flags;
    long long found;
  } cases[] = {{"--micro-batch 1 --seq 64 --zero-stage 3 --shard-size 3 --min-world", 3},
               {"--micro-batch 1 --seq 64 --zero-stage 3 --cp 2 --shard-size 6 --min-world", 12},
               {"--micro-batch 1 --seq 64 --zero-stage 3 --shard-size 3 --train-batch 12 --min-world", 3},
               {"--micro-batch 1 --world 3 --cp 3 --max-seq", 252},
               {"--micro-batch 1 --world 16 --cp 16 --max-seq", 256}};
  write_job();
  write_cluster(100, 100, 100);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char flags[256];
    snprintf(flags, sizeof flags, "--model gpt2-mini --config ds.json %s", cases[i].flags);
    json_t *record = predict(flags);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(record, "search"), "found")), cases[i].found);
    json_decref(record);
  }
}

/* Of nodes of four GPUs a part of one, or all of some: five would fit behind four, which do not. */
static void a_search_finds_whole_nodes(void **state) {
  (void)state;
  static const char job[] = "--model gpt2-mini --config ds.json --seq 64 --micro-batch 1 --zero-stage 3";
  static const double memory[] = {0.092, 0.085, 0.08, 0.075, 0.07};
  static const long long worlds[] = {1, 2, 3, 4, 8, 12};
  int many = 0, parts = 0;
  char flags[256];
  write_job();
  for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) {
    size_t first = 0;
    write_cluster(memory[i], 100, 100);
    for (bool all = false; !all; first += !all) {
      assert_true(first < sizeof worlds / sizeof *worlds);
      snprintf(flags, sizeof flags, "%s --world %lld", job, worlds[first]);
      json_t *record = predict(flags);
      all = fits(record);
      json_decref(record);
    }
    snprintf(flags, sizeof flags, "%s --min-world", job);
    json_t *record = predict(flags);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(record, "search"), "found")), worlds[first]);
    json_decref(record);
    many += worlds[first] > 4, parts += worlds[first] % 4 != 0;
  }
  assert_true(many > 0 && parts > 0);
  write_cluster(0.075, 100, 100);
  snprintf(flags, sizeof flags, "%s --train-batch 5 --min-world", job);
  assert_int_equal(shardlab(scratch, "predict --cluster cluster.json %s", flags), 1);
  assert_non_null(strstr(err, "--min-world: nothing fits: 1 needs "));
}

/* Though every value that is looked at reads the configuration again. */
static void a_search_warns_once(void **state) {
  (void)state;
  static const char warning[] = "--cp-comm-type: has no effect";
  write_job();
  write_cluster(100, 100, 100);
  assert_int_equal(shardlab(scratch, "predict --cluster cluster.json --model gpt2-mini --config ds.json --world 4 "
                                     "--micro-batch 1 --cp-comm-type a2a --max-seq"),
                   0);
  const char *first = strstr(err, warning);
  assert_non_null(first);
  assert_null(strstr(first + 1, warning));
}

/* With a batch that is given, only what divides it: 48 sequences of 4 ranks are 12 a rank. */
static void a_search_keeps_the_batch(void **state) {
  (void)state;
  write_file("ds.json", "{\"train_batch_size\": 48, \"train_micro_batch_size_per_gpu\": 1, "
                        "\"optimizer\": {\"type\": \"AdamW\"}}");
  write_cluster(0.5, 100, 100);
  json_t *record = predict("--model gpt2-mini --config ds.json --world 4 --seq 256 --max-micro-batch");
  const json_t *plan = json_object_get(record, "plan"), *probe;
  size_t i;
  assert_int_equal(json_integer_value(json_object_get(plan, "global_batch")), 48);
  json_array_foreach(json_object_get(json_object_get(record, "search"), "probes"), i, probe)
      assert_int_equal(12 % json_integer_value(json_object_get(probe, "value")), 0);
  json_decref(record);
}

/* A step may not have as many micro-batches as the smallest of them would make of such a batch. */
static void a_search_begins_where_there_is_a_plan(void **state) {
  (void)state;
  write_file("ds.json", "{\"train_batch_size\": 2097152, \"train_micro_batch_size_per_gpu\": 64, "
                        "\"optimizer\": {\"type\": \"AdamW\"}}");
  write_cluster(0.5, 100, 100);
  json_t *record = predict("--model gpt2-mini --config ds.json --seq 64 --max-micro-batch");
  assert_true(fits(record));
  assert_true(json_integer_value(json_object_get(json_object_get(record, "search"), "found")) >= 32);
  assert_int_equal(json_integer_value(json_object_get(json_object_get(record, "plan"), "global_batch")), 2097152);
  json_decref(record);
  write_cluster(0.001, 100, 100);
  assert_int_equal(shardlab(scratch, "predict --model gpt2-mini --config ds.json --cluster cluster.json --seq 64 "
                                     "--max-micro-batch"),
                   1);
  assert_non_null(strstr(err, "nothing fits: 32 needs "));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_search_ends_where_fitting_does),
      cmocka_unit_test(a_search_looks_behind_what_does_not_fit),
      cmocka_unit_test(a_search_names_its_limit),
      cmocka_unit_test(a_search_keeps_the_batch),
      cmocka_unit_test(a_search_begins_where_there_is_a_plan),
      cmocka_unit_test(a_search_looks_at_what_makes_a_plan),
      cmocka_unit_test(a_search_finds_whole_nodes),
      cmocka_unit_test(a_search_warns_once),
  };
  return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
