/* Runs a measurement once more, with every op marked (backend/cuda/marks.h), if a GPU failed in an op that could not be
 * identified: the message of the second run names the op. */
#pragma once

#include "core/base/status.h"

/* `status`: that of a run, and of its ranks if a launcher started them. For SL_ERR_DEVICE, replaces this process by a
 * new run of this program with the arguments `argv`. Returns any other status, and also SL_ERR_DEVICE if this is
 * already the second run or the first one marked its ops. */
enum sl_status sl_again_if_unknown(enum sl_status status, char **argv);

/* In a second run that did not fail: SL_ERR_INTERNAL with the failure of the first run, because neither can be trusted
 * then. In a first run: SL_OK. */
enum sl_status sl_again_check(void);
