/* label: cli
 * Training from the command line, where the host backend was built: the record and the trace of several ranks, epochs,
 * skipped steps, one voice for all ranks, and the verdict of validate. */
#include "core/record/record.h"
#include "tests/support/cli_run.h"
#include "tests/support/cluster_sources.h"

#include <math.h>

/* fp16 with a scale far too high: the record counts the skipped steps; at the minimum scale the run ends with a
 * reason. */
static void overflows_are_counted(void **state) {
  (void)state;
  char path[600];
  struct sl_json doc;
  static const char format[] =
      "{\"train_batch_size\": 2, \"optimizer\": {\"type\": \"AdamW\", \"params\": {\"lr\": 1e-3}}, "
      "\"fp16\": {\"enabled\": true, \"initial_scale_power\": 20, \"min_loss_scale\": %d}}";
  for (int shift = 0; shift <= 20; shift += 20) {
    snprintf(path, sizeof path, "%s/c.json", scratch);
    FILE *file = fopen(path, "w");
    fprintf(file, format, 1 << shift);
    fclose(file);
    const int status =
        shardlab(scratch, "measure --model gpt2-tiny --config c.json --seq 33 --steps 16 --data '" SL_SOURCE_DIR
                          "/examples/corpus.txt' "
                          "--json r.json");
    unlink(path);
    snprintf(path, sizeof path, "%s/r.json", scratch);
    if (shift > 0) {
      assert_int_equal(status, 2);
      assert_non_null(strstr(err, "gradients overflow in step 2 with the loss scale at its minimum, 1.04858e+06"));
      assert_int_equal(lines_with(err, "error: "), 1);
      continue;
    }
    if (status != 0) fail_msg("%s", err);
    assert_int_equal(sl_record_load(&doc, path), SL_OK);
    const json_int_t skipped = json_integer_value(json_object_get(doc.root, "skipped_steps"));
    assert_in_range(skipped, 3, 11);
    char told[80];
    snprintf(told, sizeof told, "  skipped    %d of 16 steps, whose gradients overflowed\n", (int)skipped);
    assert_non_null(strstr(out, told));
    assert_int_equal(json_array_size(json_object_get(doc.root, "losses")), 16);
    assert_true(json_number_value(json_array_get(json_object_get(doc.root, "losses"), 15)) <
                0.99 * json_number_value(json_array_get(json_object_get(doc.root, "losses"), 0)));
    sl_json_free(&doc);
    unlink(path);
  }
}

static const char training[] =
    "--model gpt2-tiny --config " SL_SOURCE_DIR "/examples/ds_zero2.json --world 2 --seq 33 --data " SL_SOURCE_DIR
    "/examples/corpus.txt --steps 3";

/* Two real ranks: one record from rank 0, one trace with the slices of both, nothing else left behind. */
static void measured_record(void **state) {
  (void)state;
  struct sl_json doc;
  char path[600];
  if (!has_host()) skip();
  if (shardlab(scratch, "measure %s --json r.json --trace t.json", training) != 0) fail_msg("%s", err);
  assert_non_null(strstr(out, "measured: world 2, ZeRO-2"));
  assert_int_equal(files_in(scratch), 2);
  snprintf(path, sizeof path, "%s/r.json", scratch);
  assert_int_equal(sl_record_load(&doc, path), SL_OK);
  assert_int_equal(json_array_size(json_object_get(doc.root, "losses")), 3);
  assert_int_equal(json_array_size(json_object_get(doc.root, "step_times_s")), 3);
  assert_int_equal(json_array_size(json_object_get(doc.root, "ranks")), 2);
  const char *command = json_string_value(json_object_get(doc.root, "command"));
  assert_memory_equal(command, "shardlab measure --model", 24); /* the user's words, not the launcher's */
  sl_json_free(&doc);
  snprintf(path, sizeof path, "%s/t.json", scratch);
  json_t *trace = json_load_file(path, 0, NULL), *event;
  size_t i, slices[2] = {0, 0};
  assert_non_null(trace);
  const json_int_t base = 1 << 24;
  json_array_foreach(json_object_get(trace, "traceEvents"), i, event) {
    const json_int_t rank = json_integer_value(json_object_get(event, "pid")) - base;
    assert_in_range(rank, 0, 1);
    slices[rank] += strcmp(json_string_value(json_object_get(event, "ph")), "X") == 0;
  }
  assert_int_equal(slices[0], slices[1]);
  assert_true(slices[0] > 300);
  json_decref(trace);
  snprintf(path, sizeof path, "cd '%s' && rm r.json t.json", scratch);
  assert_int_equal(system(path), 0);
}

