/* label: unit
 * Models: presets and their parameter counts, Hugging Face configs, logical tensors, flops, and broken configs. */
#include "core/model/model.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static enum sl_status parse(struct sl_model *model, const char *text) {
  struct sl_json doc;
  enum sl_status status = sl_json_parse(&doc, "m.json", text, strlen(text));
  if (status != SL_OK) return status;
  status = sl_model_from_json(model, &doc);
  sl_json_free(&doc);
  return status;
}

static void expect_message(enum sl_status status, const char *message) {
  char said[2048];
  snprintf(said, sizeof said, "%s", sl_error_message());
  sl_error_clear();
  assert_string_equal(said, message);
  assert_int_equal(status, SL_ERR_INPUT);
}

static const struct sl_tensor *tensor(const struct sl_model *model, const char *name) {
  const int i = sl_model_find(model, name);
  if (i < 0) fail_msg("no tensor %s", name);
  return &model->tensors[i];
}

static void presets_have_their_published_size(void **state) {
  (void)state;
  static const struct {
    const char *name;
    int64_t numel;
  } want[] = {
      {"gpt2", 124439808},           {"gpt2-medium", 354823168},     {"gpt2-large", 774030080},
      {"gpt2-xl", 1557611200},       {"llama2-7b", 6738415616},      {"llama2-13b", 13015864320},
      {"llama2-70b", 68976648192},   {"llama3-8b", 8030261248},      {"llama3-70b", 70553706496},
      {"llama3-405b", 405853388800}, {"zero-7.5b", 7459729408},      {"gpt2-tiny", 858880},
      {"gpt2-mini", 4870144},        {"nemotron4-15b", 15628775424}, {"nemotron4-340b", 341029195776},
  };
  for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
    struct sl_model model;
    assert_int_equal(sl_model_load(&model, want[i].name), SL_OK);
    if (sl_model_numel(&model) != want[i].numel)
      fail_msg("%s: %lld parameters, expected %lld", want[i].name, (long long)sl_model_numel(&model),
               (long long)want[i].numel);
    assert_string_equal(model.name, want[i].name);
    sl_model_free(&model);
  }
}

/* The papers round; within 2% of the name's figure (GPT-3's 13B has 5120 for 5140). */
static void presets_are_near_their_papers(void **state) {
  (void)state;
  static const struct {
    const char *name;
    double numel;
  } want[] = {{"gpt3-1.3b", 1.3e9}, {"gpt3-2.7b", 2.7e9}, {"gpt3-6.7b", 6.7e9},
              {"gpt3-13b", 13.0e9}, {"gpt3-175b", 175e9}, {"megatron-1t", 1008.0e9}};
  for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
    struct sl_model model;
    assert_int_equal(sl_model_load(&model, want[i].name), SL_OK);
    assert_true(fabs((double)sl_model_numel(&model) / want[i].numel - 1) < 0.02);
    sl_model_free(&model);
  }
}

/* Every preset loads; its dump loads again and says the same. */
static void dumps_read_back(void **state) {
  (void)state;
  int count = 0;
  for (const char *name; (name = sl_model_preset_name(count)) != NULL; count++) {
    struct sl_model model, again;
    assert_int_equal(sl_model_load(&model, name), SL_OK);
    json_t *dump = sl_model_to_json(&model);
    assert_non_null(dump);
    char *text = json_dumps(dump, 0);
    assert_int_equal(parse(&again, text), SL_OK);
    json_t *second = sl_model_to_json(&again);
    assert_true(json_equal(dump, second));
    assert_int_equal(sl_model_numel(&model), sl_model_numel(&again));
    assert_string_equal(again.name, name);
    json_decref(second);
    json_decref(dump);
    free(text);
    sl_model_free(&model);
    sl_model_free(&again);
  }
  assert_int_equal(count, 21);
  assert_null(sl_model_preset_name(-1));
}

