/* Whole numbers as a shell computes them in $((...)). Internal to core/interop. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The text of a variable, NULL where it is not known. */
typedef const char *(*sl_arithmetic_variable)(const void *context, const char *name, size_t length);

/* text[0..length): + - * / %, parentheses, numbers to base 10 and variables, bare, $NAME or ${NAME}, whose text is a number. False where it is anything else, a
 * variable is not known, or the result is no int64. */
bool sl_arithmetic(const char *text, size_t length, sl_arithmetic_variable variable, const void *context, int64_t *out);
