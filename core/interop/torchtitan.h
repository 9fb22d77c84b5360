/* Translates torchtitan's settings (a TOML file of its JobConfig) to a DeepSpeed configuration with a "shardlab"
 * section, and a Hugging Face config.json. torchtitan_write.h is the other direction. */
#pragma once

#include "core/base/status.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Reads text[0..size), called `name` in messages, as torchtitan of February 2026 does, the last version with TOML;
 * keys of 2024 are understood too. `*world`, the number of all ranks, is used if it is not 0, otherwise set to the
 * product of the degrees. `layers`: of the model that is used instead of the file's, 0: the file's. *config is a new
 * reference, and so is *model, NULL if the file names none. Defaults are torchtitan's, except for the model, which
 * has none here. Errors: SL_ERR_INPUT with file, line and key: invalid TOML, an invalid value, a setting that is not
 * modelled, or one that torchtitan does not have (settings.h says which of those, and what `strict` adds). One
 * warning names the settings without a counterpart. `names` gets what the keys are called in the file, for reword.h;
 * NULL: that is not wanted. */
enum sl_status sl_torchtitan_read(const char *name, const char *text, size_t size, bool strict, int64_t layers,
                                  int64_t *world, json_t **config, json_t **model, json_t *names);
