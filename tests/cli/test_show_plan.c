/* label: cli
 * What `show plan`, `show memory`, `predict` and its trace say of a plan in three dimensions, from outside: the rank
 * map, the keys of --json, the rank that needs most, one track a rank and lane. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>
#include <sys/wait.h>
#include <unistd.h>

static char out[1 << 20], folder[] = "test_show_plan_XXXXXX";

/* gpt2 in stages of 5, 3, 3 and 1 layers, two of them on each of two pipeline ranks. */
#define JOB                                                                                                            \
  "--model gpt2 --seq 64 --config config.json --cluster dgx-a100-80g --world 8 --tp 2 --pp 2 --virtual-stages 2 "      \
  "--schedule interleaved --stages 5,3,3,1 --recompute selective,none --sequence-parallel --zero-stage 1 "

static int shardlab(const char *arguments) {
  char command[2048];
  snprintf(command, sizeof command, "cd '%s' && '%s/bin/shardlab' %s 2>&1 </dev/null", folder, SL_BINARY_DIR,
           arguments);
  FILE *pipe = popen(command, "r");
  assert_non_null(pipe);
  out[fread(out, 1, sizeof out - 1, pipe)] = '\0';
  const int state = pclose(pipe);
  assert_true(WIFEXITED(state));
  return WEXITSTATUS(state);
}

static json_t *json_of(const char *arguments) {
  if (shardlab(arguments) != 0) fail_msg("%s", out);
  json_error_t error;
  json_t *root = json_loads(out, 0, &error);
  if (root == NULL) fail_msg("%s: %s", error.text, out);
  return root;
}

static int64_t integer(const json_t *object, const char *key) {
  const json_t *value = json_object_get(object, key);
  if (!json_is_integer(value)) fail_msg("no integer %s", key);
  return json_integer_value(value);
}

static void assert_says(const char *text) {
  if (strstr(out, text) == NULL) fail_msg("\"%s\" is not in:\n%s", text, out);
}

static void the_map_shows_who_stands_where(void **state) {
  (void)state;
  assert_int_equal(shardlab("show plan " JOB), 0);
  assert_says("8 ranks = 2 pp x 2 dp x 1 cp x 2 tp");
  assert_says("  pp 0   [0..1]       [2..3]       layers 0..4, 8..10\n");
  assert_says("  pp 1   [4..5]       [6..7]       layers 5..7, 11..11\n");
}

static void the_plan_as_json(void **state) {
  (void)state;
  static const int layers[2][2][2] = {{{0, 5}, {8, 3}}, {{5, 3}, {11, 1}}}; /* first, count */
  json_t *plan = json_of("show plan --json - " JOB);
  assert_int_equal(json_array_size(json_object_get(plan, "ranks")), 8);
  for (int rank = 0; rank < 8; rank++) {
    const json_t *r = json_array_get(json_object_get(plan, "ranks"), (size_t)rank);
    assert_int_equal(integer(r, "rank"), rank);
    assert_int_equal(integer(r, "tp"), rank % 2);
    assert_int_equal(integer(r, "dp"), rank / 2 % 2);
    assert_int_equal(integer(r, "pp"), rank / 4);
    const json_t *dp = json_object_get(json_object_get(r, "groups"), "dp");
    assert_int_equal(integer(dp, "first"), rank / 4 * 4 + rank % 2);
    assert_int_equal(integer(dp, "stride"), 2);
    assert_int_equal(integer(dp, "size"), 2);
    assert_int_equal(integer(json_object_get(json_object_get(r, "groups"), "model"), "size"), 4);
  }
  for (int pp = 0; pp < 2; pp++) {
    const json_t *p = json_array_get(json_object_get(plan, "pipeline"), (size_t)pp);
    assert_int_equal(integer(p, "pipeline_rank"), pp);
    for (int i = 0; i < 2; i++) {
      const json_t *stage = json_array_get(json_object_get(p, "stages"), (size_t)i);
      assert_int_equal(integer(stage, "stage"), 2 * i + pp);
      assert_int_equal(integer(stage, "first_layer"), layers[pp][i][0]);
      assert_int_equal(integer(stage, "layer_count"), layers[pp][i][1]);
      assert_int_equal(json_is_true(json_object_get(stage, "embedding")), pp == 0 && i == 0);
      assert_int_equal(json_is_true(json_object_get(stage, "head")), pp == 1 && i == 1);
    }
  }
  json_decref(plan);
}

static void memory_is_that_of_the_rank_that_needs_most(void **state) {
  (void)state;
  json_t *first = json_of("show memory --rank 0 --json - " JOB), *last = json_of("show memory --rank 7 --json - " JOB),
         *worst = json_of("show memory --json - " JOB);
  const int64_t peak = integer(first, "peak_bytes"), other = integer(last, "peak_bytes");
  assert_true(peak != other);
  assert_int_equal(integer(worst, "peak_bytes"), peak > other ? peak : other);
  assert_int_equal(integer(worst, "rank"), peak > other ? 0 : 4);
  /* every point of the curve is the sum of its categories, and none is above the arena */
  const json_t *sample;
  size_t i;
  json_array_foreach(json_object_get(worst, "curve"), i, sample) {
    json_t *bytes;
    const char *key;
    int64_t sum = 0;
    json_object_foreach(json_object_get(sample, "by_category"), key, bytes) sum += json_integer_value(bytes);
    assert_int_equal(sum, integer(sample, "live_bytes"));
    assert_true(sum <= integer(worst, "peak_bytes"));
  }
  assert_true(i > 100);
  json_decref(first);
  json_decref(last);
  json_decref(worst);
  assert_int_equal(shardlab("show memory --rank 8 " JOB), 2);
  assert_says("--rank: is 8; expected 0 to 7");
}

