/* label: unit
 * Keys of a model's config.json that no family reads: those that would change what is trained are errors, never passed
 * over. */
#include "core/model/model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static enum sl_status parse(struct sl_model *model, const char *text) {
  struct sl_json doc;
  enum sl_status status = sl_json_parse(&doc, "m.json", text, strlen(text));
  if (status != SL_OK) return status;
  status = sl_model_from_json(model, &doc);
  sl_json_free(&doc);
  return status;
}

static void what_is_meant_otherwise_is_an_error(void **state) {
  (void)state;
  static const struct {
    const char *text, *message;
  } cases[] = {
      {"{\"model_type\":\"llama\",\n  \"num_local_experts\":8}",
       "m.json:2:3: num_local_experts: is 8; expected null; experts are not modelled"},
      {"{\"model_type\":\"qwen3\",\n  \"num_experts\":128}",
       "m.json:2:3: num_experts: is 128; expected null; experts are not modelled"},
      {"{\"model_type\":\"llama\",\n  \"num_hidden_layer\":2}",
       "m.json:2:3: num_hidden_layer: unknown key; did you mean \"num_hidden_layers\"?"},
      {"{\"model_type\":\"gpt2\",\n  \"n_haed\":2}", "m.json:2:3: n_haed: unknown key; did you mean \"n_head\"?"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct sl_model model;
    assert_int_equal(parse(&model, cases[i].text), SL_ERR_INPUT);
    assert_string_equal(sl_error_message(), cases[i].message);
    assert_null(model.tensors);
    sl_error_clear();
  }
}

/* A key that is near one that is there, or only like one, is another framework's or a later version's. */
static void other_keys_are_passed_over(void **state) {
  (void)state;
  static const char *const configs[] = {
      "{\"model_type\":\"llama\",\"num_hidden_layers\":2,\"num_hidden_layer\":3}",
      "{\"model_type\":\"llama\",\"moe_intermediate_size\":768,\"max_window_layers\":28,\"hidden_size_in\":4}",
      "{\"model_type\":\"gpt2\",\"n_ctx\":1024,\"num_experts\":1,\"num_local_experts\":null}"};
  for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
    struct sl_model model;
    if (parse(&model, configs[i]) != SL_OK) fail_msg("%s", sl_error_message());
    sl_model_free(&model);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_meant_otherwise_is_an_error),
                                     cmocka_unit_test(other_keys_are_passed_over)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
