/* label: unit
 * Accelerate's MEGATRON_LM: the defaults of its MegatronLMPlugin, which are not Megatron-LM's, and the words that it
 * reads. */
#include "core/base/json_get.h"
#include "core/interop/accelerate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static char warned[2048];

static void keep(void *context, const char *text) {
  (void)context;
  snprintf(warned, sizeof warned, "%s", text);
}

/* What becomes of a file; NULL: it is refused. */
static json_t *try_text(const char *text) {
  int64_t world = 0, per_machine;
  json_t *config = NULL;
  warned[0] = '\0';
  sl_error_clear();
  sl_warn_set_sink(keep, NULL);
  const enum sl_status status = sl_accelerate_read("f", text, strlen(text), false, &world, &per_machine, &config, NULL);
  sl_warn_set_sink(NULL, NULL);
  assert_true((status == SL_OK) == (config != NULL));
  return config;
}

static json_t *read_text(const char *text) {
  json_t *config = try_text(text);
  if (config == NULL) fail_msg("%s: %s", text, sl_error_message());
  return config;
}

#define LM "distributed_type: MEGATRON_LM\nnum_processes: 8\nmegatron_lm_config:\n"

/* "null": there is no such key. */
static void settings_are_those_of_the_plugin(void **state) {
  (void)state;
  static const struct {
    const char *text, *path, *json;
  } cases[] = {
      {LM "  megatron_lm_recompute_activations: true", "shardlab.recompute", "\"full\""},
      {LM "  megatron_lm_recompute_activations: false", "shardlab.recompute", "\"full\""},
      {LM "  megatron_lm_recompute_method: block\n  megatron_lm_recompute_num_layers: 0", "shardlab.recompute",
       "\"none\""},
      {LM "  megatron_lm_pp_degree: 1", "shardlab.cp", "2"},
      {LM "  megatron_lm_context_parallel_size: 1", "shardlab.cp", "null"},
      {LM "  megatron_lm_context_parallel_size: 4", "shardlab.cp", "4"},
      {LM "  megatron_lm_pp_degree: 1", "zero_optimization.overlap_comm", "false"},
      {LM "  megatron_lm_pp_degree: 1", "shardlab.make_vocab_size_divisible_by", "128"},
      {LM "  megatron_lm_attention_backend: true", "shardlab.attention", "null"},
      {LM "  megatron_lm_attention_backend: 0", "shardlab.attention", "null"},
      {LM "  megatron_lm_attention_backend: 'T'", "shardlab.attention", "null"},
      {LM "  megatron_lm_use_distributed_optimizer: 'Y'", "shardlab.preset", "\"accelerate-megatron\""},
      {LM "  megatron_lm_use_distributed_optimizer: 1", "shardlab.preset", "\"accelerate-megatron\""},
      {LM "  megatron_lm_use_distributed_optimizer: 'f'", "shardlab.preset", "\"megatron-lm\""},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    json_t *config = read_text(cases[i].text), *want = json_loads(cases[i].json, JSON_DECODE_ANY, NULL);
    const json_t *has = sl_json_at(config, cases[i].path);
    if (has == NULL ? !json_is_null(want) : !json_equal(has, want))
      fail_msg("%s: %s is not %s", cases[i].text, cases[i].path, cases[i].json);
    json_decref(want);
    json_decref(config);
  }
}

static void what_does_not_start_is_refused(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {LM "  megatron_lm_attention_backend: fused",
       "f:4:3: megatron_lm_config.megatron_lm_attention_backend: is \"fused\"; expected true or false, with both of "
       "which "
       "Transformer Engine chooses: Accelerate loads no other word"},
      {LM "  megatron_lm_recompute_granularity: selective",
       "f:4:3: megatron_lm_config.megatron_lm_recompute_granularity: is \"selective\"; expected full: Megatron-LM does "
       "not "
       "start with selective beside a recompute_method, and Accelerate always gives one"},
      {LM "  megatron_lm_recompute_num_layers: 0",
       "f:4:3: megatron_lm_config.megatron_lm_recompute_num_layers: is 0; expected 1: larger pieces are not modelled"},
      {LM "  megatron_lm_recompute_method: block",
       "f:4:3: megatron_lm_config.megatron_lm_recompute_method: is \"block\"; expected uniform, or "
       "recompute_num_layers 0: some layers alone are not modelled"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    json_t *config = try_text(cases[i][0]);
    if (config != NULL) fail_msg("taken: %s", cases[i][0]);
    assert_string_equal(sl_error_message(), cases[i][1]);
  }
  sl_error_clear();
}

/* What Accelerate takes of itself is said where nobody would expect it. */
static void accelerates_odd_defaults_are_said(void **state) {
  (void)state;
#define CP_IS_2 "megatron_lm_context_parallel_size is 2 (1 is none)"
#define FULL                                                                                                           \
  "megatron_lm_recompute_granularity is full (megatron_lm_recompute_method block with "                                \
  "megatron_lm_recompute_num_layers 0 is none)"
#define UNHEARD(what)                                                                                                  \
  "f: megatron_lm_recompute_activations has no effect: Accelerate does not hand it to Megatron-LM; recomputation "     \
  "is " what ", of megatron_lm_recompute_granularity and its method and number of layers"
#define SAYS_NONE "  megatron_lm_recompute_method: block\n  megatron_lm_recompute_num_layers: 0\n"
  static const char *const cases[][2] = {
      {LM "  megatron_lm_pp_degree: 1", "f: Accelerate's defaults: " CP_IS_2 "; " FULL},
      {LM "  megatron_lm_context_parallel_size: 1", "f: Accelerate's defaults: " FULL},
      {LM "  megatron_lm_recompute_granularity: full", "f: Accelerate's defaults: " CP_IS_2},
      {LM "  megatron_lm_context_parallel_size: 2\n  megatron_lm_recompute_num_layers: 1", ""},
      {LM "  megatron_lm_recompute_activations: false", UNHEARD("full")},
      {LM SAYS_NONE "  megatron_lm_recompute_activations: true", UNHEARD("none")}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    json_t *config = read_text(cases[i][0]);
    assert_string_equal(warned, cases[i][1]);
    json_decref(config);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(settings_are_those_of_the_plugin),
                                     cmocka_unit_test(what_does_not_start_is_refused),
                                     cmocka_unit_test(accelerates_odd_defaults_are_said)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
