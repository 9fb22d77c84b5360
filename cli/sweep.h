/* predict --sweep tp=1,2,4 zero-stage=0..3: predicts every combination of the values of some flags, over --jobs
 * processes; combinations without a plan are only counted. The results are a table, a CSV (--out) and JSON, the fastest
 * of those that fit first.
 *
 * A flag may be one that changes the configuration (--tp, --zero-stage, --recompute ...), --model, --cluster, --world
 * or --dtype. Values are separated by commas, A..B is every whole number from A to B, and a flag without a value is on
 * or off. */
#pragma once

#include "cli/options.h"

/* Errors: SL_ERR_INPUT for an invalid sweep, naming the word. Nothing is written then. */
enum sl_status sl_sweep(const struct sl_options *options);