static void gpt2_tensors_in_order(void **state) {
  (void)state;
  struct sl_model model;
  assert_int_equal(parse(&model, "{\"model_type\":\"gpt2\",\"vocab_size\":101,\"n_positions\":13,\"n_embd\":12,"
                                 "\"n_layer\":3,\"n_head\":2,\"n_inner\":35,\"n_ctx\":13,\"torch_dtype\":\"float32\"}"),
                   SL_OK);
  assert_int_equal(model.tensor_count, 2 + 3 * 12 + 2);
  assert_string_equal(model.tensors[0].name, "wte.weight");
  assert_string_equal(model.tensors[1].name, "wpe.weight");
  assert_string_equal(model.tensors[2].name, "h.0.ln_1.weight");
  assert_string_equal(model.tensors[37].name, "h.2.mlp.c_proj.bias");
  assert_string_equal(model.tensors[38].name, "ln_f.weight");
  assert_int_equal(model.head_dim, 6);
  const struct sl_tensor *t = tensor(&model, "transformer.h.1.attn.c_attn.weight");
  assert_int_equal(t->n_dim, 2);
  assert_int_equal(t->shape[0], 12);
  assert_int_equal(t->shape[1], 36);
  assert_int_equal(t->numel, 432);
  assert_int_equal(t->layer, 1);
  assert_int_equal(t->tp_dim, 1);
  assert_int_equal(t->tp_blocks, 3);
  assert_true(t->init == SL_INIT_NORMAL && t->init_scale == 0.02);
  t = tensor(&model, "h.2.mlp.c_proj.weight");
  assert_int_equal(t->shape[0], 35);
  assert_int_equal(t->shape[1], 12);
  assert_int_equal(t->tp_dim, 0);
  assert_true(fabs(t->init_scale - 0.02 / sqrt(6.0)) < 1e-17);
  t = tensor(&model, "h.2.attn.c_proj.bias");
  assert_true(t->tp_dim == -1 && t->init == SL_INIT_ZEROS && t->n_dim == 1 && t->numel == 12);
  t = tensor(&model, "h.0.attn.c_attn.bias");
  assert_true(t->tp_dim == 0 && t->tp_blocks == 3 && t->numel == 36);
  t = tensor(&model, "h.0.mlp.c_fc.bias");
  assert_true(t->tp_dim == 0 && t->tp_blocks == 1 && t->numel == 35);
  t = tensor(&model, "ln_f.weight");
  assert_true(t->init == SL_INIT_ONES && t->layer == 3 && t->tp_dim == -1);
  t = tensor(&model, "wte.weight");
  assert_true(t->layer == -1 && t->tp_dim == 0 && t->shape[0] == 101 && t->decay);
  assert_int_equal(sl_model_find(&model, "lm_head.weight"), -1);
  /* 101*12 + 13*12 + 3*(12*36+36 + 12*12+12 + 12*35+35 + 35*12+12 + 48) + 24 */
  assert_int_equal(sl_model_numel(&model), 1212 + 156 + 3 * (468 + 156 + 455 + 432 + 48) + 24);
  sl_model_free(&model);
}

static void untied_head_is_a_tensor(void **state) {
  (void)state;
  struct sl_model tied, untied;
  assert_int_equal(parse(&tied, "{\"model_type\":\"gpt2\",\"n_layer\":1}"), SL_OK);
  assert_int_equal(parse(&untied, "{\"model_type\":\"gpt2\",\"n_layer\":1,\"tie_word_embeddings\":false}"), SL_OK);
  assert_int_equal(sl_model_numel(&untied) - sl_model_numel(&tied), 50257 * 768);
  assert_int_equal(sl_model_find(&untied, "lm_head.weight"), untied.tensor_count - 1);
  /* the head multiplies in both */
  assert_true(sl_model_flops(&tied, 77, 11) == sl_model_flops(&untied, 77, 11));
  sl_model_free(&tied);
  sl_model_free(&untied);
}

