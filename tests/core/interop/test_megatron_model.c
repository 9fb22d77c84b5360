/* label: unit
 * Models written as Megatron-LM's arguments, and read again. */
#include "core/interop/megatron_model_write.h"
#include "core/model/model.h"

#include "tests/core/interop/megatron_reading.h"

#include <stdlib.h>

static json_t *parse(const char *text) {
  json_error_t error;
  json_t *root = json_loads(text, 0, &error);
  if (root == NULL) fail_msg("%s: %s", error.text, text);
  return root;
}

/* The whole config.json of a model, with its defaults, and without its name. */
static json_t *whole(json_t *config) {
  const struct sl_json doc = {.root = config, .name = "model.json"};
  struct sl_model model;
  if (sl_model_from_json(&model, &doc) != SL_OK) fail_msg("%s: %s", sl_error_message(), json_dumps(config, 0));
  json_t *out = sl_model_to_json(&model);
  json_object_del(out, "_name_or_path");
  sl_model_free(&model);
  return out;
}

/* The arguments of a model, to be freed; NULL: refused. */
static char *arguments_of(const char *config) {
  json_t *given = parse(config), *model = whole(given);
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  assert_non_null(out);
  sl_error_clear();
  const enum sl_status status = sl_megatron_write_model(model, out);
  fclose(out);
  json_decref(given);
  json_decref(model);
  if (status == SL_OK) return text;
  assert_int_equal(status, SL_ERR_INPUT);
  free(text);
  return NULL;
}

#define LATER                                                                                                          \
  "\"vocab_size\": 99, \"hidden_size\": 24, \"num_hidden_layers\": 3, \"num_attention_heads\": 4, "                    \
  "\"num_key_value_heads\": 2, \"intermediate_size\": 40, \"max_position_embeddings\": 64, "                           \
  "\"initializer_range\": 0.03, \"attention_dropout\": 0.125"
#define OWN                                                                                                            \
  "\"vocab_size\": 99, \"hidden_size\": 24, \"num_layers\": 3, \"num_attention_heads\": 4, "                           \
  "\"max_position_embeddings\": 64"
#define LLAMA3                                                                                                         \
  "\"rope_scaling\": {\"rope_type\": \"llama3\", \"factor\": 16.0, \"low_freq_factor\": 1.0, "                         \
  "\"high_freq_factor\": 4.0, \"original_max_position_embeddings\": 8192}"

