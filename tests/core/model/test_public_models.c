/* label: unit
 * Configurations of public models, as Hugging Face has them (public_models.tsv): all are read, and their parameters are
 * as many as published. */
#include "core/model/model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static enum sl_status parse(struct sl_model *model, const char *text) {
  struct sl_json doc;
  SL_TRY(sl_json_parse(&doc, "m.json", text, strlen(text)));
  const enum sl_status status = sl_model_from_json(model, &doc);
  sl_json_free(&doc);
  return status;
}

/* Every row of the table of public models: its parameters, and the same again from what is written of it. */
static void public_models(void **state) {
  (void)state;
  FILE *file = fopen(SL_SOURCE_DIR "/tests/core/model/public_models.tsv", "r");
  char *line = NULL;
  size_t room = 0;
  int rows = 0;
  assert_non_null(file);
  while (getline(&line, &room, file) > 0) {
    char *save, *name = strtok_r(line, "\t", &save);
    if (name[0] == '#') continue;
    const char *total = strtok_r(NULL, "\t", &save), *config = strtok_r(NULL, "\n", &save);
    struct sl_model model, again;
    if (parse(&model, config) != SL_OK) fail_msg("%s: %s", name, sl_error_message());
    if (sl_model_numel(&model) != atoll(total))
      fail_msg("%s: %lld parameters, expected %s", name, (long long)sl_model_numel(&model), total);
    json_t *dump = sl_model_to_json(&model);
    char *text = json_dumps(dump, 0);
    if (parse(&again, text) != SL_OK) fail_msg("%s: %s", name, sl_error_message());
    assert_memory_equal(&model.form, &again.form, sizeof model.form);
    assert_int_equal(model.tensor_count, again.tensor_count);
    for (int i = 0; i < model.tensor_count; i++)
      assert_memory_equal(&model.tensors[i], &again.tensors[i], sizeof *model.tensors);
    free(text);
    json_decref(dump);
    sl_model_free(&model);
    sl_model_free(&again);
    rows++;
  }
  free(line);
  fclose(file);
  assert_true(rows >= 40);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(public_models)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
