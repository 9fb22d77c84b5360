/* Whether a plan fits into memory: refuses plans that need more device memory than a rank may have (--device-memory, or
 * the cluster's device_memory_GiB), and adds to a verdict the changes with which the plan would fit, which takes
 * trials. */
#pragma once

#include "cli/setup.h"

#include <jansson.h>

/* SL_OK if every rank's arena fits on the device, or there is no limit. Otherwise SL_ERR_INPUT: which rank needs how
 * much, by how much that exceeds the limit, and which changes make it fit; each was tried (cli/changes.h). */
enum sl_status sl_fit_check(const struct sl_options *options, const struct sl_setup *setup);
/* If the verdict of a predicted record is that it does not fit, adds changes with which it does as
 * "verdict.changes". */
void sl_fit_advise(const struct sl_options *options, const struct sl_setup *setup, json_t *record);
/* --require-fit: SL_ERR_CHECK if the verdict is that it does not fit. */
enum sl_status sl_fit_require(const struct sl_options *options, const json_t *record);
