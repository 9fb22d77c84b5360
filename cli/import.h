/* --from-megatron, --from-torchtitan, --from-accelerate: settings of another framework in place of --config and, where they make a model or
 * say how many ranks there are, of --model and --world. */
#pragma once

#include "cli/options.h"

/* Set options->config and, unless they were given, options->model and options->world to what is imported, options->ranks_per_node too; nothing
 * without such a flag. The texts are kept in `texts`, to be freed with the options. Errors: SL_ERR_INPUT; two of these flags, --config beside one. */
struct sl_import {
  char *config, *model;
};
enum sl_status sl_import_apply(struct sl_import *texts, struct sl_options *options);
void sl_import_free(struct sl_import *texts);
