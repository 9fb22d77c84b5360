/* predict --sweep tp=1,2,4 zero-stage=0..3: every combination of the values of some flags, predicted over --jobs processes; those that are
 * no plan are counted. A table, a CSV (--out) and JSON, the quickest of those that fit first.
 *
 * A flag is one that changes the configuration (--tp, --zero-stage, --recompute ...), --model, --cluster, --world or --dtype; values are
 * separated by commas, A..B is every whole number from A to B, and a flag without a value is on or off. */
#pragma once

#include "cli/options.h"

/* Errors: SL_ERR_INPUT for what is no sweep, naming the word. Nothing is written then. */
enum sl_status sl_sweep(const struct sl_options *options);
