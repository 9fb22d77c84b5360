/* Reads launch scripts for tests, and compares the words of their trainings. */
#pragma once

#include "core/interop/shell.h"

#include <stdio.h>
#include <string.h>

/* A script and the words of its training, the program's first; doubts follow "//", files that are not read "##". */
struct script {
  const char *text, *words;
};

/* `name`: the script's path. */
static inline void read_script(const char *name, const struct script *s) {
  struct sl_shell shell;
  char said[4096] = "";
  if (sl_shell_read(&shell, name, s->text, true) != SL_OK) fail_msg("%s: %s", s->text, sl_error_message());
  size_t used = 0;
  for (size_t i = 0; i < shell.words.count; i++)
    used += (size_t)snprintf(said + used, sizeof said - used, "%s%s", i > 0 ? " " : "", shell.words.list[i]);
  for (size_t i = 0; i < shell.doubts.count; i++)
    used += (size_t)snprintf(said + used, sizeof said - used, " // %s", shell.doubts.list[i]);
  for (size_t i = 0; i < shell.unread.count; i++)
    used += (size_t)snprintf(said + used, sizeof said - used, " ## %s", shell.unread.list[i]);
  if (strcmp(said, s->words) != 0) fail_msg("%s\n  reads: %s\n  expected: %s", s->text, said, s->words);
  sl_shell_free(&shell);
}

#define READ_ALL(name, cases)                                                                                          \
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) read_script(name, &cases[i])