/* 50 samples in batches of 4 are 12 steps an epoch; each mean is that of its own twelve losses. */
static void epochs_are_counted(void **state) {
  (void)state;
  char path[600];
  struct sl_json doc;
  if (!has_host()) skip();
  if (shardlab(scratch,
               "measure --model " SL_SOURCE_DIR "/examples/mlp.json --config " SL_SOURCE_DIR
               "/examples/ds_adam_mlp.json --train-batch 4 --world 2 --data random:50 --epochs 3 --json r.json") != 0)
    fail_msg("%s", err);
  snprintf(path, sizeof path, "%s/r.json", scratch);
  assert_int_equal(sl_record_load(&doc, path), SL_OK);
  const json_t *losses = json_object_get(doc.root, "losses"), *means = json_object_get(doc.root, "epoch_losses");
  assert_int_equal(json_array_size(losses), 36);
  assert_int_equal(json_array_size(means), 3);
  assert_int_equal(json_integer_value(json_object_get(doc.root, "epoch_steps")), 12);
  for (size_t e = 0; e < 3; e++) {
    char told[80];
    double sum = 0;
    for (size_t i = 12 * e; i < 12 * (e + 1); i++) sum += json_real_value(json_array_get(losses, i));
    const double mean = json_real_value(json_array_get(means, e));
    if (mean < sum / 12 - 1e-12 || mean > sum / 12 + 1e-12) fail_msg("epoch %zu: %.17g, not %.17g", e, mean, sum / 12);
    snprintf(told, sizeof told, "epoch %zu of 3: mean loss %.6f\n", e + 1, mean);
    assert_non_null(strstr(out, told));
  }
  assert_true(json_real_value(json_array_get(means, 2)) < json_real_value(json_array_get(means, 0)));
  sl_json_free(&doc);
  unlink(path);
}

/* DeepSpeed's first configuration as it stands, on its 1000 samples: the same learning on 1, 2 and 4 ranks in 16 bits,
 * and one word on what DeepSpeed would ask for. */
static void the_founding_configuration(void **state) {
  (void)state;
  char path[600];
  enum { EPOCHS = 3 };
  double first[EPOCHS] = {0};
  if (!has_host()) skip();
  snprintf(path, sizeof path, "%s/ds.json", scratch);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs("{\"train_batch_size\": 4, \"optimizer\": {\"type\": \"SGD\", \"params\": {\"lr\": 0.001, \"momentum\": 0.9}}, "
        "\"fp16\": {\"enabled\": true}, \"zero_optimization\": {\"stage\": 2}}\n",
        file);
  fclose(file);
  for (int world = 1; world <= 4; world *= 2) {
    struct sl_json doc;
    if (shardlab(scratch,
                 "measure --model " SL_SOURCE_DIR "/examples/mlp.json --config ds.json --world %d --data random:1000 "
                 "--epochs %d --json r.json",
                 world, EPOCHS) != 0)
      fail_msg("%s", err);
    assert_int_equal(lines_with(err, "zero_allow_untested_optimizer"), 1);
    assert_int_equal(lines_with(out, " of 3: mean loss "), EPOCHS);
    snprintf(path, sizeof path, "%s/r.json", scratch);
    assert_int_equal(sl_record_load(&doc, path), SL_OK);
    const json_t *means = json_object_get(doc.root, "epoch_losses");
    assert_int_equal(json_array_size(means), EPOCHS);
    for (size_t e = 0; e < EPOCHS; e++) {
      const double mean = json_real_value(json_array_get(means, e));
      if (world == 1) first[e] = mean;
      if (!(fabs(mean / first[e] - 1) < 1e-4))
        fail_msg("%d ranks, epoch %zu: %.9g, not %.9g", world, e, mean, first[e]);
      if (e > 0 && !(mean < json_real_value(json_array_get(means, e - 1)))) fail_msg("epoch %zu learns nothing", e);
    }
    sl_json_free(&doc);
    unlink(path);
  }
  snprintf(path, sizeof path, "%s/ds.json", scratch);
  unlink(path);
}

