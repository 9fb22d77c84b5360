/* label: unit
 * Scripts that are started with words of their own and variables of the environment. */
#include "core/interop/shell.h"

#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define RUN "\npretrain_gpt.py --x "

static void start_names_the_values(void **state) {
  (void)state;
  static const char *const cases[][3] = {
      /* the script, what starts it, the words of its training */
      {"TP=$1\nPP=${2}" RUN "$TP $PP ${10}", "run.sh 1 2 3 4 5 6 7 8 9 ten", "1 2 ten"},
      {RUN "$1", "run.sh", "$1"},
      {RUN "$2 ${3:-five}", "run.sh 7", "$2 five"},
      {RUN "$# $((2 * $1)) $(( N + ${2} ))", "N=4 run.sh 7 8", "2 14 12"},
      {"A=(--y 1)" RUN "\"$@\" ${@}", "bash run.sh --a 'b c'", "--a b c --a b c"},
      /* a word in quotation marks is one argument, whatever blanks it has; what > and < name is none */
      {RUN "$# $2 $1", "run.sh 'a b' c", "2 c a b"},
      {RUN "$# $3 ${2:-none} $1", "run.sh a \"\" c", "3 c none a"},
      {"shift" RUN "$# $1", "run.sh \"a b\" c\\ d", "1 c d"},
      {RUN "$# $2", "N='1 2' run.sh a b >'log' 2>&1 <in", "2 b"},
      {RUN "$# $2", "bash -c 'run.sh a b'", "2 b"},
      {RUN "$MBS", "MBS=4 TP=2 run.sh", "4"},
      {"MBS=${MBS:-1}\nTP=${TP:?is missing}" RUN "$MBS $TP", "TP=2 run.sh", "1 2"},
      {"MBS=8" RUN "$MBS", "MBS=4 run.sh", "8"},
      {"if [ $# -lt 2 ]; then echo few; exit 1; fi\nif [ $1 = 7B ]; then L=32; else L=80; fi" RUN "$L", "run.sh 7B 1",
       "32"},
      {"case $1 in\n7B) L=32 ;;\n70B) L=80 ;;\nesac" RUN "$L", "run.sh 70B", "80"},
      {"if [ -z \"$MBS\" ]; then MBS=1; fi" RUN "$MBS", "MBS=4 run.sh", "4"},
      {"A=$1\nshift\nB=$1\nshift 2" RUN "$A $B $# $1 $9", "run.sh a b c d", "a b 1 d $9"},
      {"shift 3" RUN "$1", "run.sh a", "a"},
      /* a function has arguments of its own, and a loop is read once */
      {"f() {\n A=$1\n}" RUN "$A", "run.sh a", "$1"},
      {"while true; do\n A=$1\ndone" RUN "$A", "run.sh a", "$1"},
      {"main() {" RUN "1 \"$@\"\n}\nmain \"$@\"", "run.sh a", "1 $@"},
      {"main() {" RUN "1 \"$@\"\n}\nmain \"$@\"", "run.sh", "1"},
      {RUN "${#} ${#A} $$", "run.sh a", "1 ${#A} $$"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct sl_shell shell;
    char said[256] = "";
    if (sl_shell_read_started(&shell, "run.sh", cases[i][0], true, cases[i][1]) != SL_OK)
      fail_msg("%s: %s", cases[i][0], sl_error_message());
    for (size_t k = 2; k < shell.words.count; k++)
      snprintf(said + strlen(said), sizeof said - strlen(said), "%s%s", k > 2 ? " " : "", shell.words.list[k]);
    if (strcmp(said, cases[i][2]) != 0) fail_msg("%s %s: %s, not %s", cases[i][1], cases[i][0], said, cases[i][2]);
    sl_shell_free(&shell);
  }
}

/* Which word is which cannot be told where a shift runs so many times, or perhaps, or moves by an unknown number. */
static void shifts_that_may_run(void **state) {
  (void)state;
  static const char *const cases[][3] = {
      {"while [ $# -gt 0 ]; do\n case $1 in --tp) TP=$2; shift ;; esac\ndone" RUN "$TP", "run.sh --tp 2",
       "run.sh:2: shift in a loop, in a function or under a condition: it cannot be told which of the script's own "
       "words "
       "is which; expected NAME=VALUE in front of the script instead"},
      {"if [ -f x ]; then shift; fi" RUN "$1", "run.sh a", "run.sh:1: shift in a loop"},
      {"while [ $# -gt 0 ]; do\n shift\ndone" RUN "1", "TP=2 run.sh", NULL},
      {"shift $N" RUN "$1", "run.sh a", "run.sh:1: shift by what only a shell can tell: it cannot be told"},
      {"shift $N" RUN "$1", "N=1 run.sh a", NULL},
      {"set -- 4" RUN "$1", "run.sh a", "run.sh:1: set -- gives the script other words: it cannot be told"},
      {"set -e\nset -- 4" RUN "1", "N=1 run.sh", NULL},
      {"f() {\n set -- 4\n}" RUN "$1", "run.sh a", NULL},
      {"if [ 1 = 2 ]; then shift; fi" RUN "$1", "run.sh a", NULL}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct sl_shell shell;
    sl_error_clear();
    const enum sl_status status = sl_shell_read_started(&shell, "run.sh", cases[i][0], true, cases[i][1]);
    assert_int_equal(status, cases[i][2] != NULL ? SL_ERR_INPUT : SL_OK);
    assert_int_equal(strncmp(sl_error_message(), cases[i][2] != NULL ? cases[i][2] : "",
                             cases[i][2] != NULL ? strlen(cases[i][2]) : 1),
                     0);
    sl_shell_free(&shell);
  }
  sl_error_clear();
}

/* A condition of the script decides between its value and the environment's. */
static void conditions_are_doubts(void **state) {
  (void)state;
  struct sl_shell shell;
  assert_int_equal(
      sl_shell_read_started(&shell, "run.sh", "if [ -f x ]; then\nTP=8\nfi" RUN "$TP", true, "TP=2 run.sh"), SL_OK);
  assert_int_equal(shell.doubts.count, 1);
  assert_string_equal(shell.doubts.list[0], "TP is 8 as in line 2, not 2 as in line 1 of the command line");
  sl_shell_free(&shell);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(start_names_the_values), cmocka_unit_test(shifts_that_may_run),
                                     cmocka_unit_test(conditions_are_doubts)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
