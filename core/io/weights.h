/* A model's weights in one file or several, as Hugging Face keeps them. */
#pragma once

#include "core/io/safetensors.h"

struct sl_weights {
  char *name;                   /* as given, for messages; owned */
  struct sl_safetensors *files; /* (file_count), owned */
  int file_count;
};

/* `path`: a safetensors file; an index (model.safetensors.index.json), whose files stand beside it; or a folder with
 * model.safetensors or that index. Errors: SL_ERR_INPUT, of each file those of sl_safetensors_open. On failure nothing is held. */
enum sl_status sl_weights_open(struct sl_weights *weights, const char *path);
void sl_weights_close(struct sl_weights *weights); /* accepts a zeroed one */

/* The tensor `name` and the file that has it, of which several would have the first; NULL when there is none. As
 * sl_safetensors_find. */
const struct sl_safetensors_tensor *sl_weights_find(const struct sl_weights *weights, const char *name,
                                                    const struct sl_safetensors **file);
