/* label: cli
 * Checkpoints from the command line, where the host backend was built: saved, resumed, verified, exported, and as
 * predicted. */
#include "tests/support/cli_run.h"

#include <jansson.h>
#include <sys/file.h>
#include <sys/resource.h>

#define JOB "--model gpt2-tiny --config " SL_SOURCE_DIR "/examples/ds_zero2.json --world 2 --seq 33"

static const char training[] = JOB " --data " SL_SOURCE_DIR "/examples/corpus.txt --steps 3";

/* What a checkpoint takes is predicted to the byte; a resumed run counts its steps from the training's start. */
static void checkpoints_as_predicted(void **state) {
  (void)state;
  if (!has_host()) skip();
  if (shardlab(scratch, "predict %s --save-every 2 --json p.json", JOB) != 0) fail_msg("%s", err);
  if (shardlab(scratch, "measure %s --checkpoint ck --save-every 2 --json m.json", training) != 0) fail_msg("%s", err);
  if (shardlab(scratch, "compare p.json m.json") != 0) fail_msg("%s%s", out, err);
  const char *rows = strstr(out, "\ncheckpoint\n");
  assert_non_null(rows);
  assert_non_null(strstr(rows, "copy in host memory"));
  if (shardlab(scratch, "measure %s --steps 5 --checkpoint ck --resume latest", training) != 0) fail_msg("%s", err);
  assert_non_null(strstr(out, " at step 4, "));
  assert_non_null(strstr(out, " at step 5\n"));
  if (shardlab(scratch, "checkpoint verify ck") != 0) fail_msg("%s", err);
  assert_string_equal(out, "ck/step-000005: ok\n");
  if (shardlab(scratch, "checkpoint export ck --out weights") != 0) fail_msg("%s", err);
  if (shardlab(scratch, "measure %s --init weights --json -", training) != 0) fail_msg("%s", err);
  char command[600];
  snprintf(command, sizeof command, "cd '%s' && rm -r ck weights p.json m.json", scratch);
  assert_int_equal(system(command), 0);
}

#define TYPE_JOB                                                                                                       \
  "measure --model gpt2-tiny --config c.json --world 2 --seq 33 --threads 1 --data " SL_SOURCE_DIR                     \
  "/examples/corpus.txt "

static void in_type(const char *keys) {
  char config[400];
  snprintf(config, sizeof config,
           "{\"train_micro_batch_size_per_gpu\": 2, \"bf16\": {\"enabled\": true}, \"optimizer\": {\"type\": "
           "\"AdamW\"}, \"zero_optimization\": {\"stage\": 1}, \"shardlab\": {%s}}",
           keys);
  write_file("c.json", config);
}

static json_t *losses_of(const char *name) {
  char path[600];
  snprintf(path, sizeof path, "%s/%s", scratch, name);
  json_t *record = json_load_file(path, 0, NULL), *losses = json_incref(json_object_get(record, "losses"));
  json_decref(record);
  assert_non_null(losses);
  return losses;
}

/* Training in fp8 goes on to the bit; what was not saved in fp8 has no scales. */
static void scales_are_kept(void **state) {
  (void)state;
  if (!has_host()) skip();
  in_type("\"fp8\": true");
  if (shardlab(scratch, TYPE_JOB "--steps 4 --checkpoint ck --save-every 2 --json a.json") != 0) fail_msg("%s", err);
  if (shardlab(scratch, TYPE_JOB "--steps 4 --resume ck/step-000002 --json b.json") != 0) fail_msg("%s", err);
  assert_null(strstr(err, "scales"));
  if (shardlab(scratch, "checkpoint show ck") != 0) fail_msg("%s", err);
  assert_non_null(strstr(out, "bf16, adam moments, scales of fp8, "));
  if (shardlab(scratch, "checkpoint export ck --out fp8weights") != 0) fail_msg("%s", err);
  json_t *whole = losses_of("a.json"), *resumed = losses_of("b.json");
  assert_int_equal(json_array_size(resumed), 2);
  for (size_t s = 0; s < 2; s++) assert_true(json_equal(json_array_get(resumed, s), json_array_get(whole, s + 2)));
  json_decref(whole);
  json_decref(resumed);
  in_type("");
  if (shardlab(scratch, TYPE_JOB "--steps 3 --resume ck/step-000002 --checkpoint bf") != 0) fail_msg("%s", err);
  assert_non_null(strstr(err, "was written in fp8; its scales are not used"));
  in_type("\"fp8\": true");
  if (shardlab(scratch, TYPE_JOB "--steps 4 --resume bf") != 0) fail_msg("%s", err);
  assert_non_null(strstr(err, "has no scales, as it was not written in fp8; all scales are 1"));
}