static void a_record_says_what_the_plan_was(void **state) {
  (void)state;
  json_t *record = json_of("predict --quiet --json - " JOB);
  const json_t *plan = json_object_get(record, "plan"), *stages = json_object_get(plan, "stages");
  const int layers[] = {5, 3, 3, 1};
  assert_int_equal(integer(plan, "tp"), 2);
  assert_int_equal(integer(plan, "pp"), 2);
  assert_int_equal(integer(plan, "virtual_stages"), 2);
  assert_int_equal(integer(plan, "shard_size"), 2);
  assert_int_equal(json_array_size(stages), 4);
  for (size_t i = 0; i < 4; i++) assert_int_equal(json_integer_value(json_array_get(stages, i)), layers[i]);
  assert_true(json_is_true(json_object_get(plan, "sequence_parallel")));
  assert_string_equal(json_string_value(json_object_get(plan, "schedule")), "interleaved");
  const json_t *recompute = json_object_get(plan, "recompute");
  assert_string_equal(json_string_value(json_array_get(recompute, 0)), "selective");
  assert_string_equal(json_string_value(json_array_get(recompute, 1)), "none");
  const json_t *split = json_object_get(record, "breakdown_s"), *exposed = json_object_get(split, "exposed");
  assert_true(json_real_value(json_object_get(split, "bubble")) > 0);
  assert_true(json_real_value(json_object_get(exposed, "tp")) > 0);
  assert_true(json_real_value(json_object_get(exposed, "pipeline")) > 0);
  for (size_t i = 0; i < 8; i++) {
    const json_t *rank = json_array_get(json_object_get(record, "ranks"), i);
    const double compute = json_real_value(json_object_get(rank, "compute_s"));
    const double bubble = json_real_value(json_object_get(rank, "bubble_s"));
    assert_true(compute > 0 && bubble > 0);
    assert_true(compute + bubble <= json_real_value(json_object_get(split, "step")) * (1 + 1e-9));
  }
  json_decref(record);
}

/* With every rank simulated: a named process for each, a named lane for each track that has a slice. */
static void a_trace_has_a_track_for_each_rank_and_lane(void **state) {
  (void)state;
  char path[256];
  bool process[8] = {false}, lane[8][32] = {{false}};
  assert_int_equal(shardlab("predict --quiet --no-fold --trace t.json " JOB), 0);
  snprintf(path, sizeof path, "%s/t.json", folder);
  json_t *trace = json_load_file(path, 0, NULL), *event;
  size_t i, slices = 0;
  assert_non_null(trace);
  json_array_foreach(json_object_get(trace, "traceEvents"), i, event) {
    const char *name = json_string_value(json_object_get(event, "name"));
    const int64_t pid = integer(event, "pid");
    const char *label = json_string_value(json_object_get(json_object_get(event, "args"), "name"));
    if (strcmp(name, "process_name") == 0) {
      char want[64];
      assert_in_range(pid, 0, 7);
      snprintf(want, sizeof want, "predicted rank %d (pp %d, dp %d, cp 0, tp %d)", (int)pid, (int)pid / 4,
               (int)pid / 2 % 2, (int)pid % 2);
      assert_string_equal(label, want);
      assert_false(process[pid]);
      process[pid] = true;
    } else if (strcmp(name, "thread_name") == 0) {
      assert_false(lane[pid][integer(event, "tid")]);
      lane[pid][integer(event, "tid")] = true;
    } else if (json_object_get(event, "dur") != NULL) {
      assert_true(process[pid] && lane[pid][integer(event, "tid")]);
      slices++;
    }
  }
  for (int rank = 0; rank < 8; rank++) assert_true(process[rank]);
  assert_true(slices > 1000);
  json_decref(trace);
  unlink(path);
}

static int set_up(void **state) {
  char path[256];
  (void)state;
  if (mkdtemp(folder) == NULL) return -1;
  snprintf(path, sizeof path, "%s/config.json", folder);
  FILE *file = fopen(path, "w");
  if (file == NULL) return -1;
  fputs("{\"train_micro_batch_size_per_gpu\": 1, \"gradient_accumulation_steps\": 4,"
        " \"optimizer\": {\"type\": \"AdamW\", \"params\": {\"lr\": 1e-3}}}\n",
        file);
  return fclose(file);
}

static int tear_down(void **state) {
  char path[256];
  (void)state;
  snprintf(path, sizeof path, "%s/config.json", folder);
  unlink(path);
  return rmdir(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_map_shows_who_stands_where),
      cmocka_unit_test(the_plan_as_json),
      cmocka_unit_test(memory_is_that_of_the_rank_that_needs_most),
      cmocka_unit_test(a_record_says_what_the_plan_was),
      cmocka_unit_test(a_trace_has_a_track_for_each_rank_and_lane),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
