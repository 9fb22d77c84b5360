/* label: cli
 * shardlab predict --table from outside: the file that it writes, whatever the number of processes, and what it leaves
 * when the table is broken or it is ended. */
#include "tests/support/cli_run.h"
#include "tests/table_text.h"

#include <signal.h>
#include <sys/prctl.h>
#include <time.h>

static char text[1 << 16], first[1 << 16];

static void write_table(const char *name, const char *bytes) {
  char path[600];
  snprintf(path, sizeof path, "%s/%s", scratch, name);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs(bytes, file);
  assert_int_equal(fclose(file), 0);
}

static void remove_file(const char *name) {
  char path[600];
  snprintf(path, sizeof path, "%s/%s", scratch, name);
  assert_int_equal(unlink(path), 0);
}

/* Six rows, of which the fourth cannot be expressed. */
static void write_six(void) {
  static const char *const batches[] = {"5", "4", "3", "0", "2", "1"};
  text[0] = '\0';
  put_names(text, NULL);
  for (int i = 0; i < 6; i++) {
    char id[16];
    snprintf(id, sizeof id, "row %d", i);
    if (i == 3)
      put_cells(text, (const char *const[]){"id", "row 3", "arch", "a, b", NULL});
    else
      put_cells(text, (const char *const[]){"id", id, "grad_accum", batches[i], "global_batch_seqs", "", NULL});
  }
  write_table("six.csv", text);
}

static void a_row_for_each_row(void **state) {
  (void)state;
  static const char head[] =
      "id,predicted_step_time_s,predicted_mem_gb,predicted_fits,step_time_low_s,step_time_high_s,"
      "compute_s,bubble_s,exposed_tp_s,exposed_dp_s,exposed_pp_s,optimizer_s,error\n";
  write_six();
  assert_int_equal(shardlab(scratch, "predict --table six.csv --out six.out --jobs 1"), 0);
  assert_string_equal(err, ""); /* no progress in a pipe */
  assert_non_null(strstr(out, "5 of 6 rows predicted"));
  slurp("six.out", first, sizeof first);
  assert_memory_equal(first, head, strlen(head));
  assert_int_equal(lines_with(first, "\nrow "), 6);
  assert_non_null(
      strstr(first, "\nrow 3,,,,,,,,,,,,\"arch: is \"\"a, b\"\"; expected one of gpt, llama, nemotron\"\n"));
  double step, memory, before = 1e9;
  for (int i = 0; i < 6; i++) {
    char mark[16];
    snprintf(mark, sizeof mark, "\nrow %d,", i);
    const char *at = strstr(first, mark);
    if (i == 3) continue;
    assert_int_equal(sscanf(at + strlen(mark), "%lf,%lf,1,,,", &step, &memory), 2);
    assert_true(step > 0 && step < before && memory > 1); /* fewer micro-batches, less time */
    before = step;
  }
  for (int jobs = 2; jobs <= 5; jobs += 3) {
    assert_int_equal(shardlab(scratch, "predict --table six.csv --out six.out --jobs %d --quiet --json -", jobs), 0);
    assert_non_null(strstr(out, "\"refused\": 1"));
    slurp("six.out", text, sizeof text);
    assert_string_equal(text, first);
  }
  remove_file("six.csv");
}

/* The figures are those of `predict` itself. */
static void a_row_is_a_prediction(void **state) {
  (void)state;
  double step, memory, compute;
  static char record[1 << 20];
  text[0] = '\0';
  put_names(text, NULL);
  put_cells(text, (const char *const[]){"id",         "x",         "arch",
                                        "llama",      "framework", "fsdp",
                                        "zero_stage", "3",         "tp",
                                        "1",          "pp",        "1",
                                        "dp",         "16",        "global_batch_seqs",
                                        "",           "precision", "fp32",
                                        "recompute",  "none",      "tied_embeddings",
                                        "0",          NULL});
  write_table("one.csv", text);
  write_table("model.json", "{\"model_type\": \"llama\", \"hidden_size\": 1536, \"num_hidden_layers\": 24, "
                            "\"num_attention_heads\": 24, \"vocab_size\": 51200, \"max_position_embeddings\": 512, "
                            "\"intermediate_size\": 6144, \"tie_word_embeddings\": false}");
  assert_int_equal(shardlab(scratch, "predict --table one.csv --out one.out"), 0);
  slurp("one.out", first, sizeof first);
  assert_int_equal(sscanf(strstr(first, "\nx,") + 3, "%lf,%lf,1,%*f,%*f,%lf", &step, &memory, &compute), 3);
  assert_int_equal(
      shardlab(
          scratch,
          "predict --model model.json --preset fsdp --dtype fp32 --cluster selene-a100 --world 16 --attention "
          "flash --kernels llm-foundry --micro-batch 3 --grad-accum 5 --make-vocab-size-divisible-by 1 --json r.json"),
      0);
  slurp("r.json", record, sizeof record);
  const double whole = strtod(strstr(record, "\"step_time_s\": ") + 15, NULL);
  const double busy = strtod(strstr(record, "\"compute\": ") + 11, NULL);
  const double arena = strtod(strstr(record, "\"peak_bytes\": ") + 14, NULL);
  const double context = strtod(strstr(record, "\"context_bytes\": ") + 17, NULL);
  assert_true(step > whole * (1 - 1e-8) && step < whole * (1 + 1e-8));
  assert_true(compute > busy * (1 - 1e-8) && compute < busy * (1 + 1e-8));
  assert_true(memory > (arena + context) / 1e9 - 1e-6 && memory < (arena + context) / 1e9 + 1e-6);
  remove_file("one.csv");
  remove_file("model.json");
}

