/* What a prediction is asked to assume: --jitter, --straggler and --share-links. */
#pragma once

#include "cli/options.h"
#include "core/config/config.h"
#include "core/run/executor.h"

enum { SL_MAX_STRAGGLERS = 64 };

/* From the flags, with the seed of `config`; `stragglers` has SL_MAX_STRAGGLERS places and is borrowed by *out. Commands
 * without these flags assume nothing. Errors: SL_ERR_INPUT naming the flag; ranks are the simulator's to check. */
enum sl_status sl_assume_read(struct sl_exec_assumptions *out, struct sl_straggler *stragglers,
                              const struct sl_options *options, const struct sl_config *config);
