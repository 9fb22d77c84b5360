/* What the writers of other frameworks' settings share. Internal to core/interop. */
#pragma once

#include "core/base/status.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* The text at `path` ("shardlab.preset"), "" if there is none; the whole number, or 0; whether true is there. */
const char *sl_interop_text(const json_t *root, const char *path);
int64_t sl_interop_whole(const json_t *root, const char *path);
bool sl_interop_is_on(const json_t *root, const char *path);

/* Fails with SL_ERR_INPUT: "--to FRAMEWORK: PATH: is VALUE; expected EXPECTED", absent if `is` is "". */
enum sl_status sl_interop_refuse(const char *framework, const char *path, const char *is, const char *expected);

/* Refuses tensor parallelism that divides embedding and head in another way than the framework: shardlab.tp_vocab, if
 * it is there, must be `usual` beside shardlab.tp above 1. */
enum sl_status sl_interop_check_vocabulary(const char *framework, const json_t *config, const char *usual);

enum { SL_INTEROP_REAL_BYTES = 32 };
/* Writes `value` to `out` in the fewest digits that read back as the same number, and returns it. */
const char *sl_interop_real(double value, char out[SL_INTEROP_REAL_BYTES]);
