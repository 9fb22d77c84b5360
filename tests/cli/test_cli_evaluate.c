/* label: cli
 * Evaluation from the command line, where the host backend was built: training is what it is without, to the bit, and
 * so is a resumed one; what it takes is predicted, what it says goes where losses go. */
#include "core/record/record.h"
#include "tests/support/cli_run.h"

#define JOB "--model m.json --config c.json --seq 33 --data " SL_SOURCE_DIR "/examples/corpus.txt --val-split 0.02 "

static void write_model(const char *name, double dropout) {
  char text[400];
  snprintf(text, sizeof text,
           "{\"model_type\": \"gpt2\", \"vocab_size\": 800, \"n_positions\": 64, \"n_embd\": 32, \"n_layer\": 2, "
           "\"n_head\": 2, "
           "\"resid_pdrop\": %g, \"embd_pdrop\": %g, \"attn_pdrop\": %g}",
           dropout, dropout, dropout);
  write_file(name, text);
}

/* With dropout, whose random numbers an evaluation must neither take nor see. */
static void write_inputs(const char *optimizer, const char *type) {
  char text[500];
  snprintf(text, sizeof text,
           "{\"train_micro_batch_size_per_gpu\": 1, \"gradient_accumulation_steps\": 2, \"zero_optimization\": "
           "{\"stage\": 3}, "
           "\"optimizer\": {\"type\": \"AdamW\"%s}, \"csv_monitor\": {\"enabled\": true, \"output_path\": \"m\"}%s}",
           optimizer, type);
  write_file("c.json", text);
  write_model("m.json", 0.2);
}

static void remove_files(const char *shell) {
  char command[900];
  snprintf(command, sizeof command, "cd '%s' && %s && rm -r *", scratch, shell);
  assert_int_equal(system(command), 0);
}

static void load(struct sl_json *doc, const char *name) {
  char path[600];
  snprintf(path, sizeof path, "%s/%s", scratch, name);
  if (sl_record_load(doc, path) != SL_OK) fail_msg("%s", sl_error_message());
}

static const json_t *list_of(const struct sl_json *doc, const char *key, size_t count) {
  const json_t *list = json_object_get(doc->root, key);
  assert_int_equal(json_array_size(list), count);
  return list;
}

static void does_not_notice(const char *type) {
  struct sl_json with, without, resumed;
  write_inputs("", type);
  if (shardlab(scratch, "measure " JOB "--steps 4 --eval-interval 2 --eval-iters 3 --json a.json") != 0)
    fail_msg("%s", err);
  assert_int_equal(lines_with(out, "of 4, validation loss "), 2);
  assert_non_null(strstr(out, "  validation 3 batches in "));
  if (shardlab(scratch, "measure " JOB "--steps 4 --eval-interval 9 --json b.json") != 0) fail_msg("%s", err);
  assert_null(strstr(out, "validation"));
  if (shardlab(scratch, "measure " JOB "--steps 2 --eval-interval 2 --eval-iters 3 --checkpoint ck") != 0)
    fail_msg("%s", err);
  if (shardlab(scratch,
               "measure " JOB
               "--steps 4 --eval-interval 2 --eval-iters 3 --checkpoint ck --resume latest --json r.json") != 0)
    fail_msg("%s", err);
  load(&with, "a.json");
  load(&without, "b.json");
  load(&resumed, "r.json");
  const json_t *losses = list_of(&with, "losses", 4), *evaluated = list_of(&with, "evaluation_losses", 2);
  assert_true(json_equal(losses, list_of(&without, "losses", 4)));
  assert_true(json_equal(json_array_get(losses, 3), json_array_get(list_of(&resumed, "losses", 2), 1)));
  assert_true(json_equal(json_array_get(evaluated, 1), json_array_get(list_of(&resumed, "evaluation_losses", 1), 0)));
  assert_int_equal(json_integer_value(json_array_get(list_of(&resumed, "evaluation_steps", 1), 0)), 4);
  assert_null(json_object_get(without.root, "evaluation_losses"));
  const double first = json_real_value(json_array_get(evaluated, 0)),
               last = json_real_value(json_array_get(evaluated, 1));
  assert_true(last > 3 && last < first && first < 8);
  sl_json_free(&with);
  sl_json_free(&without);
  sl_json_free(&resumed);
  /* of three runs that evaluate a heading each, and four evaluations */
  remove_files("test $(grep -c . m/DeepSpeedJobName/Validation_Samples_val_loss.csv) = 7");
}

/* Nor do scales of fp8, though an evaluation casts as a step does. */
static void training_does_not_notice(void **state) {
  (void)state;
  if (!has_host()) skip();
  does_not_notice("");
  does_not_notice(", \"bf16\": {\"enabled\": true}, \"shardlab\": {\"fp8\": true}");
}

/* The loss of weights that stay as they are: of sequences held out as of a file that has them, and of a model with
 * dropout as of one without. */
