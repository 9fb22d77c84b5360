/* torchtitan's settings (a TOML file of its JobConfig) and our words for the same: a DeepSpeed configuration with its "shardlab" section, and a
 * Hugging Face config.json. */
#pragma once

#include "core/base/status.h"

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

/* Read text[0..size), called `name` in messages, as torchtitan of February 2026 does, the last that reads TOML; keys of 2024 have their meaning too.
 * `*world`, ranks in all, is taken where it is not 0, else set to what the degrees amount to. `layers` of the model that is used in place of the
 * file's, 0: the file's. *config is a new reference, and so is *model: NULL where the file names none. Defaults are torchtitan's, but for the
 * model, which has none here. Errors: SL_ERR_INPUT with file, line and key: no TOML, a value that is none, or what is not modelled; what has no
 * counterpart is named in one warning. */
enum sl_status sl_torchtitan_read(const char *name, const char *text, size_t size, int64_t layers, int64_t *world,
                                  json_t **config, json_t **model);
