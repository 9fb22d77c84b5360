/* label: unit
 * Files that a launch script sources: where they are looked for, what they set, and how those are named that cannot be
 * read. The words are those that bash gives the program where all files are in the folder in which it runs. */
#include "core/interop/shell.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/support/shell_script.h"

/* Beside the script, run/run.sh, and in the working directory. */
static const char *const files[][2] = {
    {"run/run.sh", "source back.sh\n"},
    {"run/conf.sh", "MBS=4 PREC=--bf16\nARGS=\"--x 1\"\n"},
    {"run/chain.sh", "source deep/one.sh\nN=chain$N\n"},
    {"run/deep/one.sh", ". two.sh\nN=${N}one\n"},
    {"run/deep/two.sh", "N=two"},
    {"run/up.sh", "source $(dirname ${BASH_SOURCE[0]})/deep/here.sh"},
    {"run/deep/here.sh", "source ${BASH_SOURCE%/*}/two.sh\nsource $(dirname $0)/conf.sh"},
    {"run/self.sh", "N=1\nsource self.sh\nN=2$N\n"},
    {"run/back.sh", "N=5\nsource ./run.sh\n"},
    {"run/exit.sh", "python pretrain_gpt.py --a 1\nexit 0\n"},
    {"run/half.sh", "if [ -f x ]; then\nfoo() {\nN=3\n"},
    {"run/open.sh", "\nN='a\n"},
    {"run/array.sh", "N=(a\n"},
    {"run/both.sh", "N=beside"},
    {"both.sh", "N=below"},
    {"below.sh", "N=below"},
    {"run/1.sh", ". 2.sh"},
    {"run/2.sh", ". 3.sh"},
    {"run/3.sh", ". 4.sh"},
    {"run/4.sh", ". 5.sh"},
    {"run/5.sh", ". 6.sh"},
    {"run/6.sh", ". 7.sh"},
    {"run/7.sh", ". 8.sh"},
    {"run/8.sh", "N=8\n. 9.sh"},
    {"run/9.sh", "N=9"},
};
static char folder[] = "shell_source_XXXXXX";

static int make_files(void **state) {
  (void)state;
  if (mkdtemp(folder) == NULL || chdir(folder) != 0 || mkdir("run", 0777) != 0 || mkdir("run/deep", 0777) != 0)
    return -1;
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    FILE *f = fopen(files[i][0], "w");
    if (f == NULL || fputs(files[i][1], f) < 0 || fclose(f) != 0) return -1;
  }
  return 0;
}

static int remove_files(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) remove(files[i][0]);
  return rmdir("run/deep") | rmdir("run") | chdir("..") | rmdir(folder);
}

#define RUN "\npython pretrain_gpt.py --m $MBS"
#define CONF "pretrain_gpt.py --m 4"
#define RUN_N "\npython pretrain_gpt.py --n $N"

static void files_are_read_where_they_stand(void **state) {
  (void)state;
  static const struct script cases[] = {
      {"MBS=1\nsource conf.sh" RUN " $ARGS $PREC", CONF " --x 1 --bf16"},
      {"source conf.sh\nMBS=1" RUN, "pretrain_gpt.py --m 1"},
      {"set -a; . ./conf.sh >/dev/null; set +a" RUN, CONF},
      {"if true; then source conf.sh; fi" RUN, CONF},
      {"MBS=1\nif false; then source conf.sh; fi" RUN, "pretrain_gpt.py --m 1"},
      {"MBS=1\n[ -f x ] && source conf.sh" RUN, CONF " // MBS is 4 as in line 1 of run/conf.sh, not 1 as in line 1"},
      {"MBS=1\n[ -f x ] && source conf.sh\nMBS=2" RUN, "pretrain_gpt.py --m 2"},
      {"source chain.sh" RUN_N, "pretrain_gpt.py --n chaintwoone"},
      {"N=1\nsource half.sh\nN=4" RUN_N, "pretrain_gpt.py --n 4"},
      {"source exit.sh\npython pretrain_gpt.py --a 2", "pretrain_gpt.py --a 1"},
      {"MBS=1\necho source conf.sh" RUN, "pretrain_gpt.py --m 1"},
      {"MBS=1\nbash -c 'source conf.sh'" RUN, "pretrain_gpt.py --m 1"},
      {"source /x/bin/activate llm; . ~/.bashrc; source $(conda info --base)/etc/profile.d/conda.sh\nMBS=2" RUN,
       "pretrain_gpt.py --m 2"},
      {"source both.sh" RUN_N, "pretrain_gpt.py --n beside"},
      {"source below.sh" RUN_N, "pretrain_gpt.py --n below"}};
  READ_ALL("run/run.sh", cases);
}

