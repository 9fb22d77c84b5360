/* label: unit
 * Launch scripts as a shell reads them: which command is the training's, what its words are, what conditions decide. The
 * expected words are those that bash gives the program, but where a script does not say what they are. */
#include "core/interop/shell.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/shell_script.h"

static void the_training_is_found(void **state) {
  (void)state;
  static const struct script cases[] = {
      {"torchrun --nproc-per-node 8 pretrain_gpt.py --tp 2 --x", "pretrain_gpt.py --tp 2 --x"},
      {"torchrun a/pretrain_gpt.py --tp 2\npython convert.py --tp 4", "a/pretrain_gpt.py --tp 2"},
      {"usage() { echo \"usage: pretrain_gpt.py --tp 4\"; exit 1; }\npython pretrain_gpt.py --tp 2\necho "
       "pretrain_gpt.py --tp 8",
       "pretrain_gpt.py --tp 2"},
      {"cmd=\"deepspeed pretrain_gpt.py --tp 2 &> log.txt\"\necho $cmd\neval $cmd", "pretrain_gpt.py --tp 2"},
      {"srun bash -c \"cd /x ; python pretrain_gpt.py --tp 2 2>&1 | tee log\"", "pretrain_gpt.py --tp 2"},
      {"CMD='pretrain_gpt.py --tp 2'\nsrun bash -c '$LAUNCHER $CMD'", "pretrain_gpt.py --tp 2"},
      {"python pretrain_gpt.py --tp 2 > log.txt 2>&1 &\nwait", "pretrain_gpt.py --tp 2"},
      {"python pretrain_gpt.py --tp 2 \"$@\" --x 1", "pretrain_gpt.py --tp 2 --x 1"},
      {"python pretrain_gpt.py $*", ""},
      {"python tools/x.py --a 1\npython train.py --num-layers 2\npython tools/y.py --b 1", "train.py --num-layers 2"},
      {"A=\"--num-layers 2\"\nexport NCCL_DEBUG=INFO\nrun --micro-batch-size 1",
       "--num-layers 2 run --micro-batch-size 1"},
      {"cat <<EOF > x.json\npretrain_gpt.py --tp 4\nEOF\npython pretrain_gpt.py --tp 2", "pretrain_gpt.py --tp 2"},
      {"time python pretrain_gpt.py --tp 2\ntime echo pretrain_gpt.py --tp 8", "pretrain_gpt.py --tp 2"},
      {"echo python pretrain_gpt.py --tp 2 > job.sh", "pretrain_gpt.py --tp 2"},
      {"--num-layers 2\n--tp 4", "--num-layers 2 --tp 4"}};
  READ_ALL("run.sh", cases);
}

static void variables_are_replaced(void **state) {
  (void)state;
#define RUN "\npython pretrain_gpt.py "
  static const struct script cases[] = {
      {"N=2" RUN "--tp $N --x a${N}b", "pretrain_gpt.py --tp 2 --x a2b"},
      {"A=(\n  --tp 2 # comment\n  --x \"a b\"\n)" RUN "${A[@]} \"${A[*]}\"",
       "pretrain_gpt.py --tp 2 --x a b --tp 2 --x a b"},
      {"A=(--tp 2)\nA+=(--x 1)" RUN "\"${A[@]}\"", "pretrain_gpt.py --tp 2 --x 1"},
      {"A=\"--tp 2\"\nA+=\" --x 1\"\nA+=2" RUN "$A", "pretrain_gpt.py --tp 2 --x 12"},
      {"A=\" \\\n  --tp 2 \\\n  --x 1 \\\n\"" RUN "${A}--y", "pretrain_gpt.py --tp 2 --x 1 --y"},
      {"B=--b\nA=\"$B --a\"\nB=--c" RUN "$A", "pretrain_gpt.py --b --a"},
      {RUN "--tp ${TP:-4} --x ${X:-${Y:-5}} --z ${Z}", "pretrain_gpt.py --tp 4 --x 5 --z ${Z}"},
      {"TP=2\nE=" RUN "--tp ${TP:-4} --e ${E:-1} --f ${E-1} --g ${TP:+on} --h ${H:+on}",
       "pretrain_gpt.py --tp 2 --e 1 --f --g on --h"},
      {": ${TP:=4}\nX=${Y:=a b}" RUN "--tp $TP", "pretrain_gpt.py --tp 4"},
      {"export N=2 M=3\nlocal K=4" RUN "--tp $((N * M)) --k $K --u $((U * 2))",
       "pretrain_gpt.py --tp 6 --k 4 --u $((U * 2))"},
      {"D=$(date +%s)\nE=`date a b`" RUN "--d $D --e $E --tp 2",
       "pretrain_gpt.py --d $(date +%s) --e `date a b` --tp 2"},
      {"N=2 python pretrain_gpt.py --tp $N", "pretrain_gpt.py --tp 2"}};
  READ_ALL("run.sh", cases);
}

