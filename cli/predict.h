/* A prediction without its output; validate uses it too. */
#pragma once

#include "cli/options.h"

#include <jansson.h>

/* Simulates the job of `options` and, unless they are quiet or belong to a validation, prints the verdict; *record is a
 * new reference. `trace`: a file for the timeline, NULL for none. */
enum sl_status sl_predict_record(const struct sl_options *options, const char *trace, json_t **record);