static void llama_tensors(void **state) {
  (void)state;
  struct sl_model model;
  assert_int_equal(parse(&model, "{\"model_type\":\"llama\",\"vocab_size\":97,\"hidden_size\":24,"
                                 "\"num_hidden_layers\":2,\"num_attention_heads\":6,\"num_key_value_heads\":2,"
                                 "\"intermediate_size\":31,\"head_dim\":10,\"rms_norm_eps\":1e-5,"
                                 "\"rope_parameters\":{\"rope_type\":\"default\",\"rope_theta\":5e5}}"),
                   SL_OK);
  assert_int_equal(model.tensor_count, 1 + 2 * 9 + 2);
  const struct sl_tensor *t = tensor(&model, "model.layers.1.self_attn.q_proj.weight");
  assert_true(t->shape[0] == 60 && t->shape[1] == 24 && t->tp_dim == 0);
  t = tensor(&model, "layers.0.self_attn.v_proj.weight");
  assert_true(t->shape[0] == 20 && t->shape[1] == 24 && t->tp_dim == 0);
  t = tensor(&model, "layers.0.self_attn.o_proj.weight");
  assert_true(t->shape[0] == 24 && t->shape[1] == 60 && t->tp_dim == 1);
  t = tensor(&model, "layers.0.mlp.down_proj.weight");
  assert_true(t->shape[0] == 24 && t->shape[1] == 31 && t->tp_dim == 1);
  assert_true(model.form.rotary.base == 5e5 && model.norm_epsilon == 1e-5 && !model.tied_head);
  assert_int_equal(model.tensors[model.tensor_count - 1].layer, 2);
  sl_model_free(&model);
}

static void mlp_tensors(void **state) {
  (void)state;
  struct sl_model model;
  assert_int_equal(parse(&model, "{\"model_type\":\"mlp\",\"dims\":[8,64,5,3]}"), SL_OK);
  assert_int_equal(model.tensor_count, 6);
  assert_int_equal(sl_model_numel(&model), 8 * 64 + 64 + 64 * 5 + 5 + 5 * 3 + 3);
  const struct sl_tensor *t = tensor(&model, "layers.1.weight");
  assert_true(t->shape[0] == 5 && t->shape[1] == 64 && t->layer == 1 && t->tp_dim == 0);
  assert_true(t->init == SL_INIT_UNIFORM && t->init_scale == 0.125);
  t = tensor(&model, "layers.1.bias");
  assert_true(t->n_dim == 1 && t->numel == 5 && t->init_scale == 0.125 && t->tp_dim == 0);
  assert_int_equal(tensor(&model, "layers.0.bias")->tp_dim, 0);
  assert_int_equal(tensor(&model, "layers.2.weight")->tp_dim, 0);
  assert_true(sl_model_flops(&model, 7, 1) == 7 * 6.0 * (8 * 64 + 64 * 5 + 5 * 3));
  sl_model_free(&model);
}

/* Megatron-LM's closed form (arXiv:2104.04473, eq. 3 without its recomputation factor 4/3):
 * 72 B s l h^2 (1 + s / (6 h) + V / (12 l h)). */
static void flops_equal_the_closed_form(void **state) {
  (void)state;
  struct sl_model model;
  assert_int_equal(sl_model_load(&model, "gpt3-175b"), SL_OK);
  const double tokens = 3.0 * 2048, s = 2048, l = 96, h = 12288, vocab = 50257;
  const double want = 72 * tokens * l * h * h * (1 + s / (6 * h) + vocab / (12 * l * h));
  assert_true(fabs(sl_model_flops(&model, 3 * 2048, 2048) / want - 1) < 1e-12);
  sl_model_free(&model);
}