/* What the script itself decides is decided; else all branches are read, and the last value is in doubt. */
static void conditions_are_decided(void **state) {
  (void)state;
#define USE RUN "--n $N"
#define DOUBT " // N is 2 as in line 2, not 1 as in line 1"
  static const struct script cases[] = {
      {"S=big\nif [ $S = big ]; then N=1; elif [ $S = small ]; then N=2; else N=3; fi" USE, "pretrain_gpt.py --n 1"},
      {"S=tiny\nif [ $S = big ]; then N=1; elif [ $S = small ]; then N=2; else N=3; fi" USE, "pretrain_gpt.py --n 3"},
      {"S=small\nif [[ $S == \"big\" ]]; then N=1; elif [[ $S == sm* ]]; then N=2; else N=3; fi" USE,
       "pretrain_gpt.py --n 2"},
      {"N=1\nif [ ! 3 -gt 2 ]; then N=2; fi" USE, "pretrain_gpt.py --n 1"},
      {"N=1\n[[ 4 -le 4 && -n \"x\" ]] && N=2" USE, "pretrain_gpt.py --n 2"},
      {"N=1\n[[ 4 -lt 4 || -z \"x\" ]] && N=2" USE, "pretrain_gpt.py --n 1"},
      {"N=1\n[ 4 -ne 4 ] || N=2" USE, "pretrain_gpt.py --n 2"},
      {"N=1\n[ 4 -eq 4 ] || N=2" USE, "pretrain_gpt.py --n 1"},
      {"N=1\nif [ 1 = 1 ] && [ 1 = 2 ]; then N=2; fi" USE, "pretrain_gpt.py --n 1"},
      {"N=1\nif [ 1 = 1 ] && [ 1 = 2 ] || true; then N=2; fi" USE, "pretrain_gpt.py --n 2"},
      {"E=\nN=1\nif [ -z \"$E\" ]; then N=2; fi" USE, "pretrain_gpt.py --n 2"},
      {"E=\nN=1\nif [ \"$E\" = \"\" ]; then N=2; fi" USE, "pretrain_gpt.py --n 2"},
      {"E=\nN=1\nif [ -n \"$E\" ]; then N=2; fi" USE, "pretrain_gpt.py --n 1"},
      {"N=1\nif ! false; then N=2; fi" USE, "pretrain_gpt.py --n 2"},
      {"N=1\nfalse && { true; N=2; }" USE, "pretrain_gpt.py --n 1"},
      {"S=8b\ncase $S in\n  7b) N=1 ;;\n  8b|9b) N=2 ;;\n  *) N=3 ;;\nesac" USE, "pretrain_gpt.py --n 2"},
      {"S=70b\ncase \"$S\" in 7b) N=1;; 8b) N=2;; *) N=3;; esac" USE, "pretrain_gpt.py --n 3"},
      {"if true; then\n  if false; then N=1; else N=2; fi\nelse\n  N=3\nfi" USE, "pretrain_gpt.py --n 2"},
      {"if true; then python pretrain_gpt.py --a 1; else python pretrain_gpt.py --a 2; fi", "pretrain_gpt.py --a 1"},
      {"if false; then python pretrain_gpt.py --a 1; else python pretrain_gpt.py --a 2; fi", "pretrain_gpt.py --a 2"},
      {"N=1\nif [ -f x ]; then N=2; fi" USE, "pretrain_gpt.py --n 2" DOUBT},
      {"N=1\nif [ -f x ] && true; then N=2; fi" USE, "pretrain_gpt.py --n 2" DOUBT},
      {"N=1\nif [ -f x ] && false; then N=2; fi" USE, "pretrain_gpt.py --n 1"},
      {"N=1\nif [ -f x ]; then M=1; elif true; then N=2; fi" USE, "pretrain_gpt.py --n 2" DOUBT},
      {"N=1\nif true; then M=1; elif [ -f x ]; then N=2; fi" USE, "pretrain_gpt.py --n 1"},
      {"N=1\n[ -d \"$X\" ] && N=2" USE, "pretrain_gpt.py --n 2" DOUBT},
      {"N=1\nif [ $N = 1 ]; then M=2; fi" RUN "--m $M", "pretrain_gpt.py --m 2"},
      {"N=1\n[ -d x ] && N=2\n[ $N = 2 ] || N=3" USE,
       "pretrain_gpt.py --n 3" DOUBT " // N is 3 as in line 3, not 2 as in line 2"},
      {"A=--a\nif [ -d x ]; then A=\"$A --b\"; fi" RUN "$A", "pretrain_gpt.py --a --b"},
      {"N=1\nwhile [ $# -gt 0 ]; do case $1 in --n) N=$2; shift;; --big) N=8;; esac; done" USE,
       "pretrain_gpt.py --n 1"},
      {"N=${1:-2}" USE, "pretrain_gpt.py --n 2"}};
  READ_ALL("run.sh", cases);
}

