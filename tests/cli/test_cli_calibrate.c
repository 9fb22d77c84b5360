/* label: cli
 * `calibrate` from outside: what it refuses before it measures, whose rounds it joins, and what its profile adds to a
 * prediction. */
#include <jansson.h>

#include "tests/support/cli_run.h"

#include <sys/stat.h>

/* What calibrate refuses it refuses before it measures, and before its folder is made. */
static void calibrate_asks_first(void **state) {
  (void)state;
  static const struct {
    const char *flags, *says;
  } bad[] = {
      {"", "--out: is missing; expected the profile to write"},
      {"--out -", "--out: is '-'; expected a file (--json alone goes to standard output)"},
      {"--out absent/p.json", "--out: absent/p.json: its folder does not exist"},
      {"--out p.json --world 4096", "--world: is 4096; expected at most the cores of this machine, "},
      {"--out p.json --world 0", "--world: is '0'; expected an integer from 1 to 4096"},
      {"--out p.json --nvme-path absent",
       "--nvme-path: is \"absent\": No such file or directory; expected a folder to write to, on the NVMe"},
      {"--out p.json --rounds 0", "--rounds: is '0'; expected an integer from 1 to 1000"},
      {"--out p.json --backend cpu", "--backend: is 'cpu'; expected one of host|cuda"},
      {"--out p.json --points x", "--points: stands beside --out; expected one of them: points are only measured"},
      {"p.json", "'p.json': is one argument too many; usage: shardlab calibrate [flags]"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    assert_int_equal(shardlab(scratch, "calibrate %s", bad[i].flags), 2);
    if (strstr(err, bad[i].says) == NULL) fail_msg("calibrate %s said %s", bad[i].flags, err);
    assert_int_equal(lines_with(err, "error: "), 1);
    assert_string_equal(out, "");
    assert_int_equal(files_in(scratch), 0);
  }
  setenv("OMPI_COMM_WORLD_SIZE", "2", 1); /* as mpirun does */
  assert_int_equal(shardlab(scratch, "calibrate --out p.json"), 2);
  unsetenv("OMPI_COMM_WORLD_SIZE");
  assert_non_null(strstr(err, "calibrate starts its own ranks; start it without mpirun or srun"));
  assert_int_equal(files_in(scratch), 0);
}

/* Rounds can be added only to those of this machine. */
static void calibrate_adds_to_its_own_machine(void **state) {
  (void)state;
  assert_int_equal(shardlab(scratch, "calibrate --out p.json --add --rounds 2"), 2);
  assert_non_null(strstr(err, "p.fit/points.json: cannot be opened"));
  assert_int_equal(lines_with(err, "error: "), 1);
  assert_int_equal(files_in(scratch), 0);
  char path[600];
  snprintf(path, sizeof path, "%s/p.fit", scratch);
  assert_int_equal(mkdir(path, 0777), 0);
  snprintf(path, sizeof path, "%s/p.fit/points.json", scratch);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs("{\"schema\":1,\"machine\":\"abacus\",\"points\":[{\"op\":\"gemm\",\"ranks\":1,\"shape\":[1,2,3],"
        "\"median_s\":1}]}",
        file);
  assert_int_equal(fclose(file), 0);
  assert_int_equal(shardlab(scratch, "calibrate --out p.json --add"), 2);
  assert_non_null(strstr(err, "p.fit/points.json: was measured on 'abacus'; expected this machine, '"));
  assert_int_equal(lines_with(err, "error: "), 1);
  unlink(path);
  *strrchr(path, '/') = '\0';
  rmdir(path);
}

/* A rank that is killed has nothing to leave, nor has one that is not started by the command. */
static void a_killed_rank_leaves_no_file(void **state) {
  (void)state;
  if (!has_host()) skip();
  char command[1200];
  snprintf(command, sizeof command,
           "cd '%s' && TMPDIR='%s' timeout -s KILL 1 '%s/bin/shardlab' calibrate --quick --points points.json 2>err; "
           "test $? = 137 && rm err",
           scratch, scratch, SL_BINARY_DIR);
  assert_int_equal(system(command), 0);
  assert_int_equal(files_in(scratch), 0);
}

/* One that is ended leaves no empty folder: its janitor sees to that where it could not (SIGKILL). */
static void calibrate_leaves_no_folder(void **state) {
  (void)state;
  static const char *const signals[] = {"TERM", "KILL"};
  if (!has_host()) skip();
  for (int i = 0; i < 2; i++) {
    char command[1200];
    snprintf(command, sizeof command,
             "cd '%s' && { '%s/bin/shardlab' calibrate --quick --world 1 --out p.json >out 2>&1 & } && "
             "for i in $(seq 600); do test -d p.fit && break; sleep 0.05; done; test -d p.fit && kill -%s $! && "
             "for i in $(seq 600); do test -d p.fit || break; sleep 0.05; done; rm out",
             scratch, SL_BINARY_DIR, signals[i]);
    assert_int_equal(system(command), 0);
    assert_int_equal(files_in(scratch), 0);
  }
}

/* A profile with standard errors gives an interval, in the record and in the text, that holds the step time. */
static void calibrated_predictions_carry_an_interval(void **state) {
  (void)state;
  char path[600];
  snprintf(path, sizeof path, "%s/p.json", scratch);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs("{\"device\":{\"kind\":\"cpu\",\"cores\":2,\"memory_GiB\":1,\"memory_bandwidth_GBps\":7,\"peak_TFLOPS\":{"
        "\"fp32\":"
        "0.1},\"run_noise\":0.2,\"calibration_rounds\":5},\"links\":[{\"bandwidth_GBps\":1,\"latency_us\":2}],\"op_"
        "costs\":[{\"op\":\"gemm\",\"ranks\":1,"
        "\"GFLOPS\":50,\"GFLOPS_stderr\":5,\"scatter\":0.07,\"points\":33,\"source\":\"a bench\"}]}",
        file);
  fclose(file);
  assert_int_equal(shardlab(scratch, "show cluster --cluster p.json"), 0);
  assert_true(strstr(out, "\"points\": 33") != NULL && strstr(out, "\"source\": \"a bench\"") != NULL);
  assert_int_equal(shardlab(scratch, "predict --model gpt2-tiny --preset ddp --cluster p.json --json -"), 0);
  json_t *root = json_loads(out, 0, NULL);
  const double low = json_number_value(json_object_get(root, "step_time_low_s")),
               step = json_number_value(json_object_get(root, "step_time_s")),
               high = json_number_value(json_object_get(root, "step_time_high_s"));
  assert_true(0.5 * step < low && low < 0.99 * step && step * step / low < high * 1.000001);
  assert_non_null(strstr(err, " (90 % interval "));
  json_decref(root);
  /* the median of several runs is known better than one */
  assert_int_equal(shardlab(scratch, "predict --model gpt2-tiny --preset ddp --cluster p.json --runs 5 --json -"), 0);
  root = json_loads(out, 0, NULL);
  assert_true(1.05 * low < json_number_value(json_object_get(root, "step_time_low_s")));
  assert_true(json_number_value(json_object_get(root, "step_time_s")) == step);
  json_decref(root);
  assert_int_equal(shardlab(scratch, "predict --model gpt2-tiny --preset ddp"), 0);
  assert_non_null(strstr(out, "(not calibrated; 90 % interval"));
  unlink(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(calibrate_asks_first),
      cmocka_unit_test(calibrate_adds_to_its_own_machine),
      cmocka_unit_test(calibrate_leaves_no_folder),
      cmocka_unit_test(a_killed_rank_leaves_no_file),
      cmocka_unit_test(calibrated_predictions_carry_an_interval),
  };
  return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
