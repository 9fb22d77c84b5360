/* label: cli
 * Predicted and measured traces of one plan in three dimensions, side by side: what the Trace Event Format asks of
 * every event, a named and placed process for each rank of each kind, a named track for each lane, and the same ops on
 * the same tracks. */
#include "core/run/trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RANKS = 4, KINDS = 2, LANES = SL_LANE_COUNT };

/* What is said of one process. */
struct process {
  char name[80];
  json_int_t sort_index;
  char lane[LANES][32];
  json_int_t lane_sort_index[LANES];
  json_int_t end[LANES];                          /* of the latest slice */
  uint64_t ops[LANES];                            /* hash of the names of the last step's slices, in order */
  int slices[LANES];                              /* of the last step */
  json_int_t first[LANES][16], latest[LANES][16]; /* when the n-th of those slices begins and ends */
};

struct view {
  struct process process[KINDS][RANKS]; /* predicted, measured */
  json_int_t last_step[KINDS];          /* when it begins, us */
};

static char folder[] = "test_trace_XXXXXX";

static const char *text(const json_t *object, const char *key) {
  const char *value = json_string_value(json_object_get(object, key));
  if (value == NULL) fail_msg("an event without %s", key);
  return value;
}

static json_int_t integer(const json_t *object, const char *key) {
  const json_t *value = json_object_get(object, key);
  if (!json_is_integer(value)) fail_msg("an event without %s", key);
  return json_integer_value(value);
}

/* Ids of measured processes stand above all predicted ones. */
static struct process *process_of(struct view *v, const json_t *event, int *kind) {
  const json_int_t pid = integer(event, "pid");
  *kind = pid >= 1 << 24;
  const json_int_t rank = *kind ? pid - (1 << 24) : pid;
  assert_in_range(rank, 0, RANKS - 1);
  return &v->process[*kind][rank];
}

static void read_metadata(struct view *v, const json_t *event) {
  const char *name = text(event, "name");
  const json_t *args = json_object_get(event, "args");
  int kind;
  struct process *p = process_of(v, event, &kind);
  if (strcmp(name, "process_name") == 0) {
    assert_string_equal(p->name, "");
    snprintf(p->name, sizeof p->name, "%s", text(args, "name"));
  } else if (strcmp(name, "process_sort_index") == 0) {
    p->sort_index = integer(args, "sort_index");
  } else if (strcmp(name, "thread_name") == 0) {
    assert_in_range(integer(event, "tid"), 0, LANES - 1);
    snprintf(p->lane[integer(event, "tid")], sizeof p->lane[0], "%s", text(args, "name"));
  } else if (strcmp(name, "thread_sort_index") == 0) {
    p->lane_sort_index[integer(event, "tid")] = integer(args, "sort_index");
  }
}

/* Complete events: the viewer wants those of one track apart or nested, and ops of a lane follow each other. */
static void read_slice(struct view *v, const json_t *event, const json_int_t *last) {
  int kind;
  struct process *p = process_of(v, event, &kind);
  const json_int_t lane = integer(event, "tid");
  const json_int_t ts = integer(event, "ts"), dur = integer(event, "dur");
  const bool program = strcmp(text(event, "cat"), "init") == 0 || strcmp(text(event, "cat"), "save") == 0;
  assert_in_range(lane, 0, LANES - 1);
  assert_true(ts >= 0 && dur >= 0);
  assert_true(p->name[0] != '\0' && p->lane[lane][0] != '\0');
  if (ts < p->end[lane])
    fail_msg("%s, %s: %s begins at %lld us, inside the one before, which ends at %lld", p->name, p->lane[lane],
             text(event, "name"), (long long)ts, (long long)p->end[lane]);
  p->end[lane] = ts + dur;
  if (program || integer(json_object_get(event, "args"), "step") != last[kind]) return;
  if (ts < v->last_step[kind]) v->last_step[kind] = ts;
  if (p->slices[lane] < 16) {
    p->first[lane][p->slices[lane]] = ts;
    p->latest[lane][p->slices[lane]] = ts + dur;
  }
  p->slices[lane]++;
  for (const char *c = text(event, "name"); *c != '\0'; c++)
    p->ops[lane] = (p->ops[lane] ^ (unsigned char)*c) * UINT64_C(1099511628211);
}

