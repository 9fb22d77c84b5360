/* Prints a verdict for people. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* Prints the first lines about a predicted record, from its "verdict": what was understood, whether it fits, and, if
 * not, what takes the memory and what would help. `by_default`: no --cluster was given, and the line names the one
 * assumed. */
void sl_fit_tell(const json_t *record, bool by_default, FILE *out);
