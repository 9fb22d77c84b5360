/* --from-megatron, --from-torchtitan, --from-accelerate: settings of another framework instead of --config, and, if
 * they determine a model or a number of ranks, instead of --model and --world. */
#pragma once

#include "cli/options.h"

/* Imports the file that such a flag names, if there is one: sets options->config and options->ranks_per_node, and,
 * unless they were given, options->model and options->world. The texts are owned by `texts` and must be kept as long as
 * the options. Errors: SL_ERR_INPUT, also for two of these flags, or one together with --config. */
struct sl_import {
  char *config, *model;
};
enum sl_status sl_import_apply(struct sl_import *texts, struct sl_options *options);
void sl_import_free(struct sl_import *texts);
