/* label: cli
 * `shardlab show schedule` from outside: the grid, the CSV, the SVG and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sys/wait.h>
#include <unistd.h>

static char out[1 << 18], folder[] = "test_show_schedule_XXXXXX";

/* Run `shardlab show schedule arguments`; its exit status, with what it printed to either stream in out. */
static int show(const char *format, ...) {
  char arguments[1024], command[2048];
  va_list args;
  va_start(args, format);
  vsnprintf(arguments, sizeof arguments, format, args);
  va_end(args);
  snprintf(command, sizeof command, "'%s/bin/shardlab' show schedule %s 2>&1 </dev/null", SL_BINARY_DIR, arguments);
  FILE *pipe = popen(command, "r");
  assert_non_null(pipe);
  out[fread(out, 1, sizeof out - 1, pipe)] = '\0';
  const int state = pclose(pipe);
  assert_true(WIFEXITED(state));
  return WEXITSTATUS(state);
}

static void assert_says(const char *text) {
  if (strstr(out, text) == NULL) fail_msg("\"%s\" is not in:\n%s", text, out);
}

static void slurp(const char *path, char *text, size_t size) {
  FILE *file = fopen(path, "r");
  if (file == NULL) fail_msg("%s: cannot be read", path);
  text[fread(text, 1, size - 1, file)] = '\0';
  fclose(file);
}

static void the_grid_shows_ticks_and_bubbles(void **state) {
  (void)state;
  assert_int_equal(show("--pp 3 --grad-accum 2 --schedule gpipe"), 0);
  assert_string_equal(out, "gpipe: 3 ranks, 3 stages, 2 micro-batches\n\n"
                           "rank   0  F0 F1 .  .  .  .  .  .  B0--- B1---\n"
                           "rank   1  .  F0 F1 .  .  .  B0--- B1--- .  . \n"
                           "rank   2  .  .  F0 F1 B0--- B1--- .  .  .  . \n\n"
                           "12 ticks (F 1, B 2, I 1, W 1), bubble 50.00%; activations of at most 2 2 2 micro-batches "
                           "held by rank\n");
  assert_int_equal(show("--pp 2 --grad-accum 11 --schedule zbv"), 0);
  assert_says("rank   1  .    F0a  F0b  F1a  F1b  I0b  W0b  ");
  assert_says("zbv: 2 ranks, 4 stages, 11 micro-batches");
  assert_says("67 ticks"); /* 6 m + p - 1 */
  assert_null(strchr(out, '\033'));
}

/* As of a job: a config, a preset or neither. */
static void several_stages_a_rank_are_interleaved(void **state) {
  (void)state;
  static const char *const flags[] = {"", "--preset megatron-lm", "--schedule interleaved"};
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
    assert_int_equal(show("--pp 4 --grad-accum 8 --virtual-stages 2 %s", flags[i]), 0);
    assert_says("interleaved: 4 ranks, 8 stages, 8 micro-batches\n");
  }
  assert_int_equal(show("--pp 4 --grad-accum 8 --virtual-stages 1"), 0);
  assert_says("1f1b: 4 ranks, 4 stages, 8 micro-batches\n");
  assert_int_equal(show("--pp 4 --grad-accum 8 --virtual-stages 2 --schedule 1f1b"), 2);
  assert_says("--virtual-stages: is 2; expected 1, as schedule 1f1b deals to a rank");
}

static void the_csv_is_that_of_pytorch(void **state) {
  (void)state;
  static char want[1 << 16];
  slurp(SL_SOURCE_DIR "/tests/golden/schedules/interleaved_p3_v3_m9_lowered.csv", want, sizeof want);
  assert_int_equal(
      show("--pp 3 --grad-accum 9 --virtual-stages 3 --schedule interleaved --csv --lowered --zero-stage 3"), 0);
  assert_string_equal(out, want);
  assert_int_equal(show("--pp 3 --grad-accum 9 --virtual-stages 3 --schedule interleaved --csv --lowered"), 0);
  assert_null(strstr(out, "SHARD"));
  assert_says("REDUCE_GRAD");
  assert_int_equal(show("--schedule %s/tests/golden/schedules/zbv_p4_v2_m3.csv --csv", SL_SOURCE_DIR), 0);
  slurp(SL_SOURCE_DIR "/tests/golden/schedules/zbv_p4_v2_m3.csv", want, sizeof want);
  assert_string_equal(out, want);
}

