/* label: cli
 * What mpirun says on its stderr when a job ends: its own notices are held back, whole or cut short, and one line says
 * why. A script stands in for mpirun and says what Open MPI 4.1 does. */
#include "tests/support/cli_run.h"

#include <signal.h>

#define FRAME "--------------------------------------------------------------------------\n"
#define HUNG_UP                                                                                                        \
  "An MPI communication peer process has unexpectedly disconnected.  This\n"                                           \
  "usually indicates a failure in the peer process (e.g., a crash or\n"                                                \
  "otherwise exiting without calling MPI_FINALIZE first).\n\n"                                                         \
  "  Local host: worker-0\n"
#define LOST                                                                                                           \
  "ORTE has lost communication with a remote daemon.\n\n"                                                              \
  "  HNP daemon   : [[27860,0],0] on node here\n  Remote daemon: [[27860,0],2] on node worker-1\n\n"                   \
  "This is usually due to either a failure of the TCP network\n"

/* The only line that `text` on mpirun's stderr leaves, when mpirun then ends so. */
static const char *heard_until(const char *text, const char *end) {
  char script[1024];
  write_file("said", text);
  write_file("mlp.json", "{\"model_type\": \"mlp\", \"dims\": [8, 8]}");
  snprintf(script, sizeof script, "#!/bin/sh\ncat \"${0%%/*}/said\" >&2\n%s\n", end);
  assert_int_equal(shardlab_with("mpirun", script,
                                 "measure --model mlp.json --preset ddp --data random:100 --steps 1 --world 2 --quiet"),
                   1);
  return only_line();
}

static const char *heard(const char *text) {
  return heard_until(text, "exit 1");
}

static void notices_are_held_back(void **state) {
  (void)state;
  static const char gone[] = "shardlab: error: host worker-1 is gone";
  assert_non_null(strstr(heard(FRAME LOST FRAME FRAME HUNG_UP FRAME), gone));
  assert_non_null(
      strstr(heard(FRAME FRAME HUNG_UP FRAME FRAME LOST FRAME), gone)); /* one of which only the frame came */
  assert_non_null(strstr(heard(FRAME "An MPI comm" FRAME HUNG_UP FRAME FRAME LOST FRAME), gone));
  assert_non_null(strstr(heard(HUNG_UP FRAME FRAME LOST FRAME), gone));
  assert_non_null(strstr(heard(FRAME FRAME "A notice that is not known.\n" FRAME FRAME LOST FRAME), gone));
}

static void one_line_of_a_timeout(void **state) {
  (void)state;
  static const char late[] =
      "shardlab: rank 1: no progress for 3 s in an exchange of all ranks (SHARDLAB_TIMEOUT_S sets the limit)\n";
  char text[512];
  snprintf(text, sizeof text, "%sshardlab: error: out.trace: what rank 1 wrote of it cannot be read\n%s", late, late);
  assert_string_equal(heard(text), late);
}

/* What stops mpirun is one line: the notice's sentence with its details, or what mpirun says itself, and
 * OPAL_PREFIX. */
static void one_line_of_what_stops_mpirun(void **state) {
  (void)state;
  static const char cannot[] = "shardlab: error: mpirun could not run the job: ";
  char expected[512];
  snprintf(expected, sizeof expected,
           "%sA requested component was not found, or was unable to be opened (Framework: btl, Component: nothing)\n",
           cannot);
  assert_string_equal(heard(FRAME "A requested component was not found, or was unable to be opened.  This\n"
                                  "means that it is not installed.\n\nHost:      vm\nFramework: btl\n"
                                  "Component: nothing\n" FRAME FRAME
                                  "It looks like MPI_INIT failed for some reason.  Local: no\nReason: none\n" FRAME
                                  "[vm:1] *** An error occurred in MPI_Init\n"),
                      expected);
  snprintf(expected, sizeof expected, "%sORTE_ERROR_LOG: Not found in file ess.c\n", cannot);
  assert_string_equal(heard("[vm:1] ORTE_ERROR_LOG: Not found in file ess.c\n"), expected);
  setenv("OPAL_PREFIX", "/nowhere\033[1m", 1);
  snprintf(expected, sizeof expected, "%sError: unknown option \"-np\" (OPAL_PREFIX is /nowhere\\u001b[1m)\n", cannot);
  assert_string_equal(
      heard("/usr/bin/mpirun: Error: unknown option \"-np\"\nType '/usr/bin/mpirun --help' for usage.\n"), expected);
  unsetenv("OPAL_PREFIX");
}

/* An mpirun that stays though nothing that it started runs any more is ended, and what it has said is not lost. */
static void mpirun_that_stays_is_ended(void **state) {
  (void)state;
  static const char stays[] = "sleep 0.7 & kill -STOP $$";
  assert_string_equal(heard_until("", stays), "shardlab: mpirun stayed after its ranks had ended; the job was ended\n");
  assert_string_equal(
      heard_until("mpirun noticed that process rank 1 with PID 7 on node vm exited on signal 9 (Killed).\n", stays),
      "shardlab: rank 1 died (signal 9, SIGKILL); the job was ended\n");
}

/* A rank may still be ending when its mpirun has ended: the command ends after it. */
static void no_rank_outlives_the_command(void **state) {
  (void)state;
  char pid[32];
  assert_string_equal(
      heard_until("mpirun noticed that process rank 0 with PID 7 on node vm exited on signal 9 (Killed).\n",
                  "sleep 0.7 | env -u SHARDLAB_LAUNCHED " SL_BINARY_DIR
                  "/bin/shardlab predict --model mlp.json --config /dev/stdin 2>/dev/null &\n"
                  "echo $! >\"${0%/*}/rank\"\nexit 1"),
      "shardlab: rank 0 died (signal 9, SIGKILL); the job was ended\n");
  slurp("rank", pid, sizeof pid);
  assert_int_equal(kill((pid_t)atol(pid), 0), -1);
}

/* mpirun would read it for a rank that reads none, and stay while nothing comes; and an input cannot be there for all. */
static void standard_input_is_no_business_of_ranks(void **state) {
  (void)state;
  write_file("mlp.json", "{\"model_type\": \"mlp\", \"dims\": [8, 8]}");
  assert_int_equal(shardlab_with("mpirun", "#!/bin/sh\nreadlink /proc/self/fd/0 >&2\nexit 1\n",
                                 "measure --model mlp.json --preset ddp --data random:100 --steps 1 --world 2 --quiet "
                                 "</dev/zero 2>told; cat told"),
                   0);
  assert_string_equal(out, "/dev/null\n");
  static const char *const lines[] = {"measure --world 2", "validate"};
  for (int i = 0; i < 2; i++) {
    assert_int_equal(
        shardlab(scratch, "%s --model mlp.json --config /dev/stdin --data random:100 --steps 1 </dev/null", lines[i]),
        2);
    assert_string_equal(err,
                        "shardlab: error: --config: is /dev/stdin, and several processes read it; expected a file\n");
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(notices_are_held_back),         cmocka_unit_test(one_line_of_a_timeout),
      cmocka_unit_test(one_line_of_what_stops_mpirun), cmocka_unit_test(mpirun_that_stays_is_ended),
      cmocka_unit_test(no_rank_outlives_the_command),  cmocka_unit_test(standard_input_is_no_business_of_ranks)};
  return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
