/* The assumptions of a prediction: --jitter, --straggler, --share-links and --nccl-algo. */
#pragma once

#include "cli/options.h"
#include "core/config/config.h"
#include "core/run/executor.h"

enum { SL_MAX_STRAGGLERS = 64 };

/* Reads the flags; the random seed is that of `config`. `stragglers` has room for SL_MAX_STRAGGLERS and is borrowed by
 * *out. Commands without these flags assume nothing. Errors: SL_ERR_INPUT naming the flag; the simulator checks the
 * ranks. */
enum sl_status sl_assume_read(struct sl_exec_assumptions *out, struct sl_straggler *stragglers,
                              const struct sl_options *options, const struct sl_config *config);