static void paths_are_told_by_the_script(void **state) {
  (void)state;
  static const struct script cases[] = {
      {"F=conf\nsource ${F}.sh" RUN, CONF},
      {"source \"$(dirname \"$0\")/conf.sh\"" RUN, CONF},
      {"source `dirname $0`/conf.sh" RUN, CONF},
      {"source ${0%/*}/conf.sh" RUN, CONF},
      {". ${BASH_SOURCE[0]%/*}/conf.sh" RUN, CONF},
      {"S=\"${BASH_SOURCE[0]}\"\nsource $(dirname $S)/conf.sh" RUN, CONF},
      {"D=$(cd \"$(dirname \"${BASH_SOURCE[0]}\")\" >/dev/null 2>&1 && pwd -P)\nsource $D/conf.sh" RUN, CONF},
      {"D=$( cd -- \"$( dirname -- \"$0\" )\" && pwd )\nsource \"$D\"/conf.sh" RUN, CONF},
      {"S=$(readlink -f $0)\nD=$(dirname ${S})\nsource $D/../run/conf.sh" RUN, CONF},
      {"source $(dirname $(realpath $0))/conf.sh" RUN, CONF},
      {"source up.sh" RUN " --n $N", CONF " --n two"},
      {"source $PWD/below.sh" RUN_N, "pretrain_gpt.py --n below"},
      {"source $(pwd)/both.sh" RUN_N, "pretrain_gpt.py --n beside"},
      {"cd x && source `pwd`/below.sh" RUN_N, "pretrain_gpt.py --n below"}};
  READ_ALL("run/run.sh", cases);
}

static void what_is_not_read_is_named(void **state) {
  (void)state;
#define UNTOLD " (only a shell can tell its path)"
#define ABSENT " (there is no such file here)"
#define NONE "\npython pretrain_gpt.py --n 1"
#define WORDS "pretrain_gpt.py --n 1 ## run/run.sh:"
  static const struct script cases[] = {
      {"source $X/conf.sh" NONE, WORDS "1: source $X/conf.sh" UNTOLD},
      {"\nif [ -f y ]; then\n  . $1\nfi" NONE, WORDS "3: source $1" UNTOLD},
      {"source ~/conf.sh" NONE, WORDS "1: source ~/conf.sh" UNTOLD},
      {"source $(dirname $X)/conf.sh" NONE, WORDS "1: source $(dirname $X)/conf.sh" UNTOLD},
      {"source $(cd .. && ls)/conf.sh" NONE, WORDS "1: source $(cd .. && ls)/conf.sh" UNTOLD},
      {"source $(echo run)/conf.sh" NONE, WORDS "1: source $(echo run)/conf.sh" UNTOLD},
      {"source ${0##*/}/conf.sh" NONE, WORDS "1: source ${0##*/}/conf.sh" UNTOLD},
      {"A=$A\nB=$B$A\nA=$B\nsource $A" NONE, WORDS "4: source $B$A" UNTOLD},
      {"source none.sh\nsource /no/such.sh" NONE,
       WORDS "1: source none.sh" ABSENT " ## run/run.sh:2: source /no/such.sh" ABSENT},
      {"source $(dirname $0)/below.sh" NONE, WORDS "1: source $(dirname $0)/below.sh" ABSENT},
      {"source deep" NONE, WORDS "1: source deep" ABSENT},
      {"source self.sh" RUN_N, "pretrain_gpt.py --n 21 ## run/self.sh:2: source self.sh (it sources itself)"},
      {"source back.sh" RUN_N, "pretrain_gpt.py --n 5 ## run/back.sh:2: source ./run.sh (it sources itself)"},
      {"source 1.sh" RUN_N, "pretrain_gpt.py --n 8 ## run/8.sh:2: source 9.sh (too many files source each other)"}};
  READ_ALL("run/run.sh", cases);
}