/* Two ranks and their parent read one config: its warning is said once. */
static void one_warning_for_all_ranks(void **state) {
  (void)state;
  if (!has_host()) skip();
  assert_int_equal(shardlab(scratch, "measure --model " SL_SOURCE_DIR "/examples/mlp.json --config " SL_SOURCE_DIR
                                     "/tests/bad_inputs/c_top_key.json --world 2 --data random:9 --steps 1"),
                   0);
  assert_int_equal(lines_with(err, "gradient_clippping"), 1);
}

/* The exit status of validate is the verdict. A tolerance of 0 cannot be met by a measured time. */
static void validate_judges(void **state) {
  (void)state;
  if (!has_host()) skip();
  if (shardlab(scratch, "validate %s --time_tolerance 1000 --require_fit", training) != 0) fail_msg("%s%s", out, err);
  assert_null(strstr(out, "FAIL"));
  assert_int_equal(shardlab(scratch, "validate %s --time-tolerance 0 --json v.json", training), 1);
  assert_int_equal(lines_with(out, "FAIL"), 1);
  assert_int_equal(lines_with(err, "error: 1 judged value is out of tolerance: 'time: step'"), 1);
  char path[600];
  snprintf(path, sizeof path, "%s/v.json", scratch);
  json_t *root = json_load_file(path, 0, NULL);
  assert_int_equal(json_integer_value(json_object_get(root, "failed")), 1);
  json_decref(root);
  unlink(path);
}

static size_t points_of(const char *path) {
  json_t *root = json_load_file(path, 0, NULL);
  const size_t points = json_array_size(json_object_get(root, "points"));
  json_decref(root);
  return points;
}

/* A calibration of one round and one more: every point twice in the file, the fit says of how many rounds it is, and
 * predictions take it. */
static void calibrations_add_up(void **state) {
  (void)state;
  char path[600];
  if (!has_host()) skip();
  const int code = shardlab(scratch, "calibrate --quick --world 1 --out p.json");
  if (code != 0 && strstr(err, "the fit needs GSL") != NULL) skip();
  if (code != 0) fail_msg("%s", err);
  snprintf(path, sizeof path, "%s/p.fit/points.json", scratch);
  const size_t points = points_of(path);
  assert_true(points > 100);
  /* one round knows no noise, and claims none */
  assert_non_null(strstr(out, "noise from run to run not known of one round"));
  assert_int_equal(shardlab(scratch, "show cluster --cluster p.json --json -"), 0);
  json_t *once = json_loads(out, 0, NULL);
  assert_true(json_number_value(json_object_get(json_object_get(once, "device"), "run_noise")) == 0);
  assert_non_null(
      strstr(json_string_value(json_object_get(json_object_get(once, "device"), "run_noise_source")), "not known"));
  json_decref(once);
  if (shardlab(scratch, "calibrate --quick --world 1 --rounds 1 --add --out p.json") != 0) fail_msg("%s", err);
  assert_int_equal(points_of(path), 2 * points);
  snprintf(path, sizeof path, "%s/p.json", scratch);
  json_t *root = json_load_file(path, 0, NULL);
  const json_t *device = json_object_get(root, "device");
  assert_int_equal(json_integer_value(json_object_get(device, "calibration_rounds")), 2);
  every_number_names_its_source(root);
  const double error = json_real_value(json_object_get(device, "run_noise_stderr"));
  assert_true(error > 0);
  json_decref(root);
  assert_int_equal(shardlab(scratch, "show cluster --cluster p.json --json -"), 0);
  root = json_loads(out, 0, NULL);
  every_number_names_its_source(root);
  assert_true(json_real_value(json_object_get(json_object_get(root, "device"), "run_noise_stderr")) == error);
  json_decref(root);
  assert_int_equal(shardlab(scratch, "predict --model gpt2-tiny --preset ddp --cluster p.json"), 0);
  if (strstr(out, " (90 % interval ") == NULL) fail_msg("%s", out);
  unlink(path);
  char command[700];
  snprintf(command, sizeof command, "rm -r '%s/p.fit'", scratch);
  assert_int_equal(system(command), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(overflows_are_counted),     cmocka_unit_test(measured_record),
      cmocka_unit_test(epochs_are_counted),        cmocka_unit_test(the_founding_configuration),
      cmocka_unit_test(one_warning_for_all_ranks), cmocka_unit_test(validate_judges),
      cmocka_unit_test(calibrations_add_up),
  };
  return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
