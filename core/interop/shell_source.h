/* Files that a shell script reads by `source FILE` or `. FILE`. Internal to core/interop. */
#pragma once

#include "core/interop/shell_reader.h"

enum { SL_SHELL_SOURCES = 8, SL_SHELL_FILES = 256 };

/* A file that is read, and what the reader goes back to behind it. */
struct sl_shell_source {
  char *text, *path; /* path: its only name, by which one that sources itself is known */
  int depth;
  const struct sl_shell_source *outer;
  const char *outer_text, *at, *end, *name, *file, *counted;
  int line;
  struct sl_shell_conditions conditions;
};

/* If the command sources a file, the reader goes on at the beginning of it: in the folder of the text that is read, in
 * that of the script, or in the working directory, in this order. What sets up a shell alone (activate, .bashrc and the
 * like) is passed over. A path that the script does not tell, or that cannot be read, is added to out->unread with its
 * place; as is a file that sources itself, and one more than SL_SHELL_SOURCES deep. out->text is NULL if there is
 * nothing to read. Errors: SL_ERR_INPUT: more than SL_SHELL_FILES files; SL_ERR_MEMORY. */
enum sl_status sl_shell_source_open(struct sl_shell_reader *r, struct sl_shell_source *out);
/* Goes back to the text behind the command. What the file has set stays. */
void sl_shell_source_close(struct sl_shell_reader *r, struct sl_shell_source *source);
