/* A shell script while it is read: the word, and where it goes. Internal to core/interop. */
#pragma once

#include "core/interop/shell.h"
#include "core/interop/shell_conditions.h"
#include "core/interop/shell_program.h"
#include "core/interop/shell_values.h"

enum { SL_SHELL_WORD_BYTES = 4096, SL_SHELL_NAME_BYTES = 64, SL_SHELL_WORDS = 4096, SL_SHELL_DEPTH = 16 };

/* What is read where a ${...} with a default has been passed. */
struct sl_shell_input {
  const char *at, *end, *opened;
  bool assigns; /* the default becomes the variable's value, as ${NAME:=DEFAULT} says */
};

struct sl_shell_ends {
  size_t *at, count, capacity;
};

struct sl_shell_reader {
  const char *text, *at, *end, *name;   /* name: of the text, for messages */
  const char *script;                   /* the script's name */
  const char *file;                     /* NULL: it is the script's own text */
  const struct sl_shell_source *source; /* that is read, and those that source it; NULL: none */
  const char *opened;                   /* the quotation mark that is not closed yet, or NULL */
  const char *counted;                  /* up to where lines are counted */
  int line;
  bool is_script;
  bool over;                                    /* it has ended itself, behind the command that runs the training */
  struct sl_shell_input inputs[SL_SHELL_DEPTH]; /* of the texts around the default that is read */
  int depth;
  struct sl_shell_conditions conditions;
  struct sl_shell_variables variables;
  struct sl_shell_program program;
  struct sl_shell_list given; /* the words of the script's own arguments; those of "a b" are two ... */
  struct sl_shell_ends ends;  /* ... and how many of them there are up to the end of each argument */
  size_t shifted;             /* arguments that are gone */
  bool starts;                /* it is the command that starts the script: `ends` are those of `command` */
  bool begun;                 /* a word of the shell has begun, which "" is, too */
  struct sl_shell *out;
  struct sl_words texts; /* of all words */
  int read;              /* words so far, those of values that are used again included */
  /* the word that is read */
  char word[SL_SHELL_WORD_BYTES];
  size_t length;
  const char *began_file; /* where it begins ... */
  int began;              /* ... and its line */
  bool quoted;            /* it began inside quotation marks */
  bool plain;             /* nothing of it came from quotation marks or a variable */
  const char *doubt;      /* of its variables, the first */
  bool conditional;       /* one of its variables was set under a condition */
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
/* Ends a word of a list, if there is one. It may go on in the same word of the shell, as texts in quotation marks do.
 * Errors: SL_ERR_INPUT: there are too many; SL_ERR_MEMORY. */
enum sl_status sl_shell_end_word(struct sl_shell_reader *r);
/* The value of `name`, whose first word is at this line, is read from here on. */
void sl_shell_begin_assignment(struct sl_shell_reader *r, const char *name, size_t length, int line);
/* Sets the variable whose value has been read, unless its condition is known not to hold. */
enum sl_status sl_shell_end_assignment(struct sl_shell_reader *r);
/* Appends the words of a variable: the first goes on with the word before it, unless a blank is between them. */
enum sl_status sl_shell_splice(struct sl_shell_reader *r, const struct sl_shell_variable *v);
/* The line of r->at, which never goes back but for defaults, whose line is that of their end. */
int sl_shell_line(struct sl_shell_reader *r);
/* The bytes of the name at the beginning of `text`; 0: there is none. */
size_t sl_shell_name_length(const char *text);
/* Fails with SL_ERR_INPUT: "NAME:LINE: WHAT is not closed", of what begins at `at`. */
enum sl_status sl_shell_not_closed(const struct sl_shell_reader *r, const char *what, const char *at);