/* A scaling is part of the form, under its old and its new key. */
static void rope_scaling_is_read(void **state) {
  (void)state;
  struct sl_model model;
  assert_int_equal(parse(&model,
                         "{\"model_type\":\"llama\",\"max_position_embeddings\":131072,\"rope_scaling\":{\"rope_type\":"
                         "\"llama3\",\"factor\":8,\"low_freq_factor\":1,\"high_freq_factor\":4,"
                         "\"original_max_position_embeddings\":8192}}"),
                   SL_OK);
  assert_true(model.form.rotary.scaling == SL_ROTARY_LLAMA3 && model.form.rotary.factor == 8);
  assert_true(model.form.rotary.low == 1 && model.form.rotary.high == 4 && model.form.rotary.original == 8192);
  sl_model_free(&model);
  assert_int_equal(parse(&model, "{\"model_type\":\"qwen2\",\"rope_parameters\":{\"type\":\"yarn\",\"factor\":4}}"),
                   SL_OK);
  assert_true(model.form.rotary.scaling == SL_ROTARY_YARN && model.form.rotary.original == 32768);
  assert_true(fabs(model.form.rotary.attention - (0.1 * log(4) + 1)) < 1e-15);
  sl_model_free(&model);
  assert_int_equal(parse(&model, "{\"model_type\":\"llama\",\"rope_scaling\":null}"), SL_OK);
  assert_int_equal(model.form.rotary.scaling, SL_ROTARY_PLAIN);
  sl_model_free(&model);
}

/* Gemma 3: five layers of six have the window, and frequencies of their own. */
static void windows_alternate(void **state) {
  (void)state;
  struct sl_model model;
  assert_int_equal(parse(&model, "{\"model_type\":\"gemma3_text\",\"num_hidden_layers\":7,\"sliding_window\":512}"),
                   SL_OK);
  for (int i = 0; i < 7; i++) {
    assert_int_equal(sl_model_window(&model, i), i == 5 ? 0 : 512);
    assert_true(sl_model_rotary(&model, i)->base == (i == 5 ? 1e6 : 1e4));
  }
  assert_false(sl_model_blocks_alike(&model));
  assert_true(model.form.embedding_scale == sqrt(2304));
  sl_model_free(&model);
  assert_int_equal(parse(&model, "{\"model_type\":\"mistral\"}"), SL_OK);
  assert_true(sl_model_blocks_alike(&model) && sl_model_window(&model, 31) == 4096);
  sl_model_free(&model);
  assert_int_equal(parse(&model, "{\"model_type\":\"mistral\",\"sliding_window\":null}"), SL_OK);
  assert_int_equal(sl_model_window(&model, 31), 0);
  sl_model_free(&model);
}

static char warned[512];

static void keep(void *context, const char *text) {
  (void)context;
  snprintf(warned, sizeof warned, "%s", text);
}

/* google/gemma-3-4b-pt: the 4,300,079,472 published parameters without vision tower and projector. */
#define GEMMA_3_4B                                                                                                     \
  "{\"model_type\":\"gemma3\",\"vision_config\":{\"hidden_size\":1152},\"text_config\":{\"model_type\":\"%s\","        \
  "\"hidden_size\":%d,\"intermediate_size\":10240,\"num_hidden_layers\":34,\"sliding_window\":1024}}"

/* Of a model that reads images the text model is taken, and that is said; errors name the place inside. */
static void parts_of_a_model_are_named(void **state) {
  (void)state;
  struct sl_model model;
  char text[512];
  sl_warn_set_sink(keep, NULL);
  snprintf(text, sizeof text, GEMMA_3_4B, "gemma3_text", 2560);
  assert_int_equal(parse(&model, text), SL_OK);
  assert_true(sl_model_numel(&model) == 4300079472 - 416866032 - 2950272);
  assert_string_equal(warned, "m.json: model_type: is \"gemma3\"; only its text_config, \"gemma3_text\", is modelled");
  sl_model_free(&model);
  snprintf(text, sizeof text, GEMMA_3_4B, "gemma3_text", 0);
  assert_int_equal(parse(&model, text), SL_ERR_INPUT);
  assert_non_null(strstr(sl_error_message(), ": text_config.hidden_size: is 0;"));
  sl_error_clear();
  snprintf(text, sizeof text, GEMMA_3_4B, "gpt5", 2560);
  assert_int_equal(parse(&model, text), SL_ERR_INPUT);
  assert_non_null(strstr(sl_error_message(), "m.json:1:2: model_type: is \"gemma3\"; expected "));
  sl_error_clear();
  assert_int_equal(parse(&model, "{\"model_type\":\"gpt2\",\"quantization_config\":{\"bits\":4}}"), SL_OK);
  assert_non_null(strstr(warned, "quantization_config: is not modelled"));
  sl_model_free(&model);
  sl_warn_set_sink(NULL, NULL);
}