/* Paths of paths, each of two, end without an answer and not with the day. */
static void paths_that_grow_are_not_told(void **state) {
  (void)state;
  char text[2048] = "A0=$0\n";
  struct sl_shell shell;
  for (int i = 0; i < 7; i++) {
    const size_t used = strlen(text);
    snprintf(text + used, sizeof text - used, "A%d=$(dirname $A%d/$A%d/$A%d/$A%d/$A%d/$A%d)\n", i + 1, i, i, i, i, i,
             i);
  }
  strcat(text, "source $A2\nsource $A3\nsource $A7\npython pretrain_gpt.py --n 1");
  assert_int_equal(sl_shell_read(&shell, "run/run.sh", text, true), SL_OK);
  assert_int_equal(shell.unread.count, 3);
  for (size_t i = 0; i < 3; i++) {
    const char *why = i == 0 ? "(there is no such file here)" : "(only a shell can tell its path)";
    if (strstr(shell.unread.list[i], why) == NULL) fail_msg("%s", shell.unread.list[i]);
  }
  sl_shell_free(&shell);
}

static void files_have_lines_of_their_own(void **state) {
  (void)state;
  struct sl_shell shell;
  static const char text[] = "source chain.sh; source conf.sh\n\npython pretrain_gpt.py $ARGS";
  assert_int_equal(sl_shell_read(&shell, "run/run.sh", text, true), SL_OK);
  assert_int_equal(shell.words.count, 3);
  assert_int_equal(shell.places[0].line, 3);
  assert_null(shell.places[0].file);
  for (size_t i = 1; i < 3; i++) {
    assert_int_equal(shell.places[i].line, 2);
    assert_string_equal(shell.places[i].file, "run/conf.sh");
  }
  sl_shell_free(&shell);
}

static void their_errors_name_them(void **state) {
  (void)state;
  static const char *const cases[][2] = {{"source open.sh\nX=2", "run/open.sh:2: a quotation mark is not closed"},
                                         {"source array.sh\nX=2", "run/array.sh:1: N=( is not closed"}};
  char many[8192] = "";
  struct sl_shell shell;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_int_equal(sl_shell_read(&shell, "run/run.sh", cases[i][0], true), SL_ERR_INPUT);
    assert_string_equal(sl_error_message(), cases[i][1]);
    sl_error_clear();
  }
  for (int i = 0; i < 257; i++) strcat(many, ". conf.sh\n");
  assert_int_equal(sl_shell_read(&shell, "run/run.sh", many, true), SL_ERR_INPUT);
  assert_string_equal(sl_error_message(), "run/run.sh:257: sources more than 256 files, those of files included");
  sl_error_clear();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(files_are_read_where_they_stand), cmocka_unit_test(paths_are_told_by_the_script),
      cmocka_unit_test(what_is_not_read_is_named),       cmocka_unit_test(paths_that_grow_are_not_told),
      cmocka_unit_test(files_have_lines_of_their_own),   cmocka_unit_test(their_errors_name_them)};
  return cmocka_run_group_tests(tests, make_files, remove_files);
}