static int count(const char *text, const char *word) {
  int n = 0;
  for (const char *at = text; (at = strstr(at, word)) != NULL; at++) n++;
  return n;
}

static void the_svg_has_a_bar_for_each_action(void **state) {
  (void)state;
  static char svg[1 << 18];
  char path[256];
  snprintf(path, sizeof path, "%s/drawn.svg", folder);
  assert_int_equal(show("--pp 3 --grad-accum 7 --schedule interleaved-zb --virtual-stages 2 --svg %s", path), 2);
  assert_says("7 micro-batches on 3 ranks are dealt in 2 rounds");
  assert_int_equal(access(path, F_OK), -1);
  assert_int_equal(show("--pp 3 --grad-accum 9 --schedule interleaved-zb --virtual-stages 2 --svg %s", path), 0);
  slurp(path, svg, sizeof svg);
  assert_int_equal(count(svg, "<title>"), 3 * 2 * 9 * 3);
  assert_int_equal(count(svg, "<title>5W8</title>"), 1);
  assert_non_null(strstr(svg, "</svg>\n"));
  unlink(path);
}

static void a_config_stands_in_for_flags(void **state) {
  (void)state;
  char path[256];
  snprintf(path, sizeof path, "%s/ds.json", folder);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs("{\"train_micro_batch_size_per_gpu\": 3, \"gradient_accumulation_steps\": 5,\n"
        " \"shardlab\": {\"pp\": 3, \"schedule\": \"zb-h1\"}}\n",
        file);
  fclose(file);
  assert_int_equal(show("--config %s --world 6", path), 0);
  assert_says("zb-h1: 3 ranks, 3 stages, 5 micro-batches");
  assert_int_equal(show("--config %s --world 6 --pp 2 --grad-accum 4 --schedule looped-bfs", path), 0);
  assert_says("looped-bfs: 2 ranks, 4 stages, 4 micro-batches");
  unlink(path);
}

static void wrong_requests_are_refused(void **state) {
  (void)state;
  assert_int_equal(show("--pp 3"), 2);
  assert_says("--grad-accum: is missing");
  assert_int_equal(show("--pp 3 --grad-accum 5 --schedule zbw"), 2);
  assert_says("did you mean zbv?");
  assert_int_equal(show("--pp 3 --grad-accum 5 --schedule gpipe --virtual-stages 2"), 2);
  assert_says("--virtual-stages: is 2; expected 1, as schedule gpipe deals to a rank");
  assert_int_equal(show("--pp 3 --grad-accum 5 --schedule zbv --virtual-stages 3"), 2);
  assert_says("--virtual-stages: is 3; expected 2, as schedule zbv deals to a rank");
  assert_int_equal(show("--pp 3 --schedule %s/tests/golden/schedules/zbv_p4_v2_m3.csv", SL_SOURCE_DIR), 2);
  assert_says("--pp: is 3; ");
  assert_int_equal(show("--pp 3 --grad-accum 5 --svg %s/no/such.svg", folder), 2);
  assert_int_equal(show("--schedule %s/tests/corpus/schedule_csv/deadlock.csv", SL_SOURCE_DIR), 1);
  assert_says("deadlock\n  rank 0 waits at #1 0B0: 1B0 stands at #2 of rank 1");
  assert_says("<-- ERROR HERE");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_grid_shows_ticks_and_bubbles), cmocka_unit_test(several_stages_a_rank_are_interleaved),
      cmocka_unit_test(the_csv_is_that_of_pytorch),       cmocka_unit_test(the_svg_has_a_bar_for_each_action),
      cmocka_unit_test(a_config_stands_in_for_flags),     cmocka_unit_test(wrong_requests_are_refused),
  };
  if (mkdtemp(folder) == NULL) return 1;
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  return rmdir(folder) != 0 || failed;
}
