/* The words of a shell script's text, or of one argument: enough of a shell to read the settings that a launch script gives. */
#pragma once

#include "core/launch/words.h"

/* Words of `text`, behind one another in `words`: split at white space and at ( ) ; | & = behind a name; quotes fall away, and what they
 * hold is split too, since scripts keep lists of arguments in strings; a backslash keeps the next character, or joins two lines; # begins a
 * comment where a word may. NAME=VALUE sets a variable and $NAME, ${NAME} and ${NAME:-DEFAULT} are replaced where it is known, else kept
 * as they stand; $((...)) of numbers that are known is computed (arithmetic.h); nothing is run. Words beyond 4096 or of more than 4095 bytes are an error, SL_ERR_INPUT with `name`. */
enum sl_status sl_shell_words(struct sl_words *words, const char *name, const char *text);
