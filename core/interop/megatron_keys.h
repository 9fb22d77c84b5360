/* Which of Megatron-LM's arguments a key of the configuration or the model is made of, so that messages name those.
 * Internal to core/interop. */
#pragma once

#include "core/interop/arguments.h"

/* A key and its argument. */
struct sl_megatron_tie {
  const char *key, *argument;
};

/* Notes in `names`, in the form of sl_interop_reword, the place of each argument of the `count` ties that is given,
 * and of those that are not given if `absent`. Where several arguments make one key, the first one that is given
 * counts. */
void sl_megatron_name(const struct sl_arguments *a, const struct sl_megatron_tie *ties, size_t count, bool absent,
                      json_t *names);
/* Notes those of the configuration. */
void sl_megatron_name_config(const struct sl_arguments *a, json_t *names);
