/* What ranks on other hosts find in their environment beside their launcher's own. */
#pragma once

#include "core/launch/words.h"

/* NAME=VALUE of every variable that goes along: those of ours, of OpenMP, OpenBLAS, NCCL and UCX that are set here, and the lines of
 * .deepspeed_env (DS_ENV_FILE names another) in the home folder and in this one, which are set here too. Errors: SL_ERR_INPUT
 * with the file and its line; SL_ERR_MEMORY. */
enum sl_status sl_nodes_environment(struct sl_words *words);
