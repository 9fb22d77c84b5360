/* Messages about keys that were made of another framework's words, in those words. */
#pragma once

#include "core/base/status.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Rewrites the message of a failure that begins with `file`, of which a configuration and a model were made. `names`
 * says of what each key was made: {"shardlab.tp": {"where": "run.sh:12", "word": "--tensor-model-parallel-size"}};
 * NULL: the keys are the file's own.
 *   run.sh: n_head: is 5; expected a divisor of n_embd
 *   run.sh:12: --num-attention-heads: is 5; expected a divisor of --hidden-size
 * Returns `status`. */
enum sl_status sl_interop_reword(enum sl_status status, const char *file, const json_t *names);
/* The same of the text of a message, to out[size]; false: it is none about `file`, and nothing is written. */
bool sl_interop_reword_text(const char *was, const char *file, const json_t *names, char *out, size_t size);
