/* The path of a file that a shell script names. Internal to core/interop. */
#pragma once

#include "core/interop/shell_reader.h"

enum { SL_SHELL_PATH_BYTES = 4096 };

/* A path, and whether it begins with that of the script or of the file that is read. */
struct sl_shell_path {
  char text[SL_SHELL_PATH_BYTES];
  size_t length;
  bool is_scripts;
};

/* What a word stands for, of whose variables the reader has replaced those that it knows: $0, ${BASH_SOURCE[0]} and the
 * folder of them, by ${...%<slash>*}, $(dirname PATH), $(cd PATH && pwd), $(realpath PATH) or $(readlink -f PATH); $PWD
 * and $(pwd) are the working directory. False: only a shell can tell it. */
bool sl_shell_path(const struct sl_shell_reader *r, const char *word, struct sl_shell_path *out);
/* The folder of a path, "." if it has none. */
void sl_shell_folder(struct sl_shell_path *path);