static void read_trace(struct view *v, const char *path, const json_int_t *last) {
  json_error_t error;
  json_t *trace = json_load_file(path, 0, &error), *event;
  size_t i;
  if (trace == NULL) fail_msg("%s:%d: %s", path, error.line, error.text);
  const char *unit = text(trace, "displayTimeUnit");
  assert_true(strcmp(unit, "ms") == 0 || strcmp(unit, "ns") == 0);
  assert_true(json_is_array(json_object_get(trace, "traceEvents")));
  json_array_foreach(json_object_get(trace, "traceEvents"), i, event) {
    const char *phase = text(event, "ph");
    if (strcmp(phase, "M") == 0)
      read_metadata(v, event);
    else if (strcmp(phase, "X") == 0)
      read_slice(v, event, last);
    else if (strchr("Csf", phase[0]) == NULL || phase[1] != '\0') /* what counters and arrows are: traces.py */
      fail_msg("an event of phase %s", phase);
  }
  json_decref(trace);
}

/* Ranks count time from one instant: nothing has arrived before its sender began to send it. */
static void assert_one_time_axis(const struct process *ranks) {
  for (int r = 0; r < 2; r++) {
    assert_int_equal(ranks[r].slices[SL_LANE_SEND_F], 3);
    for (int n = 0; n < 3; n++) {
      const json_int_t sent = ranks[r].first[SL_LANE_SEND_F][n], arrived = ranks[r + 2].latest[SL_LANE_RECV_F][n];
      if (arrived < sent)
        fail_msg("%s has micro-batch %d at %lld us, before it is sent at %lld", ranks[r + 2].name, n,
                 (long long)arrived, (long long)sent);
    }
  }
}

/* Measured below predicted, rank by rank; the lanes in the same order; and the same ops on each, one after the
 * other. */
static void assert_side_by_side(const struct view *v) {
  int slices = 0;
  for (int r = 0; r < RANKS; r++) {
    const struct process *p = &v->process[0][r], *m = &v->process[1][r];
    char want[80];
    snprintf(want, sizeof want, "predicted rank %d (pp %d, dp 0, cp 0, tp %d)", r, r / 2, r % 2);
    assert_string_equal(p->name, want);
    snprintf(want, sizeof want, "measured rank %d (pp %d, dp 0, cp 0, tp %d)", r, r / 2, r % 2);
    assert_string_equal(m->name, want);
    assert_int_equal(p->sort_index, 2 * r);
    assert_int_equal(m->sort_index, 2 * r + 1);
    for (int lane = 0; lane < LANES; lane++) {
      assert_string_equal(p->lane[lane], m->lane[lane]);
      assert_int_equal(p->lane_sort_index[lane], m->lane_sort_index[lane]);
      assert_int_equal(p->slices[lane], m->slices[lane]);
      if (p->ops[lane] != m->ops[lane]) fail_msg("rank %d, %s: other ops, or in another order", r, p->lane[lane]);
      slices += p->slices[lane];
    }
    assert_string_equal(p->lane[SL_LANE_COMPUTE], "compute");
    assert_string_equal(p->lane[SL_LANE_TP], "tp");
    assert_string_equal(p->lane[r < 2 ? SL_LANE_SEND_F : SL_LANE_RECV_F], r < 2 ? "send_f" : "recv_f");
  }
  assert_true(slices > 500);
  assert_one_time_axis(v->process[0]);
  assert_one_time_axis(v->process[1]);
}

