/* --from-megatron, --from-torchtitan, --from-accelerate: settings of another framework instead of --config, and, if
 * they determine a model or a number of ranks, instead of --model and --world. */
#pragma once

#include "cli/options.h"

#include <jansson.h>

/* Imports the file that such a flag names, if there is one: sets options->config and options->ranks_per_node, and,
 * unless they were given, options->model and options->world. The texts are owned by `texts` and must be kept as long as
 * the options. Errors: SL_ERR_INPUT, also for two of these flags, or one together with --config, or where `command`
 * draws numbers and only a shell could tell the script's seed. */
struct sl_import {
  char *config, *model;
  char *script;     /* that --from-megatron starts with words of its own; NULL: none */
  const char *file; /* what they were made of, as messages name it; NULL: there is nothing imported */
  json_t *names;    /* of which of its words; see core/interop/reword.h */
  sl_warn_sink say; /* where warnings went, and go again in these words; NULL: they are left as they are */
  void *say_context;
};
enum sl_status sl_import_apply(struct sl_import *texts, struct sl_options *options, enum sl_command_bit command);
/* Warnings are in the words of what was imported from here on, until `texts` is freed. */
void sl_import_begin_words(struct sl_import *texts);
/* Puts the message of a failure in the words of what was imported. Returns `status`. */
enum sl_status sl_import_explain(const struct sl_import *texts, enum sl_status status);
void sl_import_free(struct sl_import *texts);
