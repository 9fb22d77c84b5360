/* Hugging Face Accelerate's settings (the YAML file of `accelerate config`) and our words for the same: a DeepSpeed configuration with its "shardlab"
 * section. */
#pragma once

#include "core/base/status.h"

#include <jansson.h>
#include <stdint.h>

/* Read text[0..size), called `name` in messages, as Accelerate 1.15 does. `*world`, ranks in all, is taken where it is not 0, else set to num_processes;
 * *per_machine becomes the ranks of a machine where there are several machines, else 0. *config is a new reference. What Accelerate leaves to the script (batch,
 * optimizer) is "auto", for the Trainer's rules (cli/defaults.h). A deepspeed_config_file is read from where the program runs, or else beside `name`. Errors:
 * SL_ERR_INPUT with file, line and key: no YAML, a value that is none, or what is not modelled; what has no counterpart is named in one warning. */
enum sl_status sl_accelerate_read(const char *name, const char *text, size_t size, int64_t *world, int64_t *per_machine,
                                  json_t **config);
