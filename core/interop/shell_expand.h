/* A shell script while it is read, and what begins with $ in it. Internal to core/interop. */
#pragma once

#include "core/interop/shell.h"
#include "core/interop/shell_conditions.h"
#include "core/interop/shell_program.h"
#include "core/interop/shell_values.h"

enum { SL_SHELL_WORD_BYTES = 4096, SL_SHELL_NAME_BYTES = 64 };

struct sl_shell_reader {
  const char *text, *at, *name; /* name: of the text, for messages */
  const char *opened;           /* the quotation mark that is not closed yet, or NULL */
  const char *counted;          /* up to where lines are counted */
  int line;
  bool is_script;
  int depth; /* of defaults inside of ${...}, while they are read */
  struct sl_shell_conditions conditions;
  struct sl_shell_variables variables;
  struct sl_shell_program program;
  struct sl_shell *out;
  struct sl_words texts; /* of all words */
  int read;              /* words so far, those of values that are used again included */
  /* the word that is read */
  char word[SL_SHELL_WORD_BYTES];
  size_t length;
  int began;         /* its line */
  bool quoted;       /* it began inside quotation marks */
  bool plain;        /* nothing of it came from quotation marks or a variable */
  const char *doubt; /* of its variables, the first */
  bool conditional;  /* one of its variables was set under a condition */
  /* where it goes */
  struct sl_shell_list command;
  bool redirects; /* it is a file's name behind > */
  bool assigns;   /* it goes into `value` */
  bool in_array;  /* ... which is a list in parentheses */
  char assigned[SL_SHELL_NAME_BYTES];
  int assigned_line;
  struct sl_shell_value value;
};

/* Appends bytes to the word. Errors: SL_ERR_INPUT: it becomes too long. */
enum sl_status sl_shell_push(struct sl_shell_reader *r, const char *bytes, size_t n);
/* Appends the words of a variable: the first goes on with the word before it, unless a blank is between them. */
enum sl_status sl_shell_splice(struct sl_shell_reader *r, const struct sl_shell_variable *v);
/* Expands what begins with $ at r->at; a dollar that begins nothing stands for itself. */
enum sl_status sl_shell_expand(struct sl_shell_reader *r);
/* `...` at r->at stays as it is written: no command is ever run. */
enum sl_status sl_shell_keep_quoted(struct sl_shell_reader *r);
/* Reads the next character or expansion, inside or outside a word (shell.c). */
enum sl_status sl_shell_step(struct sl_shell_reader *r);
/* Ends a word inside of a value or a default (shell.c). */
enum sl_status sl_shell_end_word(struct sl_shell_reader *r);
/* Sets the variable whose value is read (shell.c). */
enum sl_status sl_shell_end_assignment(struct sl_shell_reader *r);
/* The bytes of the name at the beginning of `text`; 0: there is none. */
size_t sl_shell_name_length(const char *text);
/* Fails with SL_ERR_INPUT: "NAME:LINE: WHAT is not closed", of what begins at `at`. */
enum sl_status sl_shell_not_closed(const struct sl_shell_reader *r, const char *what, const char *at);
