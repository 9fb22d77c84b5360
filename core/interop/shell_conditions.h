/* Which commands of a shell script run: those behind && and ||, between if and fi, and between case and esac depend on
 * conditions. Internal to core/interop. */
#pragma once

#include "core/interop/shell_test.h"

enum { SL_SHELL_FRAMES = 64 };

/* An if, a case or a group in { } that is not closed. */
struct sl_shell_frame {
  char kind;                    /* 'i', 'c' or '{', or '.': a file that is sourced */
  enum sl_truth outer;          /* does it run, by the && or || before it? */
  enum sl_truth branch;         /* does the branch that is read run? */
  enum sl_truth taken;          /* did one before it? */
  struct sl_shell_word subject; /* of a case; its text is NULL before it is known */
  bool patterns;                /* of a case: a branch's patterns are read, ... */
  enum sl_truth matched;        /* ... of which one has matched */
};

struct sl_shell_conditions {
  bool begins;         /* the next word begins a command */
  enum sl_truth runs;  /* does this command run, by the && or || before it? */
  bool either;         /* ... by || */
  enum sl_truth value; /* of the commands that && and || have joined so far */
  struct sl_shell_frame frames[SL_SHELL_FRAMES];
  int depth;     /* of frames, those beyond SL_SHELL_FRAMES included, which decide nothing */
  bool function; /* the next { begins the body of a function */
  int loops;     /* between do and done, so many times ... */
  int subshells; /* ... and between ( and ) */
};

/* Is it a reserved word behind which a command begins? */
bool sl_shell_leads(const char *word);
void sl_shell_conditions_open(struct sl_shell_conditions *c);
/* What is read from here on runs where the command that was read last does, until the conditions before it are put
 * back. */
void sl_shell_conditions_enter(struct sl_shell_conditions *c);
/* A word outside of quotation marks. */
void sl_shell_conditions_word(struct sl_shell_conditions *c, const char *word);
/* All words of a command, at its end; whether they are a command that runs, or may. */
bool sl_shell_conditions_command(struct sl_shell_conditions *c, const struct sl_shell_list *command);
/* Is it an `exit` behind which nothing of the script runs? Those of loops, functions and subshells may not run, or end
 * only these. */
bool sl_shell_conditions_exit(struct sl_shell_conditions *c, const struct sl_shell_list *command);
/* Is what is read in a function or another group in { }? */
bool sl_shell_conditions_in_group(const struct sl_shell_conditions *c);
/* What separates words at `at`, outside of quotation marks: how many bytes of it belong together. */
int sl_shell_conditions_pass(struct sl_shell_conditions *c, const char *at);
/* Does what is read run? */
enum sl_truth sl_shell_conditions_run(const struct sl_shell_conditions *c);
/* Is this a branch of a case of $1 and the like, for an option of the script's own command line? */
bool sl_shell_conditions_ask_options(const struct sl_shell_conditions *c);
