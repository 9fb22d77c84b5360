/* Splits the text of a shell script, or of one argument, into words: enough of a shell to read the settings in a launch
 * script. */
#pragma once

#include "core/launch/words.h"

/* Appends the words of `text` to `words`. They are separated by white space, by ( ) ; | & and by = after a name. Quotes
 * are removed and their contents are split too, since scripts keep lists of arguments in strings. A backslash keeps the
 * next character, or joins two lines; # starts a comment where a word may start. NAME=VALUE sets a variable; $NAME,
 * ${NAME} and ${NAME:-DEFAULT} are replaced if it is known, otherwise kept. $((...)) of known numbers is evaluated
 * (arithmetic.h); nothing is executed. More than 4096 words, or one of more than 4095 bytes, is an error, SL_ERR_INPUT
 * with `name`. */
enum sl_status sl_shell_words(struct sl_words *words, const char *name, const char *text);
