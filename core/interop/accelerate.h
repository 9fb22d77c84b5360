/* Translates Hugging Face Accelerate's settings (the YAML file of `accelerate config`) to a DeepSpeed configuration
 * with a "shardlab" section. accelerate_write.h is the other direction. */
#pragma once

#include "core/base/status.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum { SL_ACCELERATE_VOCABULARY = 128 }; /* Megatron-LM's make-vocab-size-divisible-by, which no key changes */

/* Reads text[0..size), called `name` in messages, as Accelerate 1.15 does. `*world`, the number of all ranks, is used
 * if it is not 0, otherwise set to num_processes; *per_machine becomes the ranks per machine if the machines are
 * given, else 0: as many as the file has, whatever *world is. *config is a new reference. What Accelerate leaves to
 * the script (batch, optimizer) becomes "auto", for the Trainer's rules (cli/defaults.h). A deepspeed_config_file is
 * searched in the current folder, then next to `name`. Errors: SL_ERR_INPUT with file, line and key: invalid YAML, an
 * invalid value, a setting that is not modelled, or one that Accelerate does not have (settings.h says which of those
 * below the top, and what `strict` adds). One warning names the settings without a counterpart. `names` gets
 * what the keys are called in the file, for reword.h; NULL: that is not wanted. */
enum sl_status sl_accelerate_read(const char *name, const char *text, size_t size, bool strict, int64_t *world,
                                  int64_t *per_machine, json_t **config, json_t *names);
