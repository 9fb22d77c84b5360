/* A verdict for people. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* The first lines about a predicted record, from its "verdict" (`by_default`: no --cluster was given, and the line says which was taken): what was understood, whether it fits and, where it does not, what holds the
 * memory and what would help. */
void sl_fit_tell(const json_t *record, bool by_default, FILE *out);