static void what_is_evaluated(void **state) {
  (void)state;
  static const char rest[] =
      "--config c.json --seq 33 --steps 1 --eval-interval 1 --quiet --json r.json --data " SL_SOURCE_DIR
      "/examples/corpus.txt";
  static const char *const ways[] = {"--model m.json --val-split 0.02", "--model m.json --val-data v.txt",
                                     "--model plain.json --val-split 0.02"};
  double losses[3];
  if (!has_host()) skip();
  write_inputs(", \"params\": {\"lr\": 0}", "");
  write_model("plain.json", 0);
  /* of 148476 bytes (148476 - 1) / 33 = 4499 sequences, of which the last 90 begin at byte 4409 * 33 */
  char command[900];
  snprintf(command, sizeof command, "tail -c +145498 '" SL_SOURCE_DIR "/examples/corpus.txt' >'%s/v.txt'", scratch);
  assert_int_equal(system(command), 0);
  for (size_t i = 0; i < 3; i++) {
    struct sl_json doc;
    if (shardlab(scratch, "measure %s %s", ways[i], rest) != 0) fail_msg("%s", err);
    load(&doc, "r.json");
    assert_int_equal(json_integer_value(json_object_get(doc.root, "evaluation_batches")), 45);
    losses[i] = json_real_value(json_array_get(list_of(&doc, "evaluation_losses", 1), 0));
    sl_json_free(&doc);
  }
  assert_true(losses[0] == losses[1]);
  assert_true(losses[0] == losses[2]);
  remove_files("true");
}

/* Calls and bytes of a batch, and the arena, on two ranks. */
static void evaluations_are_predicted(void **state) {
  (void)state;
  if (!has_host()) skip();
  write_inputs("", "");
  if (shardlab(scratch, "validate " JOB "--world 2 --steps 2 --eval-interval 2 --eval-iters 1 --time-tolerance 1000") !=
      0)
    fail_msg("%s%s", out, err);
  assert_true(lines_with(out, "  eval: world all_reduce") == 3);
  assert_non_null(strstr(out, "\n  evaluation  "));
  if (shardlab(scratch, "validate " JOB "--world 2 --steps 2 --eval-interval 3 --time-tolerance 1000") != 0)
    fail_msg("%s%s", out, err); /* ends before its first */
  assert_null(strstr(out, "eval"));
  remove_files("true");
}

/* Text and its tokens, made once by `tokenize`, train alike. */
#define TOKENIZER "--tokenizer " SL_SOURCE_DIR "/tests/golden/tokenizers/gpt2.json --eod-token '<|endoftext|>'"

static void tokens_are_made_once_or_anew(void **state) {
  (void)state;
  static const char text[] = SL_SOURCE_DIR "/examples/corpus.txt";
  static const char rest[] = "--model m.json --config c.json --seq 33 --steps 2 --quiet --json";
  struct sl_json anew, once;
  if (!has_host()) skip();
  write_inputs("", "");
  if (shardlab(scratch, "tokenize %s " TOKENIZER " --out t.npy", text) != 0) fail_msg("%s", err);
  assert_int_equal(strncmp(out, "t.npy: ", 7), 0);
  if (shardlab(scratch, "measure %s a.json --data %s " TOKENIZER, rest, text) != 0) fail_msg("%s", err);
  if (shardlab(scratch, "measure %s b.json --data t.npy", rest) != 0) fail_msg("%s", err);
  load(&anew, "a.json");
  load(&once, "b.json");
  assert_true(json_equal(list_of(&anew, "losses", 2), list_of(&once, "losses", 2)));
  sl_json_free(&anew);
  sl_json_free(&once);
  if (shardlab(scratch, "measure %s a.json --data t.npy " TOKENIZER, rest) != 2) fail_msg("tokens beside a tokenizer");
  assert_non_null(strstr(err, "t.npy: holds tokens; expected text, for which --tokenizer is"));
  remove_files("true");
}

/* Shares of a file train and are evaluated as files of those shares do. */
static void shares_are_as_files_are(void **state) {
  (void)state;
  struct sl_json shares, files;
  static const char *const lists[] = {"losses", "evaluation_losses"};
  if (!has_host()) skip();
  write_inputs("", "");
  char command[1200];
  snprintf(command, sizeof command,
           "cd '%s' && head -c 40000 %s/examples/corpus.txt > all && head -c 10000 all > a && "
           "head -c 30000 all | tail -c 20000 > b",
           scratch, SL_SOURCE_DIR);
  assert_int_equal(system(command), 0);
  static const char job[] =
      "measure --model m.json --config c.json --seq 33 --steps 2 --eval-interval 1 --eval-iters 3 --quiet --json ";
  if (shardlab(scratch, "%s s.json --data all --split 25,50,25", job) != 0) fail_msg("%s", err);
  if (shardlab(scratch, "%s f.json --data a --val-data b", job) != 0) fail_msg("%s", err);
  load(&shares, "s.json");
  load(&files, "f.json");
  for (size_t i = 0; i < 2; i++) assert_true(json_equal(list_of(&shares, lists[i], 2), list_of(&files, lists[i], 2)));
  sl_json_free(&shares);
  sl_json_free(&files);
  remove_files("true");
}

/* A step takes two samples of 33 tokens and their targets. */
static void few_samples_are_said(void **state) {
  (void)state;
  static const char job[] = "measure --model m.json --config c.json --seq 33 --data few.txt --steps 1";
  char text[68];
  write_inputs("", "");
  for (int tokens = 66; tokens <= 67; tokens++) {
    memset(text, 'a', sizeof text);
    text[tokens] = '\0';
    write_file("few.txt", text);
    if (shardlab(scratch, job) != 0) fail_msg("%s", err);
    const char *warning =
        strstr(err, "--data: has 1 samples to train on, and a step takes 2: some are in it more than");
    assert_true((warning != NULL) == (tokens == 66));
  }
  remove_files("true");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(training_does_not_notice),  cmocka_unit_test(what_is_evaluated),
      cmocka_unit_test(evaluations_are_predicted), cmocka_unit_test(tokens_are_made_once_or_anew),
      cmocka_unit_test(shares_are_as_files_are),   cmocka_unit_test(few_samples_are_said)};
  return cmocka_run_group_tests_name("cli_evaluate", tests, make_scratch, remove_scratch);
}
