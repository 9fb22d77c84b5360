/* Reads a launch script, or the arguments alone, as a shell would up to the command that runs the training. */
#pragma once

#include "core/launch/words.h"

#include <stdbool.h>

/* Where a word comes from. */
struct sl_shell_place {
  const char *file;  /* that the script sources, as messages name it; NULL: the script itself */
  int line;          /* of its first character, from 1 */
  const char *doubt; /* what a condition decides of it: "TP is 4 as in line 3, not 2 as in line 1"; NULL: nothing */
  bool conditional;  /* it was written under a condition */
};

struct sl_shell {
  struct sl_words words;
  struct sl_shell_place *places; /* one a word */
  size_t capacity;
  struct sl_words doubts; /* the texts of them, each once */
  struct sl_words files;  /* that the script sources and that were read */
  struct sl_words unread; /* others: "run.sh:3: source $X/y.sh (only a shell can tell its path)" */
  bool has_arguments;     /* the script is started with words of its own */
};

/* Reads the words of `text`. Words are separated by blanks and lines, inside quotation marks too, since scripts keep
 * lists of arguments in strings; the marks are left out. A backslash keeps the next character, or joins two lines; #
 * starts a comment where a word may start; here-documents and redirections are passed over.
 *
 * NAME=VALUE, NAME=(...) and += set variables; $NAME, ${NAME}, ${NAME[@]}, ${NAME:-DEFAULT}, ${NAME:=DEFAULT},
 * ${NAME:+OTHER} and ${NAME:?WORDS} are replaced where that is known, otherwise kept. $((...)) of known numbers is
 * evaluated (arithmetic.h); nothing is executed. All branches of conditions are read (shell_conditions.h), loops and
 * functions once, where they stand. The last value of a variable holds; a word that has another value if the condition
 * fails is in doubt.
 *
 * With `is_script` the words are those of the last command that runs a pretrain_*.py, from that file on: neither what
 * `echo` and `printf` say nor what other commands are given, nor what stands behind an `exit` that follows it. A warning
 * names two such commands whose arguments differ.
 * Failing that they are those of the last command with a .py file and --num-layers or --micro-batch-size, and failing
 * that all words beginning with the first argument in commands and variables that have one. Without `is_script` they
 * are all of `text`.
 *
 * Of a script, `source FILE` and `. FILE` are read where they stand (shell_source.h).
 *
 * Errors: SL_ERR_INPUT with `name` and line: more than 4096 words in a command or a variable, or a word of more than
 * 4095 bytes; what is not closed. On failure nothing is allocated. */
enum sl_status sl_shell_read(struct sl_shell *out, const char *name, const char *text, bool is_script);
/* The same of a script that is started by the command `start`, NULL: by its name alone. "MBS=4 bash run.sh 7B" sets the
 * variable MBS, and $1, $2 ... $@ and $# of the words behind `name`, outside of functions and loops; 'a b' is one of
 * them, and so is ''. Errors, too: a `shift` of them there, or of an unknown number, and `set --`. */
enum sl_status sl_shell_read_started(struct sl_shell *out, const char *name, const char *text, bool is_script,
                                     const char *start);
void sl_shell_free(struct sl_shell *shell);
