/* label: cli
 * What a command says of its configuration holds: warnings come once, rows of traffic can be told apart, and the record has no
 * key that its preset does not read. */
#include "tests/support/cli_run.h"

#include <jansson.h>

static void write_config(const char *text) {
  char path[600];
  snprintf(path, sizeof path, "%s/ds.json", scratch);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs(text, file);
  assert_int_equal(fclose(file), 0);
}

/* validate reads the configuration three times, once of them in a process of its own. */
static void each_warning_once(void **state) {
  (void)state;
  write_config("{\"train_micro_batch_size_per_gpu\": 1, \"wall_clock_breakdown\": true, \"no_such\": 1}");
  for (int world = 1; world <= 2; world++) {
    const int status = shardlab(scratch,
                                "validate --model gpt2-tiny --config ds.json --seq 16 --steps 2 --world %d --data "
                                "%s/examples/corpus.txt",
                                world, SL_SOURCE_DIR);
    assert_true(status == 0 || status == 1); /* a time out of tolerance is not the matter here */
    assert_int_equal(lines_with(err, "no_such: unknown key"), 1);
    assert_int_equal(lines_with(err, "no optimizer is given"), 1);
    assert_int_equal(lines_with(err, "wall_clock_breakdown"), 1);
  }
}

/* Sequence parallelism under bf16 reduces fp32 statistics and 16-bit gradients in one group. */
static void rows_of_traffic_differ(void **state) {
  (void)state;
  char *line[64], *rest = out;
  int lines = 0;
  write_config("{\"train_micro_batch_size_per_gpu\": 1, \"bf16\": {\"enabled\": true}, \"shardlab\": {\"tp\": 2, "
               "\"sequence_parallel\": true}}");
  assert_int_equal(shardlab(scratch, "predict --model gpt2-tiny --config ds.json --world 4"), 0);
  for (char *at; (at = strsep(&rest, "\n")) != NULL;)
    if (strstr(at, "  traffic ") == at && lines < 64) line[lines++] = at;
  assert_true(lines > 4);
  for (int i = 0; i < lines; i++)
    for (int k = 0; k < i; k++) {
      const size_t a = strcspn(line[i], ":"), b = strcspn(line[k], ":");
      if (a == b && strncmp(line[i], line[k], a) == 0) fail_msg("twice: %s", line[i]);
    }
}

/* Which keys the record's configuration has under a preset. */
static void keys_of(const char *preset, const char *extra, bool *stage, bool *reuse, bool *limit) {
  char text[256];
  snprintf(text, sizeof text, "{\"train_micro_batch_size_per_gpu\": 1, \"shardlab\": {\"preset\": \"%s\"%s}}", preset,
           extra);
  write_config(text);
  assert_int_equal(shardlab(scratch, "predict --model gpt2-tiny --config ds.json --world 4 --json -"), 0);
  json_t *record = json_loads(out, 0, NULL);
  assert_non_null(record);
  const json_t *config = json_object_get(record, "config"), *zero = json_object_get(config, "zero_optimization");
  *stage = json_object_get(zero, "stage") != NULL;
  *reuse = json_object_get(zero, "stage3_max_reuse_distance") != NULL;
  *limit = json_object_get(json_object_get(config, "shardlab"), "limit_all_gathers") != NULL;
  assert_non_null(json_object_get(zero, "overlap_comm"));
  json_decref(record);
}

static void the_record_has_what_was_read(void **state) {
  (void)state;
  bool stage, reuse, limit;
  keys_of("fsdp", "", &stage, &reuse, &limit);
  assert_true(!stage && !reuse && limit);
  keys_of("ddp", "", &stage, &reuse, &limit);
  assert_true(!stage && !reuse && !limit);
  keys_of("deepspeed-0", "", &stage, &reuse, &limit);
  assert_true(stage && reuse && !limit);
  keys_of("ddp", ", \"limit_all_gathers\": false", &stage, &reuse, &limit);
  if (strstr(err, "shardlab.limit_all_gathers: is false, which has no effect: preset ddp") == NULL) fail_msg("%s", err);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_warning_once),
      cmocka_unit_test(rows_of_traffic_differ),
      cmocka_unit_test(the_record_has_what_was_read),
  };
  return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
