/* Does a plan fit? The refusal of what needs more device memory than a rank may have (--device-memory, or the cluster's
 * device_memory_GiB), and the part of a verdict that takes trials: changes with which it would fit. */
#pragma once

#include "cli/setup.h"

#include <jansson.h>

/* SL_OK where every rank's arena on the device fits, or no limit is given. Else SL_ERR_INPUT: which rank needs how much, by how much
 * that is too much, and which changes make it fit: each was tried (cli/changes.h). */
enum sl_status sl_fit_check(const struct sl_options *options, const struct sl_setup *setup);
/* Where the verdict of a predicted record is that it does not fit: changes with which it does, in "verdict.changes". */
void sl_fit_advise(const struct sl_options *options, const struct sl_setup *setup, json_t *record);
/* --require-fit: SL_ERR_CHECK where the verdict is that it does not fit. */
enum sl_status sl_fit_require(const struct sl_options *options, const json_t *record);