static void run(const char *format, ...) {
  char arguments[1024], command[2048];
  va_list args;
  va_start(args, format);
  vsnprintf(arguments, sizeof arguments, format, args);
  va_end(args);
  snprintf(command, sizeof command, "cd '%s' && '%s/bin/shardlab' %s >out 2>&1 </dev/null || { cat out; exit 1; }",
           folder, SL_BINARY_DIR, arguments);
  if (system(command) != 0) fail_msg("shardlab %s", arguments);
}

#define PLAN                                                                                                           \
  "--model gpt2-tiny --config config.json --world 4 --tp 2 --pp 2 --schedule 1f1b --seq 19 --data " SL_SOURCE_DIR      \
  "/examples/corpus.txt"

static bool has_host(void) {
  return access(SL_BINARY_DIR "/lib/libshardlab_host.so", R_OK) == 0 && system("command -v mpirun >/dev/null") == 0;
}

static void one_file_with_both(void **state) {
  (void)state;
  static struct view v;
  const json_int_t last[KINDS] = {0, 2}; /* the predicted step, the last measured one */
  char path[256];
  if (!has_host()) skip();
  v = (struct view){.last_step = {INT64_MAX, INT64_MAX}};
  run("validate " PLAN " --steps 3 --time-tolerance 1000 --trace both.json");
  snprintf(path, sizeof path, "%s/both.json", folder);
  read_trace(&v, path, last);
  assert_side_by_side(&v);
  assert_true(v.last_step[0] == v.last_step[1]);
  snprintf(path, sizeof path, "cd '%s' && ls | tr '\\n' ' ' >out && grep -qx 'both.json config.json out ' out", folder);
  assert_int_equal(system(path), 0); /* nothing else is left */
}

/* Two files for a viewer that opens several: their events do not mix. */
static void a_file_each(void **state) {
  (void)state;
  static struct view v;
  const json_int_t last[KINDS] = {0, 1};
  char path[256];
  if (!has_host()) skip();
  v = (struct view){.last_step = {INT64_MAX, INT64_MAX}};
  run("predict --model gpt2-tiny --config config.json --world 4 --tp 2 --pp 2 --seq 19 --no-fold --trace p.json");
  run("measure " PLAN " --steps 2 --trace m.json");
  snprintf(path, sizeof path, "%s/p.json", folder);
  read_trace(&v, path, last);
  for (int r = 0; r < RANKS; r++) assert_string_equal(v.process[1][r].name, "");
  snprintf(path, sizeof path, "%s/m.json", folder);
  read_trace(&v, path, last);
  assert_side_by_side(&v);
}

static void what_is_no_trace_is_refused(void **state) {
  (void)state;
  char config[256], other[256];
  snprintf(config, sizeof config, "%s/config.json", folder);
  snprintf(other, sizeof other, "%s/none.json", folder);
  assert_int_equal(sl_trace_join(other, config, config), SL_ERR_INPUT);
  assert_non_null(strstr(sl_error_message(), "config.json: has no list traceEvents; expected a trace"));
  sl_error_clear();
  assert_int_equal(sl_trace_join(other, other, config), SL_ERR_INPUT);
  assert_non_null(strstr(sl_error_message(), "expected a trace"));
  sl_error_clear();
  assert_int_equal(access(other, F_OK), -1);
}

static int set_up(void **state) {
  char path[256];
  (void)state;
  if (mkdtemp(folder) == NULL) return -1;
  snprintf(path, sizeof path, "%s/config.json", folder);
  FILE *file = fopen(path, "w");
  if (file == NULL) return -1;
  fputs("{\"train_micro_batch_size_per_gpu\": 1, \"gradient_accumulation_steps\": 3,"
        " \"optimizer\": {\"type\": \"AdamW\", \"params\": {\"lr\": 1e-3}}}\n",
        file);
  return fclose(file);
}

static int tear_down(void **state) {
  char command[256];
  (void)state;
  snprintf(command, sizeof command, "rm -r '%s'", folder);
  return system(command);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_file_with_both),
      cmocka_unit_test(a_file_each),
      cmocka_unit_test(what_is_no_trace_is_refused),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
