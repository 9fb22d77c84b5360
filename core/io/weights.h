/* A model's weights in one or several files, as Hugging Face stores them. */
#pragma once

#include "core/io/safetensors.h"

struct sl_weights {
  char *name;                   /* as given, for messages; owned */
  struct sl_safetensors *files; /* (file_count), owned */
  int file_count;
};

/* `path`: a safetensors file; an index (model.safetensors.index.json) next to its files; or a folder with
 * model.safetensors or that index. Errors: SL_ERR_INPUT, and for each file those of sl_safetensors_open. On failure
 * nothing is open. */
enum sl_status sl_weights_open(struct sl_weights *weights, const char *path);
void sl_weights_close(struct sl_weights *weights); /* accepts a zeroed one */

/* The tensor `name` and the first file that has it; NULL if there is none. See sl_safetensors_find. */
const struct sl_safetensors_tensor *sl_weights_find(const struct sl_weights *weights, const char *name,
                                                    const struct sl_safetensors **file);
