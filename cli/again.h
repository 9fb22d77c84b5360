/* A measurement whose GPU failed in an op that nobody could name is run once more, by itself, with every op marked
 * (backend/cuda/marks.h): the message of the second run names the op. */
#pragma once

#include "core/base/status.h"

/* `status` of a run, and of its ranks where a launcher started them. SL_ERR_DEVICE starts this program again in place of
 * this process, with the arguments `argv`; everything else comes back, and so does SL_ERR_DEVICE where this is the second
 * run or one that marked its ops anyway. */
enum sl_status sl_again_if_unknown(enum sl_status status, char **argv);

/* A second run that met no failure: SL_ERR_INTERNAL with what the first one met, for then neither can be trusted. SL_OK in
 * a first run. */
enum sl_status sl_again_check(void);