#define FAMILIES                                                                                                       \
  "\"gpt2\", \"gpt_bigcode\", \"llama\", \"arcee\", \"seed_oss\", \"stablelm\", \"mistral\", \"qwen2\", \"qwen3\", "   \
  "\"gemma\", \"gemma2\", \"gemma3_text\", \"phi\", \"phi3\", \"olmo2\", \"starcoder2\", \"nemotron\", \"gpt_neox\", " \
  "\"gptj\", \"opt\", \"falcon\", \"bloom\", \"mpt\", \"megatron\" or \"mlp\""

static const struct {
  const char *text, *message;
} broken_configs[] = {
    {"[]", "m.json: expected a JSON object"},
    {"{}", "m.json: model_type: is missing; expected " FAMILIES},
    {"{\"model_type\":\"bert\"}", "m.json:1:2: model_type: is \"bert\"; expected " FAMILIES},
    {"{\"model_type\":\"gemma3\"}",
     "m.json:1:2: model_type: is \"gemma3\"; expected " FAMILIES "; nearest is \"gemma3_text\""},
    {"{\"model_type\": \"mixtral\"}",
     "m.json:1:2: model_type: is \"mixtral\"; expected " FAMILIES "; nearest is \"mistral\"; experts are not modelled"},
    {"{\"model_type\": \"new_moe\"}",
     "m.json:1:2: model_type: is \"new_moe\"; expected " FAMILIES "; experts are not modelled"},
    {"{\"model_type\": \"smollm3\"}",
     "m.json:1:2: model_type: is \"smollm3\"; expected " FAMILIES "; nearest is \"llama\""},
    {"{\"model_type\":\"gpt2\",\n  \"n_layer\":0}",
     "m.json:2:3: n_layer: is 0; expected a whole number from 1 to 4096"},
    {"{\"model_type\":\"gpt2\",\n  \"n_embd\":\"768\"}",
     "m.json:2:3: n_embd: is \"768\"; expected a whole number from 1 to 1048576"},
    {"{\"model_type\":\"gpt2\",\n  \"vocab_size\":50257.5}",
     "m.json:2:3: vocab_size: is 50257.5; expected a whole number from 1 to 67108864"},
    {"{\"model_type\":\"gpt2\",\n  \"n_embd\":770}",
     "m.json: n_head: is 12; expected a divisor of n_embd, which is 770"},
    {"{\"model_type\":\"gpt2\",\n  \"hidden_size\":768,\n  \"num_attention_heads\":7}",
     "m.json:3:3: num_attention_heads: is 7; expected a divisor of n_embd, which is 768"},
    {"{\"model_type\":\"gpt2\",\n  \"activation_function\":\"silu\"}",
     "m.json:2:3: activation_function: is \"silu\"; expected \"gelu_new\", \"gelu_pytorch_tanh\", \"gelu_fast\", "
     "\"gelu\", \"relu\" or \"relu2\""},
    {"{\"model_type\":\"gpt2\",\n  \"scale_attn_by_inverse_layer_idx\":true}",
     "m.json:2:3: scale_attn_by_inverse_layer_idx: is true; expected false; the other is not modelled"},
    {"{\"model_type\":\"gpt2\",\n  \"scale_attn_weights\":false}",
     "m.json:2:3: scale_attn_weights: is false; expected true; the other is not modelled"},
    {"{\"model_type\":\"gpt2\",\n  \"reorder_and_upcast_attn\":true}",
     "m.json:2:3: reorder_and_upcast_attn: is true; expected false; the other is not modelled"},
    {"{\"model_type\":\"gpt2\",\n  \"add_cross_attention\":true}",
     "m.json:2:3: add_cross_attention: is true; expected false; the other is not modelled"},
    {"{\"model_type\":\"gpt2\",\n  \"attn_pdrop\":1}",
     "m.json:2:3: attn_pdrop: is 1; expected a number from 0 to 0.999"},
    {"{\"model_type\":\"gpt2\",\n  \"tie_word_embeddings\":1}",
     "m.json:2:3: tie_word_embeddings: is 1; expected true or false"},
    {"{\"model_type\":\"llama\",\n  \"num_key_value_heads\":5}",
     "m.json:2:3: num_key_value_heads: is 5; expected a divisor of num_attention_heads, which is 32"},
    {"{\"model_type\":\"llama\",\n  \"num_attention_heads\":48}",
     "m.json:2:3: num_attention_heads: is 48; expected a divisor of hidden_size, which is 4096"},
    {"{\"model_type\":\"llama\",\n  \"hidden_act\":\"relu\"}",
     "m.json:2:3: hidden_act: is \"relu\"; expected \"gelu_new\", \"gelu_pytorch_tanh\", \"gelu_fast\", \"gelu\", "
     "\"silu\" or "
     "\"swish\""},
    {"{\"model_type\":\"llama\",\n  \"rope_scaling\":{\"rope_type\":\"longrope\"}}",
     "m.json:2:19: rope_scaling.rope_type: is \"longrope\"; expected \"default\", \"linear\", \"dynamic\", \"llama3\" "
     "or "
     "\"yarn\"; no other is modelled"},
    {"{\"model_type\":\"llama\",\n  \"rope_scaling\":{\"type\":\"linear\"}}",
     "m.json:2:3: rope_scaling.factor: is missing; expected a number, for \"linear\""},
    {"{\"model_type\":\"gpt_neox\",\n  \"rotary_pct\":0.01}",
     "m.json:2:3: rotary_pct: is 0.01; expected a share that turns an even number of elements; of 96 it turns 0"},
    {"{\"model_type\":\"gptj\",\n  \"rotary_dim\":63}",
     "m.json:2:3: rotary_dim: is 63; expected an even number up to the head dimension, which is 256"},
    {"{\"model_type\":\"opt\",\n  \"word_embed_proj_dim\":512}",
     "m.json:2:3: word_embed_proj_dim: is 512; expected hidden_size, which is 768: no projection is modelled"},
    {"{\"model_type\":\"opt\",\n  \"do_layer_norm_before\":false}",
     "m.json:2:3: do_layer_norm_before: is false; expected true; the other is not modelled"},
    {"{\"model_type\":\"falcon\",\n  \"alibi\":true}",
     "m.json:2:3: alibi: is true; expected false; the other is not modelled"},
    {"{\"model_type\":\"mpt\",\n  \"attn_config\":{\"clip_qkv\":8}}",
     "m.json:2:18: attn_config.clip_qkv: is 8; expected null; what it asks for is not modelled"},
    {"{\"model_type\":\"gemma2\",\n  \"num_hidden_layers\":2,\"layer_types\":[\"full_attention\"]}",
     "m.json:2:25: layer_types: is [\"full_attention\"]; expected a list of 2, one for each layer"},
    {"{\"model_type\":\"llama\",\n  \"head_dim\":7}",
     "m.json:2:3: head_dim: the head dimension is 7, of which 7 elements are turned; expected an even number of them"},
    {"{\"model_type\":\"llama\",\n  \"head_dim\":65536}",
     "m.json:2:3: head_dim: is 65536; expected a whole number from 1 to 32768"},
    {"{\"model_type\":\"llama\",\n  \"rope_parameters\":{\"rope_theta\":0}}",
     "m.json:2:22: rope_parameters.rope_theta: is 0; expected a number from 1 to 1e+12"},
    {"{\"model_type\":\"mlp\"}",
     "m.json: dims: is missing; expected a list of 2 to 32 widths: input, hidden ..., output"},
    {"{\"model_type\":\"mlp\",\n \"dims\":[8]}",
     "m.json:2:2: dims: is [8]; expected a list of 2 to 32 widths: input, hidden ..., output"},
    {"{\"model_type\":\"mlp\",\n \"dims\":[8,-3]}", "m.json:2:12: dims[1]: expected a whole number from 1 to 4194304"},
    {"{\"model_type\":\"mlp\",\n \"dims\":[8,3],\"activaton\":\"relu\"}",
     "m.json:2:15: activaton: unknown key; expected \"dims\", \"activation\" or \"loss\"; nearest is \"activation\""},
    {"{\"model_type\":\"mlp\",\n \"dims\":[8,3],\"activation\":\"tanh\"}",
     "m.json:2:15: activation: is \"tanh\"; expected \"relu\""},
};

