/* What `shardlab show` can show. Each function prints text, or sets *json if the user wants JSON (a new reference; NULL
 * if there is no JSON form). For show*.c only. */
#pragma once

#include "cli/setup.h"

#include <stdio.h>

enum sl_status sl_show_plan(const struct sl_setup *setup, const struct sl_options *options, FILE *out, json_t **json);
enum sl_status sl_show_memory(const struct sl_setup *setup, const struct sl_options *options, FILE *out, json_t **json);
/* The pipeline as a grid, CSV or SVG; has no JSON form. */
enum sl_status sl_show_schedule(const struct sl_options *options, FILE *out);
/* DeepSpeed's memory estimators for --model, --cluster and --world. */
enum sl_status sl_show_estimator(const struct sl_options *options, FILE *out, json_t **json);