/* --keep removes nothing but what the same job wrote, and never where it began. */
static void keep_is_of_the_job(void **state) {
  (void)state;
  if (!has_host()) skip();
  if (shardlab(scratch, "measure %s --steps 6 --world 1 --checkpoint ck --save-every 2", training) != 0)
    fail_msg("%s", err);
  if (shardlab(scratch,
               "measure %s --steps 5 --world 1 --checkpoint ck --resume ck/step-000002 --save-every 1 --keep 2",
               training) != 0)
    fail_msg("%s", err);
  static const char *const there[] = {"step-000002", "step-000004", "step-000005", "step-000006"};
  char path[600];
  for (size_t i = 0; i < sizeof there / sizeof *there; i++) {
    snprintf(path, sizeof path, "%s/ck/%s", scratch, there[i]);
    if (access(path, F_OK) != 0) fail_msg("%s is gone", there[i]);
  }
  snprintf(path, sizeof path, "%s/ck/step-000003", scratch);
  assert_int_equal(access(path, F_OK), -1);
}

/* Of weights of a larger model --init says what it leaves; a checkpoint of one is none of a smaller model's. */
static void a_larger_model_is_noticed(void **state) {
  (void)state;
  if (!has_host()) skip();
  static const char jobs[] =
      "--config " SL_SOURCE_DIR "/examples/ds_zero2.json --data " SL_SOURCE_DIR "/examples/corpus.txt --seq 9 --model";
#define LAYERS(n)                                                                                                      \
  "'{\"model_type\":\"gpt2\",\"n_layer\":" n ",\"n_head\":2,\"n_embd\":8,\"vocab_size\":256,\"n_positions\":16}'"
  if (shardlab(scratch, "measure %s %s --steps 1 --checkpoint large --quiet", jobs, LAYERS("3")) != 0)
    fail_msg("%s", err);
  if (shardlab(scratch, "measure %s %s --steps 1 --init large/step-000001", jobs, LAYERS("2")) != 0)
    fail_msg("%s", err);
  if (strstr(err, "large/step-000001: has 12 tensors that the model lacks, and that are not used; the first is h.2.") ==
      NULL)
    fail_msg("%s", err);
  if (shardlab(scratch, "measure %s %s --steps 1 --init large/step-000001 --quiet", jobs, LAYERS("3")) != 0)
    fail_msg("%s", err);
  assert_null(strstr(err, "lacks"));
  assert_int_equal(shardlab(scratch, "measure %s %s --steps 2 --resume large", jobs, LAYERS("2")), 2);
  assert_non_null(strstr(only_line(), "large/step-000001: is a checkpoint of another model: its n_layer is 3; expected "
                                      "2"));
}

/* A first save that fails leaves no folder, nor those above that were made for it; one that was there stays. */
static void no_folder_without_a_checkpoint(void **state) {
  (void)state;
  if (!has_host()) skip();
  struct rlimit before;
  char command[600];
  snprintf(command, sizeof command, "%s/there", scratch);
  assert_int_equal(mkdir(command, 0777), 0);
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
  const struct rlimit small = {1 << 16, before.rlim_max};
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
  const int status = shardlab(scratch, "measure %s --world 1 --checkpoint there/a/b", training);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
  assert_int_equal(status, 1);
  assert_non_null(strstr(only_line(), "there/a/b/"));
  assert_non_null(strstr(err, "File too large"));
  assert_int_equal(rmdir(command), 0); /* nothing is in it */
}

