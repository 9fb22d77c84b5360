/* What a script is started with: variables of its environment, and its own arguments. Internal to core/interop. */
#pragma once

#include "core/interop/shell_reader.h"

/* The command that starts the script has a further word of the shell, "a b" being one. */
enum sl_status sl_shell_end_argument(struct sl_shell_reader *r);
/* Takes the words behind the script's name, of the command that has been read, as the script's arguments. */
enum sl_status sl_shell_take_arguments(struct sl_shell_reader *r);
/* The bytes of a name behind $: of a variable, or of one of the script's arguments: "1", "@", "*", "#" and, `braced`,
 * "10". 0: there is none. */
size_t sl_shell_dollar_length(const char *name, bool braced);
/* The variable of a name, or the script's argument where it is certain which that is: in functions and loops, which are
 * read once, it is not. NULL: not known. */
const struct sl_shell_variable *sl_shell_known(const struct sl_shell_reader *r, const char *name, size_t length);
/* If the command is a `shift`, the script's arguments move up. Errors: SL_ERR_INPUT: it has some, and they move in a
 * loop, in a function, under a condition or by an unknown number, or `set --` replaces them. */
enum sl_status sl_shell_shift(struct sl_shell_reader *r);
