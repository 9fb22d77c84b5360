/* label: unit
 *   libs: api
 * The C interface: inputs as names, files and texts, errors and warnings as texts, side by side in threads, in any
 * locale. */
#include "api/shardlab.h"

#include <jansson.h>
#include <locale.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const char config[] = "{\"train_micro_batch_size_per_gpu\": 2, \"optimizer\": {\"type\": \"AdamW\"},"
                             " \"zero_optimization\": {\"stage\": 2}}";

/* The step's seconds of a prediction that must succeed. */
static double seconds(const char *model, const char *ds, const char *cluster, const char *const *flags) {
  shardlab_result *result;
  if (shardlab_predict(model, ds, cluster, flags, &result) != SHARDLAB_OK) fail_msg("%s", shardlab_error(result));
  assert_null(shardlab_error(result));
  json_t *record = json_loads(shardlab_record(result), 0, NULL);
  const double s = json_number_value(json_object_get(record, "step_time_s"));
  json_decref(record);
  shardlab_free(result);
  assert_true(s > 0);
  return s;
}

static void inputs_are_names_files_and_texts(void **state) {
  (void)state;
  static const char *const flags[] = {"--world", "4", NULL};
  const double named = seconds("gpt2-tiny", config, "dgx-h100", flags);
  assert_true(named == seconds("gpt2-tiny", SL_SOURCE_DIR "/tests/api/ds.json", "dgx-h100", flags));
  assert_true(named == seconds("gpt2-tiny", config, SL_SOURCE_DIR "/profiles/dgx-h100.json", flags));
  seconds("\n {\"model_type\": \"mlp\", \"dims\": [64, 256, 10]}", NULL, NULL,
          (const char *const[]){"--preset", "ddp", NULL});
}

static void refuse(int want, const char *model, const char *ds, const char *const *flags, const char *text) {
  shardlab_result *result;
  assert_int_equal(shardlab_predict(model, ds, "dgx-h100", flags, &result), want);
  assert_null(shardlab_record(result));
  if (strstr(shardlab_error(result), text) == NULL) fail_msg("'%s' is not in: %s", text, shardlab_error(result));
  assert_null(strchr(shardlab_error(result), '\n'));
  shardlab_free(result);
}

static void errors_are_one_line(void **state) {
  (void)state;
  static const char *const none[] = {NULL};
  refuse(SHARDLAB_BAD_INPUT, NULL, config, none, "--model: is missing");
  refuse(SHARDLAB_BAD_INPUT, "gpt2-tiny", NULL, none, "--config: is missing");
  refuse(SHARDLAB_BAD_INPUT, "gpt2-tinny", config, NULL, "gpt2-tiny");
  refuse(SHARDLAB_BAD_INPUT, "gpt2-tiny", "{\"zero_optimization\":\n {\"stage\": 7}}", none,
         "--config:2:3: zero_optimization.stage: is 7");
  refuse(SHARDLAB_BAD_INPUT, "{\"model_type\": 3}", config, none, "--model:1:2: model_type");
  static const char *const others[][3] = {
      {"--json", "-", NULL}, {"--table", "x.csv", NULL}, {"--out", "x", NULL}, {"--help", NULL}};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    refuse(SHARDLAB_BAD_INPUT, "gpt2-tiny", config, others[i], "is for the command line");
  refuse(SHARDLAB_BAD_INPUT, "gpt2-tiny", config, (const char *const[]){"--wrold", "2", NULL}, "--world");
  static const char *const hosts[] = {"--hostfile", "/dev/null", NULL}; /* is read as the command reads it */
  refuse(SHARDLAB_BAD_INPUT, "gpt2-tiny", config, hosts, "/dev/null: is a folder, a pipe or a device");
  assert_string_equal(shardlab_error(NULL), "out of memory");
  shardlab_free(NULL);
}

static void warnings_are_kept_with_their_result(void **state) {
  (void)state;
  shardlab_result *result;
  assert_int_equal(
      shardlab_predict("gpt2-tiny", "{\"train_batch_size\": 2, \"prescale_gradients\": true}", NULL, NULL, &result),
      SHARDLAB_OK);
  size_t named = 0;
  for (size_t i = 0; i < shardlab_warning_count(result); i++)
    named += strstr(shardlab_warning(result, i), "prescale_gradients") != NULL;
  assert_int_equal(named, 1);
  assert_null(shardlab_warning(result, shardlab_warning_count(result)));
  shardlab_free(result);
}