/* Only an exit that certainly runs, and ends the script, behind a training. */
static void nothing_runs_behind_an_exit(void **state) {
  (void)state;
#define ONE "python pretrain_gpt.py --a 1\n"
#define TWO "\npython pretrain_gpt.py --a 2"
  static const struct script cases[] = {{ONE "exit 0" TWO, "pretrain_gpt.py --a 1"},
                                        {ONE "exit" TWO "\necho '", "pretrain_gpt.py --a 1"},
                                        {ONE "if [ 1 = 1 ]; then exit 1; fi" TWO, "pretrain_gpt.py --a 1"},
                                        {ONE "true && exit 1" TWO, "pretrain_gpt.py --a 1"},
                                        {ONE "function f { exit 1; }\nexit" TWO, "pretrain_gpt.py --a 1"},
                                        {ONE "case x in (x) true ;; esac\nexit" TWO, "pretrain_gpt.py --a 1"},
                                        {ONE "for i in 1; do true; done; (true); exit" TWO, "pretrain_gpt.py --a 1"},
                                        {"exit 0" TWO, "pretrain_gpt.py --a 2"},
                                        {ONE "if [ 1 = 2 ]; then exit 1; fi" TWO, "pretrain_gpt.py --a 2"},
                                        {ONE "if [ -f x ]; then exit 1; fi" TWO, "pretrain_gpt.py --a 2"},
                                        {ONE "[ -f x ] || exit 1" TWO, "pretrain_gpt.py --a 2"},
                                        {ONE "f() { exit 1; }" TWO, "pretrain_gpt.py --a 2"},
                                        {ONE "function f { exit 1; }" TWO, "pretrain_gpt.py --a 2"},
                                        {ONE "function f\n{\n  exit 1\n}" TWO, "pretrain_gpt.py --a 2"},
                                        {ONE "for i in $LIST; do exit 1; done" TWO, "pretrain_gpt.py --a 2"},
                                        {ONE "(exit 1)" TWO, "pretrain_gpt.py --a 2"},
                                        {ONE "echo exit" TWO, "pretrain_gpt.py --a 2"}};
  READ_ALL("run.sh", cases);
}

static void lines_are_those_of_the_words(void **state) {
  (void)state;
  struct sl_shell shell;
  static const int lines[] = {6, 2, 3, 6, 7};
  assert_int_equal(
      sl_shell_read(&shell, "run.sh", "A=(\n --tp\n 2)\nN=3\n\npython pretrain_gpt.py ${A[@]} $N \\\n --x", true),
      SL_OK);
  assert_int_equal(shell.words.count, sizeof lines / sizeof *lines);
  for (size_t i = 0; i < shell.words.count; i++) assert_int_equal(shell.places[i].line, lines[i]);
  sl_shell_free(&shell);
}

static void what_is_not_closed_is_named(void **state) {
  (void)state;
  static const char *const cases[][2] = {{"a\nA=(--tp 2\n", "run.sh:2: A=( is not closed"},
                                         {"a\n--x \"b\n", "run.sh:2: a quotation mark is not closed"},
                                         {"\n--x $(b", "run.sh:2: $( is not closed"},
                                         {"\n--x `b", "run.sh:2: ` is not closed"}};
  struct sl_shell shell;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_int_equal(sl_shell_read(&shell, "run.sh", cases[i][0], true), SL_ERR_INPUT);
    assert_string_equal(sl_error_message(), cases[i][1]);
    sl_error_clear();
  }
}

/* Values that double, many times over, end with an error and not with the memory. */
static void what_grows_is_refused(void **state) {
  (void)state;
  char text[4096] = "A=\"--a --b\"\n";
  struct sl_shell shell;
  for (int i = 0; i < 40; i++) strcat(text, "A=\"$A $A\"\n");
  assert_int_equal(sl_shell_read(&shell, "run.sh", text, true), SL_ERR_INPUT);
  assert_string_equal(sl_error_message(), "run.sh:1: a command or a variable has more than 4096 words");
  sl_error_clear();
  char *list = calloc(5000, 4);
  strcpy(list, "A=(");
  for (int i = 0; i < 4097; i++) memcpy(list + 3 + 2 * i, "a ", 2);
  list[3 + 2 * 4097] = ')';
  assert_int_equal(sl_shell_read(&shell, "run.sh", list, true), SL_ERR_INPUT);
  assert_string_equal(sl_error_message(), "run.sh:1: a command or a variable has more than 4096 words");
  sl_error_clear();
  memcpy(list + 3 + 2 * 4096, ") ", 2);
  list[3 + 2 * 4097] = '\0';
  assert_int_equal(sl_shell_read(&shell, "run.sh", list, true), SL_OK);
  sl_shell_free(&shell);
  size_t used = strlen(list);
  list = realloc(list, used + 400);
  assert_non_null(list);
  for (int i = 0; i < 70; i++) used += (size_t)sprintf(list + used, "\n$A");
  assert_int_equal(sl_shell_read(&shell, "run.sh", list, true), SL_ERR_INPUT);
  assert_non_null(strstr(sl_error_message(), "more than 262144 words, those of values that are used again included"));
  sl_error_clear();
  free(list);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_training_is_found),        cmocka_unit_test(variables_are_replaced),
      cmocka_unit_test(conditions_are_decided),       cmocka_unit_test(nothing_runs_behind_an_exit),
      cmocka_unit_test(lines_are_those_of_the_words), cmocka_unit_test(what_is_not_closed_is_named),
      cmocka_unit_test(what_grows_is_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
