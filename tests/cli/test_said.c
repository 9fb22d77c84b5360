/* label: unit
   libs: cli */
/* A warning is printed once by all processes that a command starts one after the other, as calibrate's rounds are. */
#include "cli/said.h"
#include "core/base/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char printed[4096];

/* Runs a process that gives these warnings, and appends what it prints to `printed`. */
static void process(const char *first, const char *second) {
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    sl_said_once();
    sl_warn("%s", first);
    sl_warn("%s", second);
    fflush(stderr);
    _exit(0);
  }
  close(ends[1]);
  for (ssize_t got; (got = read(ends[0], printed + strlen(printed), sizeof printed - 1 - strlen(printed))) > 0;)
    continue;
  close(ends[0]);
  assert_int_equal(waitpid(child, NULL, 0), child);
}

static void later_processes_know_what_earlier_ones_said(void **state) {
  (void)state;
  char folder[] = "said-XXXXXX", file[64];
  assert_non_null(mkdtemp(folder));
  snprintf(file, sizeof file, "%s/said", folder);
  sl_said_share(file);
  process("busy", "no epilogue");
  process("no epilogue", "busy");
  process("busy", "slow");
  process("slow", "busy");
  assert_string_equal(printed, "shardlab: warning: busy\nshardlab: warning: no epilogue\nshardlab: warning: slow\n");
  assert_int_equal(unlink(file), 0);
  assert_int_equal(rmdir(folder), 0);
}

/* Where the file cannot be written, or is a link to another's, a warning comes again, and nothing else happens. */
static void a_file_that_cannot_be_written_is_no_error(void **state) {
  (void)state;
  memset(printed, 0, sizeof printed);
  sl_said_share("absent/said");
  process("busy", "busy");
  process("busy", "busy");
  assert_string_equal(printed, "shardlab: warning: busy\nshardlab: warning: busy\n");
  memset(printed, 0, sizeof printed);
  assert_int_equal(symlink("said-elsewhere", "said-link"), 0);
  sl_said_share("said-link");
  process("busy", "busy");
  assert_int_equal(access("said-elsewhere", F_OK), -1);
  assert_int_equal(unlink("said-link"), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(later_processes_know_what_earlier_ones_said),
                                     cmocka_unit_test(a_file_that_cannot_be_written_is_no_error)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
