/* The C interface, implemented by the command's own code: words of a command line, the option table, the prediction;
 * see shardlab.h. */
#include "api/shardlab.h"

#include "cli/commands.h"
#include "cli/import.h"
#include "cli/pool.h"
#include "cli/predict.h"
#include "core/base/json_write.h"
#include "core/base/status.h"
#include "core/record/environment.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

struct shardlab_result {
  char *record, *error;
  char **warnings; /* (warning_count) */
  size_t warning_count, warning_capacity;
  const char **words; /* the command line, valid during the call */
};

const char *shardlab_version(void) {
  return SL_VERSION;
}

static void keep_warning(void *context, const char *message) {
  struct shardlab_result *r = context;
  for (size_t i = 0; i < r->warning_count; i++)
    if (strcmp(r->warnings[i], message) == 0) return;
  if (sl_grow(&r->warnings, &r->warning_capacity, r->warning_count + 1, sizeof *r->warnings) != SL_OK) {
    sl_error_clear(); /* a warning must not make the call fail */
    return;
  }
  r->warnings[r->warning_count] = strdup(message);
  if (r->warnings[r->warning_count] != NULL) r->warning_count++;
}

/* Builds "shardlab predict --model ... FLAGS --quiet", as the command gets it. */
static enum sl_status make_words(struct shardlab_result *r, const char *const inputs[3], const char *const *flags,
                                 int *count) {
  static const char *const names[3] = {"--model", "--config", "--cluster"};
  size_t n = 0, given = 0;
  while (flags != NULL && flags[given] != NULL) given++;
  SL_TRY(sl_calloc(&r->words, given + 10, sizeof *r->words));
  r->words[n++] = "shardlab";
  r->words[n++] = sl_command_predict.name;
  for (int i = 0; i < 3; i++) {
    if (inputs[i] == NULL) continue;
    r->words[n++] = names[i];
    r->words[n++] = inputs[i];
  }
  for (size_t i = 0; i < given; i++) r->words[n++] = flags[i];
  r->words[n++] = "--quiet";
  *count = (int)n;
  return SL_OK;
}

static enum sl_status check_flags(const struct sl_options *options) {
  static const char *const others[] = {"json",      "table",   "out",        "jobs", "sweep", "max-micro-batch",
                                       "min-world", "max-seq", "require-fit"};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (sl_options_given(options, others[i]))
      return sl_fail(SL_ERR_INPUT, "--%s: is for the command line; expected flags of one prediction", others[i]);
  return SL_OK;
}

static enum sl_status predict(struct shardlab_result *r, int count) {
  struct sl_options options;
  json_t *record;
  bool help;
  char **words = (char **)(uintptr_t)r->words; /* the command only reads them */
  SL_TRY(sl_options_parse(&options, &sl_command_predict, count - 2, words + 2, &help));
  if (help) return sl_fail(SL_ERR_INPUT, "--help: is for the command line; expected flags of a prediction");
  SL_TRY(check_flags(&options));
  SL_TRY(sl_pool_apply(&options, sl_command_predict.bit));
  options.argc = count;
  options.argv = words;
  struct sl_import texts;
  SL_TRY(sl_import_apply(&texts, &options, sl_command_predict.bit));
  const enum sl_status status = sl_import_explain(&texts, sl_predict_record(&options, options.trace, &record));
  sl_import_free(&texts);
  SL_TRY(status);
  r->record = sl_json_text(record, JSON_COMPACT);
  json_decref(record);
  return r->record != NULL ? SL_OK : sl_fail(SL_ERR_MEMORY, "out of memory: a record");
}

/* Predicts with our own locale, warning sink and error message in this thread, and restores the caller's. */
static enum sl_status predict_apart(struct shardlab_result *r, const char *const inputs[3], const char *const *flags) {
  int count;
  const locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  if (plain == (locale_t)0) return sl_fail(SL_ERR_MEMORY, "out of memory: a locale");
  const locale_t before = uselocale(plain);
  sl_warn_set_sink(keep_warning, r);
  enum sl_status status = make_words(r, inputs, flags, &count);
  if (status == SL_OK) status = predict(r, count);
  sl_warn_set_sink(NULL, NULL);
  uselocale(before);
  freelocale(plain);
  free(r->words);
  r->words = NULL;
  return status;
}

int shardlab_predict(const char *model, const char *config, const char *cluster, const char *const *flags,
                     shardlab_result **result) {
  const char *const inputs[3] = {model, config, cluster};
  *result = calloc(1, sizeof **result);
  if (*result == NULL) return SHARDLAB_FAILED;
  sl_error_clear();
  const enum sl_status status = predict_apart(*result, inputs, flags);
  if (status != SL_OK) (*result)->error = strdup(sl_error_message());
  sl_error_clear();
  return sl_exit_code(status) == 0 ? SHARDLAB_OK : sl_exit_code(status) == 2 ? SHARDLAB_BAD_INPUT : SHARDLAB_FAILED;
}

const char *shardlab_record(const shardlab_result *result) {
  return result != NULL ? result->record : NULL;
}

const char *shardlab_error(const shardlab_result *result) {
  if (result != NULL && result->record != NULL) return NULL;
  return result != NULL && result->error != NULL ? result->error : "out of memory";
}

size_t shardlab_warning_count(const shardlab_result *result) {
  return result != NULL ? result->warning_count : 0;
}

const char *shardlab_warning(const shardlab_result *result, size_t i) {
  return i < shardlab_warning_count(result) ? result->warnings[i] : NULL;
}

void shardlab_free(shardlab_result *result) {
  if (result == NULL) return;
  for (size_t i = 0; i < result->warning_count; i++) free(result->warnings[i]);
  free(result->warnings);
  free(result->record);
  free(result->error);
  free(result);
}
