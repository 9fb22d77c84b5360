/* label: unit
 * A checkpoint of another model, optimizer or seed is not taken for one of this training, though its tensors may have
 * the same names and shapes. */
#include "core/checkpoint/fits.h"
#include "core/checkpoint/folder.h"
#include "tests/core/checkpoint/ranks.h"

#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define GPT2 SL_SOURCE_DIR "/tests/mpi/grid_gpt2.json"
#define LLAMA SL_SOURCE_DIR "/tests/mpi/grid_llama.json"
#define BATCH "\"train_batch_size\": 48, \"gradient_accumulation_steps\": 4"
#define ADAM "\"optimizer\": {\"type\": \"AdamW\", \"params\": {\"lr\": 0.1}}"
#define ONE "{" BATCH ", " ADAM "}"

static char path[128];

static void fails(enum sl_status status, const char *word) {
  assert_int_not_equal(status, SL_OK);
  if (strstr(sl_error_message(), word) == NULL) fail_msg("\"%s\" has no \"%s\"", sl_error_message(), word);
  sl_error_clear();
}

/* Saves a model on two ranks; `path` is the checkpoint. */
static void save(const char *model) {
  struct ranks r;
  ranks_open(&r, model, ONE, 2);
  ranks_fill(&r, 7);
  const struct sl_saver_options options = {.folder = ranks_folder, .every = 7, .data_samples = 100};
  if (ranks_save(&r, &options, 7) != SL_OK) fail_msg("%s", sl_error_message());
  ranks_close(&r);
  snprintf(path, sizeof path, "%s/step-000007", ranks_folder);
}

static void fits_what(const char *model, const char *config, const char *word) {
  struct sl_checkpoint from;
  struct ranks r;
  save(GPT2);
  assert_int_equal(sl_checkpoint_open(&from, path), SL_OK);
  ranks_open(&r, model, config, 1);
  fails(sl_checkpoint_fits(&from, &r.f.plan), word);
  ranks_close(&r);
  sl_checkpoint_close(&from);
}

static void of_another_training(void **state) {
  (void)state;
  fits_what(LLAMA, ONE, "another model");
  fits_what(SL_SOURCE_DIR "/tests/mpi/grid_gpt2_dropout.json", ONE, "another model");
  fits_what(GPT2, "{" BATCH ", \"optimizer\": {\"type\": \"SGD\", \"params\": {\"lr\": 0.1}}}", "optimizer is SGD");
  fits_what(GPT2, "{" BATCH ", " ADAM ", \"shardlab\": {\"seed\": 5}}", "--seed: is 5");
}

#define SIZES "\"n_embd\": 20, \"vocab_size\": 67, \"n_positions\": 11"
#define LLAMAS(type, more)                                                                                             \
  "{\"model_type\": \"" type "\", \"num_hidden_layers\": 2, \"num_attention_heads\": 4, \"head_dim\": 6, "             \
  "\"num_key_value_heads\": 2, \"hidden_size\": 21, \"intermediate_size\": 28, \"vocab_size\": 61" more "}"

/* Whether a checkpoint of model `of` is taken for one of `model`; NULL: it is, otherwise what the error says. */
static void taken_for(const char *of, const char *model, const char *word) {
  struct sl_checkpoint from;
  struct ranks r;
  save(of);
  assert_int_equal(sl_checkpoint_open(&from, path), SL_OK);
  ranks_open(&r, model, ONE, 1);
  const enum sl_status status = sl_checkpoint_fits(&from, &r.f.plan);
  if (word != NULL)
    fails(status, word);
  else if (status != SL_OK)
    fail_msg("%s", sl_error_message());
  ranks_close(&r);
  sl_checkpoint_close(&from);
}

/* Tensors of the same names and shapes do not make the same model. */
static void of_a_model_of_the_same_tensors(void **state) {
  (void)state;
  static const char four[] = "{\"model_type\": \"gpt2\", \"n_layer\": 4, \"n_head\": 4, " SIZES "}";
  taken_for(four, "{\"model_type\": \"gpt2\", \"n_layer\": 3, \"n_head\": 4, " SIZES "}",
            "its n_layer is 4; expected 3");
  taken_for(four, "{\"model_type\": \"gpt2\", \"n_layer\": 4, \"n_head\": 2, " SIZES "}",
            "its n_head is 4; expected 2");
  taken_for(four,
            "{\"model_type\": \"gpt2\", \"n_layer\": 4, \"n_head\": 4, \"attn_pdrop\": 0.5, \"_name_or_path\": \"x\", "
            "\"initializer_range\": 0.5, " SIZES "}",
            NULL);
  taken_for(LLAMAS("llama", ""), LLAMAS("mistral", ", \"sliding_window\": 3"),
            "its model_type is \"llama\"; expected \"mistral\"");
  taken_for(LLAMAS("llama", ""), LLAMAS("llama", ", \"rope_theta\": 500.0"),
            "its rope_theta is 10000.0; expected 500.0");
  taken_for(LLAMAS("llama", ""), LLAMAS("llama", ", \"rope_scaling\": {\"rope_type\": \"linear\", \"factor\": 2}"),
            "its rope_scaling is not given; expected {\"rope_type\":\"linear\",\"factor\":2.0}");
  taken_for(LLAMAS("mistral", ", \"sliding_window\": 3"), LLAMAS("mistral", ", \"sliding_window\": null"),
            "its sliding_window is 3; expected null");
  taken_for(LLAMAS("llama", ""), LLAMAS("llama", ", \"max_position_embeddings\": 9000"), NULL);
}

/* Whatever the manifest says of its model, a tensor that no rank would read is none of this one's. */
static void with_tensors_to_spare(void **state) {
  (void)state;
  struct sl_checkpoint from;
  struct ranks r;
  save(GPT2);
  assert_int_equal(sl_checkpoint_open(&from, path), SL_OK);
  ranks_open(&r, "{\"model_type\": \"gpt2\", \"n_layer\": 3, \"n_head\": 4, " SIZES "}", ONE, 1);
  json_object_set_new(json_object_get(from.manifest.doc.root, "model"), "n_layer", json_integer(3));
  fails(sl_checkpoint_fits(&from, &r.f.plan), "it has tensor h.3.");
  ranks_close(&r);
  sl_checkpoint_close(&from);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(of_another_training),
      cmocka_unit_test(of_a_model_of_the_same_tensors),
      cmocka_unit_test(with_tensors_to_spare),
  };
  return cmocka_run_group_tests_name("fits", tests, ranks_make_folder, ranks_remove_folder);
}