static void what_is_written_is_read_again(void **state) {
  (void)state;
  static const char *const models[] = {
      "{\"model_type\": \"gpt2\", \"n_layer\": 3, \"n_embd\": 24, \"n_head\": 4, \"vocab_size\": 99, \"n_inner\": 40, "
      "\"attn_pdrop\": 0.125, \"embd_pdrop\": 0.25, \"resid_pdrop\": 0.25, \"tie_word_embeddings\": false}",
      "{\"model_type\": \"gpt_bigcode\", \"n_layer\": 3, \"n_embd\": 24, \"n_head\": 4, \"vocab_size\": 99}",
      "{\"model_type\": \"bloom\", \"n_layer\": 3, \"hidden_size\": 24, \"n_head\": 4, \"vocab_size\": 99, "
      "\"seq_length\": 64, \"hidden_dropout\": 0.25}",
      "{\"model_type\": \"llama\", \"head_dim\": 10, \"rope_theta\": 7000, " LLAMA3 ", " LATER "}",
      "{\"model_type\": \"llama\", \"attention_bias\": true, \"mlp_bias\": true, \"tie_word_embeddings\": true, " LATER
      "}",
      "{\"model_type\": \"qwen2\", \"rms_norm_eps\": 1e-4, " LATER "}",
      "{\"model_type\": \"qwen3\", \"head_dim\": 10, " LATER "}",
      "{\"model_type\": \"starcoder2\", \"residual_dropout\": 0.25, \"embedding_dropout\": 0.25, " LATER "}",
      "{\"model_type\": \"starcoder2\", \"use_bias\": false, " LATER "}",
      "{\"model_type\": \"nemotron\", \"head_dim\": 10, \"partial_rotary_factor\": 0.6, " LATER "}",
      "{\"model_type\": \"nemotron\", \"head_dim\": 8, \"attention_bias\": true, \"mlp_bias\": true, " LATER "}",
      "{\"model_type\": \"arcee\", " LATER "}",
      "{\"model_type\": \"megatron\", \"num_query_groups\": 2, " OWN "}",
      "{\"model_type\": \"megatron\", \"num_query_groups\": 2, \"kv_channels\": 10, \"ffn_hidden_size\": 40, "
      "\"normalization\": \"RMSNorm\", \"qk_layernorm\": true, \"gated_linear_unit\": true, \"activation_func\": "
      "\"silu\", \"add_bias_linear\": false, \"position_embedding_type\": \"rope\", \"rotary_percent\": 0.6, "
      "\"hidden_dropout\": 0.25, \"layernorm_epsilon\": 1e-4, \"init_method_std\": 0.03, " OWN "}",
      "{\"model_type\": \"megatron\", \"position_embedding_type\": \"none\", \"add_bias_linear\": false, "
      "\"add_qkv_bias\": true, \"untie_embeddings_and_output_weights\": true, " OWN "}",
      "{\"model_type\": \"megatron\", \"position_embedding_type\": \"alibi\", \"activation_func\": \"relu2\", "
      "\"layernorm_zero_centered_gamma\": true, \"embed_layernorm\": true, " OWN "}"};
  for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
    char *arguments = arguments_of(models[i]), text[2048];
    if (arguments == NULL) fail_msg("%s: %s", models[i], sl_error_message());
    json_t *given = parse(models[i]), *wanted = whole(given), *config, *model;
    for (char *c = arguments; *c != '\0'; c++) *c = *c == '\n' ? ' ' : *c;
    snprintf(text, sizeof text, NEEDED "%s", arguments);
    read_as(text, &config, &model);
    json_t *got = whole(model);
    if (!json_equal(got, wanted)) fail_msg("%s\n%s\n%s", text, json_dumps(wanted, 0), json_dumps(got, 0));
    json_decref(given);
    json_decref(wanted);
    json_decref(got);
    json_decref(config);
    json_decref(model);
    free(arguments);
  }
}

static void what_has_no_argument_is_named(void **state) {
  (void)state;
  static const struct {
    const char *model, *says;
  } cases[] = {
      {"{\"model_type\": \"gemma\", " LATER "}",
       "--to megatron: model_type: is gemma; expected gpt2, gpt_bigcode, llama"},
      {"{\"model_type\": \"llama\", \"mlp_bias\": true, " LATER "}",
       "mlp_bias: is true; expected attention_bias and mlp_bias, or neither"},
      {"{\"model_type\": \"qwen3\", \"attention_bias\": true, " LATER "}", "attention_bias: is true; expected false"},
      {"{\"model_type\": \"llama\", \"hidden_act\": \"gelu\", " LATER "}", "hidden_act: is gelu; expected silu"},
      {"{\"model_type\": \"arcee\", \"hidden_act\": \"relu\", " LATER "}", "hidden_act: is relu; expected relu2"},
      {"{\"model_type\": \"gpt2\", \"activation_function\": \"relu\"}", "activation_function: is relu; expected gelu"},
      {"{\"model_type\": \"gpt2\", \"embd_pdrop\": 0}", "embd_pdrop: is 0, and resid_pdrop is 0.1; expected one"},
      {"{\"model_type\": \"starcoder2\", \"sliding_window\": 8, " LATER "}", "sliding_window: is a window"},
      {"{\"model_type\": \"qwen2\", \"use_sliding_window\": true, \"sliding_window\": 8, \"max_window_layers\": "
       "1, " LATER "}",
       "sliding_window: is a window; expected none"},
      {"{\"model_type\": \"llama\", \"rope_scaling\": {\"rope_type\": \"linear\", \"factor\": 2.0}, " LATER "}",
       "rope_scaling: is linear; expected none, or Llama 3.1's"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char *text = arguments_of(cases[i].model);
    if (text != NULL) fail_msg("%s: wrote %s", cases[i].model, text);
    if (strstr(sl_error_message(), cases[i].says) == NULL) fail_msg("%s: %s", cases[i].model, sl_error_message());
  }
  sl_error_clear();
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_written_is_read_again),
                                     cmocka_unit_test(what_has_no_argument_is_named)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
