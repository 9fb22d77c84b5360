/* What `shardlab show` can show; each prints text, or fills *json when the user wants JSON (a new reference; NULL: this one
 * has no JSON form). Between show*.c only. */
#pragma once

#include "cli/setup.h"

#include <stdio.h>

enum sl_status sl_show_plan(const struct sl_setup *setup, const struct sl_options *options, FILE *out, json_t **json);
enum sl_status sl_show_memory(const struct sl_setup *setup, const struct sl_options *options, FILE *out, json_t **json);
/* The pipeline as a grid, CSV or SVG; text only. */
enum sl_status sl_show_schedule(const struct sl_options *options, FILE *out);
/* DeepSpeed's estimators on --model, --cluster and --world. */
enum sl_status sl_show_estimator(const struct sl_options *options, FILE *out, json_t **json);
