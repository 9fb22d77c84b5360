/* Evaluates whole-number expressions as a shell does in $((...)). Internal to core/interop. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the text of a variable, NULL if it is unknown. */
typedef const char *(*sl_arithmetic_variable)(void *context, const char *name, size_t length);

/* Evaluates text[0..length): + - * / %, parentheses, decimal numbers, and variables, bare, $NAME or ${NAME}, whose text
 * is a number. False for anything else, for an unknown variable, or if the result exceeds int64. */
bool sl_arithmetic(const char *text, size_t length, sl_arithmetic_variable variable, void *context, int64_t *out);