/* Once the loss is not finite, --keep removes nothing: what was saved before is what training can go on from. */
static void a_diverged_training_removes_nothing(void **state) {
  (void)state;
  if (!has_host()) skip();
  char path[600];
  snprintf(path, sizeof path, "%s/diverged/step-000001", scratch);
  assert_int_equal(
      shardlab(scratch,
               "measure --model gpt2-tiny --config '{\"train_micro_batch_size_per_gpu\": 1, "
               "\"optimizer\": {\"type\": \"AdamW\", \"params\": {\"lr\": 1e30}}}' --seq 16 --data " SL_SOURCE_DIR
               "/examples/corpus.txt --steps 5 --save-every 1 --keep 2 --checkpoint "
               "diverged --allow-nonfinite --quiet"),
      0);
  assert_int_equal(access(path, F_OK), 0);
}

/* A folder is one job's at a time, and who begins anew in one that holds checkpoints is told so. */
/* The launcher has them first, then each rank as it opens the checkpoint; of a user's own launcher only ranks. */
static void what_a_resumed_run_warns_of_is_told_once(void **state) {
  (void)state;
  static const char resumed[] =
      "measure --model gpt2-tiny --zero-stage 1 --seq 16 --micro-batch 3 --steps 3 --data " SL_SOURCE_DIR
      "/examples/corpus.txt --checkpoint ck --resume latest --world 2";
  char command[2048];
  if (!has_host()) skip();
  if (shardlab(scratch, "measure %s --checkpoint ck --steps 2", training) != 0) fail_msg("%s", err);
  if (shardlab(scratch, "%s", resumed) != 0) fail_msg("%s", err);
  assert_int_equal(lines_with(err, "their order is another"), 1);
  assert_int_equal(lines_with(err, "with another batch the losses are others"), 1);
  snprintf(command, sizeof command,
           "cd '%s' && rm -r ck/step-000003 && echo step-000002 >ck/latest && mpirun --allow-run-as-root "
           "--oversubscribe -np 2 "
           "'%s/bin/shardlab' %s 2>told >/dev/null && test $(grep -c 'their order is another' told) = 1 && "
           "test $(grep -c 'with another batch' told) = 1 && rm -r ck told",
           scratch, SL_BINARY_DIR, resumed);
  if (system(command) != 0) fail_msg("%s", command);
}

static void a_folder_is_of_one_job(void **state) {
  (void)state;
  if (!has_host()) skip();
  char path[600];
  snprintf(path, sizeof path, "%s/shared", scratch);
  assert_int_equal(shardlab(scratch, "measure %s --world 2 --checkpoint shared", training), 0);
  assert_null(strstr(err, "holds checkpoints"));
  assert_int_equal(shardlab(scratch, "measure %s --world 1 --checkpoint shared", training), 0);
  assert_int_equal(lines_with(err, "shared: holds checkpoints of another training, up to step "), 1);
  const int handle = open(path, O_RDONLY | O_DIRECTORY);
  assert_int_equal(flock(handle, LOCK_EX | LOCK_NB), 0);
  assert_int_equal(shardlab(scratch, "measure %s --world 2 --checkpoint shared --quiet", training), 2);
  assert_non_null(strstr(only_line(), "shared: another job is saving its checkpoints there"));
  close(handle);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(what_a_resumed_run_warns_of_is_told_once),
                                     cmocka_unit_test(a_folder_is_of_one_job),
                                     cmocka_unit_test(a_diverged_training_removes_nothing),
                                     cmocka_unit_test(checkpoints_as_predicted),
                                     cmocka_unit_test(scales_are_kept),
                                     cmocka_unit_test(keep_is_of_the_job),
                                     cmocka_unit_test(a_larger_model_is_noticed),
                                     cmocka_unit_test(no_folder_without_a_checkpoint)};
  return cmocka_run_group_tests_name("cli_checkpoint", tests, make_scratch, remove_scratch);
}
