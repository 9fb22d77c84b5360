/* Does a plan fit into the device memory that a rank may have (--device-memory, or the cluster's device_memory_GiB)? */
#pragma once

#include "cli/setup.h"

/* SL_OK where every rank's arena on the device fits, or no limit is given. Else SL_ERR_INPUT: which rank needs how much, by how much
 * that is too much, and which changes make it fit: each was tried, by building the programs of the configuration so changed. */
enum sl_status sl_fit_check(const struct sl_options *options, const struct sl_setup *setup);
