/* A prediction without its printing, which validate makes too. */
#pragma once

#include "cli/options.h"

#include <jansson.h>

/* Simulate the job of `options` and, unless they are quiet or those of a validation, say the verdict; *record is a new reference. `trace`: a file for the timeline, NULL for none. */
enum sl_status sl_predict_record(const struct sl_options *options, const char *trace, json_t **record);