static void broken_tables_leave_nothing(void **state) {
  (void)state;
  static const struct {
    const char *arguments, *message;
    int status;
  } cases[] = {
      {"--table no.csv --out x.csv", "shardlab: error: no.csv: cannot be read", 2},
      {"--table six.csv --out x.csv", "shardlab: error: six.csv:2:", 2},
      {"--table six.csv", "shardlab: error: --out: is missing", 2},
      {"--table six.csv --out x.csv --model gpt2", "shardlab: error: --model: does not go with --table", 2},
      {"--table six.csv --out ./six.csv", "shardlab: error: --out: ./six.csv: is the file that --table reads", 2},
      {"--table six.csv --out no/x.csv", "shardlab: error: --out: no/x.csv: its folder does not exist", 2},
      {"--model gpt2 --preset ddp --jobs 2", "shardlab: error: --jobs: is for a table of configurations", 2},
  };
  text[0] = '\0';
  put_names(text, NULL);
  put_cells(text, (const char *const[]){"tp", "two", NULL});
  write_table("six.csv", text);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const int status = shardlab(scratch, "predict %s", cases[i].arguments);
    if (status != cases[i].status || strncmp(err, cases[i].message, strlen(cases[i].message)) != 0)
      fail_msg("%s: exit status %d, %s", cases[i].arguments, status, err);
    assert_int_equal(lines_with(err, "error: "), 1);
    assert_string_equal(out, "");
    assert_int_equal(files_in(scratch), 1); /* the table */
  }
  remove_file("six.csv");
}

/* A cluster without a file is said once, and a usual one taken. */
static void unknown_clusters_are_named_once(void **state) {
  (void)state;
  text[0] = '\0';
  put_names(text, NULL);
  put_cells(text, (const char *const[]){"id", "a", "cluster", "ours", NULL});
  put_cells(text, (const char *const[]){"id", "b", NULL});
  put_cells(text, (const char *const[]){"id", "c", "cluster", "ours", NULL});
  write_table("t.csv", text);
  assert_int_equal(shardlab(scratch, "predict --table t.csv --out t.out"), 0);
  assert_int_equal(lines_with(err, "cluster \"ours\" is not known"), 1);
  remove_file("t.out");
  assert_int_equal(shardlab(scratch, "predict --table t.csv --out t.out --quiet --cluster jeanzay-a100"), 0);
  assert_string_equal(err, "");
  remove_file("t.out");
  remove_file("t.csv");
}

/* The first child of a process; 0 where it has none. */
static pid_t child_of(pid_t parent) {
  char path[64];
  int child = 0;
  snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)parent, (int)parent);
  FILE *file = fopen(path, "r");
  if (file == NULL || fscanf(file, "%d", &child) != 1) child = 0;
  if (file != NULL) fclose(file);
  return child;
}

/* A row that takes its process along is not predicted; the others are. */
static void a_row_falls_alone(void **state) {
  (void)state;
  int status;
  text[0] = '\0';
  put_names(text, NULL);
  put_cells(text, (const char *const[]){"id", "long", "n_gpus", "512", "n_layers", "128", "pp", "128", "grad_accum",
                                        "3072", "global_batch_seqs", "", NULL});
  put_cells(text, (const char *const[]){"id", "short", NULL});
  write_table("two.csv", text);
  const pid_t command = fork();
  if (command == 0) {
    if (chdir(scratch) != 0) _exit(9);
    execl(SL_BINARY_DIR "/bin/shardlab", "shardlab", "predict", "--table", "two.csv", "--out", "two.out", "--jobs", "1",
          "--quiet", NULL);
    _exit(9);
  }
  pid_t worker = 0;
  for (int naps = 0; naps < 1000 && (worker = child_of(command)) == 0; naps++)
    nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
  assert_true(worker > 0);
  nanosleep(&(struct timespec){.tv_nsec = 400000000}, NULL); /* it has taken the row, which takes seconds */
  assert_int_equal(kill(worker, SIGABRT), 0);
  assert_int_equal(waitpid(command, &status, 0), command);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  slurp("two.out", first, sizeof first);
  assert_non_null(strstr(first, "\nlong,,,,,,,,,,,,the process that predicted it was ended by signal 6\n"));
  assert_non_null(strstr(first, "\nshort,0."));
  remove_file("two.csv");
}

/* Who ends the command ends its processes, and finds no file, not even a temporary one. */
static void children_end_with_their_parent(void **state) {
  (void)state;
  text[0] = '\0';
  put_names(text, NULL);
  put_cells(text, (const char *const[]){"n_gpus", "512", "n_layers", "128", "pp", "128", "grad_accum", "3072",
                                        "global_batch_seqs", "", NULL});
  write_table("long.csv", text);
  assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0); /* its orphans become ours */
  const pid_t child = fork();
  if (child == 0) {
    if (chdir(scratch) != 0) _exit(9);
    execl(SL_BINARY_DIR "/bin/shardlab", "shardlab", "predict", "--table", "long.csv", "--out", "long.out", "--jobs",
          "1", NULL);
    _exit(9);
  }
  nanosleep(&(struct timespec){.tv_nsec = 400000000}, NULL);
  assert_int_equal(waitpid(-1, NULL, WNOHANG), 0); /* at work still */
  assert_int_equal(kill(child, SIGKILL), 0);
  int signals = 0, status;
  while (waitpid(-1, &status, 0) > 0) signals += WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  assert_int_equal(signals, 2); /* the command and its process */
  assert_int_equal(files_in(scratch), 1);
  remove_file("long.csv");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_row_for_each_row),          cmocka_unit_test(a_row_is_a_prediction),
      cmocka_unit_test(broken_tables_leave_nothing), cmocka_unit_test(unknown_clusters_are_named_once),
      cmocka_unit_test(a_row_falls_alone),           cmocka_unit_test(children_end_with_their_parent),
  };
  return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