/* What was taken where nothing was said: nobody else tells the caller. */
static void choices_are_warned_of(void **state) {
  (void)state;
  static const struct {
    const char *config, *flags[5], *says;
  } cases[] = {{NULL, {"--preset", "fsdp", "--world", "2", NULL}, "bf16 is taken"},
               {"{\"train_micro_batch_size_per_gpu\": \"auto\", \"optimizer\": {\"type\": \"AdamW\"}}",
                {NULL},
                "train_micro_batch_size_per_gpu 8"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    shardlab_result *result;
    assert_int_equal(shardlab_predict("gpt2-tiny", cases[i].config, "dgx-h100", cases[i].flags, &result), SHARDLAB_OK);
    assert_int_equal(shardlab_warning_count(result), 1);
    if (strstr(shardlab_warning(result, 0), cases[i].says) == NULL) fail_msg("%s", shardlab_warning(result, 0));
    shardlab_free(result);
  }
}

struct call {
  const char *stage;
  double seconds;
  size_t warnings;
};

/* Some predictions in a row; those of stage 1 alone are warned of, once each. */
static void *call(void *context) {
  struct call *c = context;
  const char *flags[] = {"--world", "4", "--zero-stage", c->stage, NULL};
  const char *warns =
      "{\"train_micro_batch_size_per_gpu\": 2, \"optimizer\": {\"type\": \"AdamW\"}, \"prescale_gradients\": true}";
  for (int i = 0; i < 8; i++) {
    shardlab_result *result;
    if (shardlab_predict("gpt2-tiny", c->stage[0] == '1' ? warns : config, "dgx-h100", flags, &result) == SHARDLAB_OK) {
      json_t *record = json_loads(shardlab_record(result), 0, NULL);
      c->seconds += json_number_value(json_object_get(record, "step_time_s"));
      json_decref(record);
    }
    c->warnings += shardlab_warning_count(result);
    shardlab_free(result);
  }
  return NULL;
}

static void threads_do_not_meet(void **state) {
  (void)state;
  enum { THREADS = 6 };
  static const char *const stages[] = {"0", "1", "9"}; /* the last is refused */
  pthread_t threads[THREADS];
  struct call calls[THREADS], alone[3];
  for (int i = 0; i < 3; i++) alone[i] = (struct call){.stage = stages[i]}, call(&alone[i]);
  for (int i = 0; i < THREADS; i++) {
    calls[i] = (struct call){.stage = stages[i % 3]};
    assert_int_equal(pthread_create(&threads[i], NULL, call, &calls[i]), 0);
  }
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < THREADS; i++) {
    assert_true(calls[i].seconds == alone[i % 3].seconds);
    assert_int_equal(calls[i].warnings, alone[i % 3].warnings);
  }
  assert_true(alone[0].seconds > 0 && alone[2].seconds == 0);
  assert_int_equal(alone[1].warnings - alone[0].warnings, 8);
}

/* Numbers have a point where the caller's locale has a comma. */
static void a_locale_changes_nothing(void **state) {
  (void)state;
  static const char *const flags[] = {"--jitter", "0.05", "--world", "2", NULL};
  const double plain = seconds("gpt2-tiny", config, "dgx-h100", flags);
  static const char *const commas[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE"};
  for (size_t i = 0; i < sizeof commas / sizeof *commas; i++)
    if (setlocale(LC_ALL, commas[i]) != NULL) break;
  assert_true(plain == seconds("gpt2-tiny", config, "dgx-h100", flags));
  setlocale(LC_ALL, "C");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(inputs_are_names_files_and_texts),
                                     cmocka_unit_test(errors_are_one_line),
                                     cmocka_unit_test(warnings_are_kept_with_their_result),
                                     cmocka_unit_test(choices_are_warned_of),
                                     cmocka_unit_test(threads_do_not_meet),
                                     cmocka_unit_test(a_locale_changes_nothing)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
