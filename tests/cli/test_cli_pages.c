/* label: cli
 * Help, manual pages and completions follow the table of options: every flag of every command stands under a heading of
 * its own. */
#include "tests/support/cli_run.h"

static char names[32][32];
static int name_count;

static void read_names(void) {
  assert_int_equal(shardlab(scratch, "help --commands"), 0);
  name_count = 0;
  for (char *rest = NULL, *word = strtok_r(out, "\n", &rest); word != NULL; word = strtok_r(NULL, "\n", &rest))
    snprintf(names[name_count++], sizeof names[0], "%s", word);
  assert_true(name_count >= 10);
}

static void every_flag_has_a_heading(void **state) {
  (void)state;
  read_names();
  for (int i = 0; i < name_count; i++) {
    assert_int_equal(shardlab(scratch, "help %s", names[i]), 0);
    if (strstr(out, "other flags:") != NULL) fail_msg("%s: %s", names[i], strstr(out, "other flags:"));
  }
  assert_int_equal(shardlab(scratch, "predict --help"), 0);
  const char *inputs = strstr(out, "\ninputs:\n  --model"), *parallel = strstr(out, "\nparallelism:\n");
  assert_true(inputs != NULL && parallel != NULL && inputs < parallel);
}

static void every_command_has_a_page(void **state) {
  (void)state;
  read_names();
  for (int i = 0; i < name_count; i++) {
    assert_int_equal(shardlab(scratch, "help --man %s", names[i]), 0);
    assert_int_equal(strncmp(out, ".TH SHARDLAB-", 13), 0);
    assert_non_null(strstr(out, "\n.SH OPTIONS\n"));
    assert_non_null(strstr(out, "\n.SH EXIT STATUS\n"));
  }
  assert_int_equal(shardlab(scratch, "help --man"), 0);
  for (int i = 0; i < name_count; i++) { /* hyphens are escaped there */
    names[i][strcspn(names[i], "-")] = '\0';
    assert_non_null(strstr(out, names[i]));
  }
}

static void other_shells_are_refused(void **state) {
  (void)state;
  assert_int_equal(shardlab(scratch, "help --completion fish"), 2);
  assert_string_equal(err, "shardlab: error: --completion: is 'fish'; expected bash or zsh\n");
  assert_int_equal(shardlab(scratch, "help --man fish"), 2);
  assert_int_equal(shardlab(scratch, "help --completion zsh"), 0);
  assert_int_equal(strncmp(out, "#compdef shardlab\n", 18), 0);
  assert_non_null(strstr(out, "|| _bash_complete -F _shardlab\n")); /* tests/cli/zsh.sh: whether zsh takes it so */
}

/* JSON itself in place of a file's name. */
static void inputs_may_be_texts(void **state) {
  (void)state;
  assert_int_equal(shardlab(scratch, "predict --model '{\"model_type\": \"mlp\", \"dims\": [64, 256, 10]}' --config "
                                     "'{\"train_batch_size\": 4}' --quiet"),
                   0);
  assert_int_equal(shardlab(scratch, "predict --model gpt2-tiny --config '{\"train_batch_size\": 0}'"), 2);
  assert_int_equal(strncmp(err, "shardlab: error: --config:1:2: train_batch_size: ", 49), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_flag_has_a_heading),
                                     cmocka_unit_test(every_command_has_a_page),
                                     cmocka_unit_test(other_shells_are_refused), cmocka_unit_test(inputs_may_be_texts)};
  return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
