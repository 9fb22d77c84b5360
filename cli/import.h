/* --from-megatron: settings of another framework in place of --config and, where they make a model, of --model. */
#pragma once

#include "cli/options.h"

/* Set options->config and, unless it was given, options->model to the JSON of what is imported; nothing without such a flag. The texts are
 * kept in `texts`, to be freed with the options. Errors: SL_ERR_INPUT; --config beside it. */
struct sl_import {
  char *config, *model;
};
enum sl_status sl_import_apply(struct sl_import *texts, struct sl_options *options);
void sl_import_free(struct sl_import *texts);