static void broken_configs_say_where_and_what(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof broken_configs / sizeof *broken_configs; i++) {
    struct sl_model model;
    expect_message(parse(&model, broken_configs[i].text), broken_configs[i].message);
    assert_null(model.tensors);
  }
}

static void unknown_words_list_the_presets(void **state) {
  (void)state;
  struct sl_model model;
  assert_int_equal(sl_model_load(&model, "gpt2-xxl"), SL_ERR_INPUT);
  const char *start =
      "model \"gpt2-xxl\": is neither a file nor a preset; nearest preset is \"gpt2-xl\"; presets: gpt2-tiny, ";
  assert_memory_equal(sl_error_message(), start, strlen(start));
  assert_non_null(strstr(sl_error_message(), ", llama3-405b"));
  sl_error_clear();
  assert_int_equal(sl_model_load(&model, "meta-llama/Llama-3.1-8B"), SL_ERR_INPUT); /* as the hub has it */
  assert_non_null(strstr(sl_error_message(), "\"meta-llama/Llama-3.1-8B\": is neither a file nor a preset; nearest "
                                             "preset is \"llama3-8b\""));
  sl_error_clear();
}

static void a_file_is_named_after_its_path(void **state) {
  (void)state;
  char path[] = "test_model_XXXXXX.json";
  const int fd = mkstemps(path, 5);
  assert_true(fd >= 0);
  const char text[] = "// a comment, as DeepSpeed's reader allows\n{\"model_type\":\"mlp\",\"dims\":[2,3],}\n";
  assert_int_equal(write(fd, text, sizeof text - 1), sizeof text - 1);
  close(fd);
  struct sl_model model;
  assert_int_equal(sl_model_load(&model, path), SL_OK);
  unlink(path);
  assert_int_equal(strlen(model.name), sizeof path - 1 - 5);
  assert_memory_equal(model.name, path, sizeof path - 1 - 5);
  sl_model_free(&model);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(presets_have_their_published_size),
      cmocka_unit_test(presets_are_near_their_papers),
      cmocka_unit_test(dumps_read_back),
      cmocka_unit_test(gpt2_tensors_in_order),
      cmocka_unit_test(untied_head_is_a_tensor),
      cmocka_unit_test(llama_tensors),
      cmocka_unit_test(mlp_tensors),
      cmocka_unit_test(flops_equal_the_closed_form),
      cmocka_unit_test(rope_scaling_is_read),
      cmocka_unit_test(windows_alternate),
      cmocka_unit_test(parts_of_a_model_are_named),
      cmocka_unit_test(broken_configs_say_where_and_what),
      cmocka_unit_test(unknown_words_list_the_presets),
      cmocka_unit_test(a_file_is_named_after_its_path),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
