/* The environment variables that are passed to ranks on other hosts, in addition to those of their launcher. */
#pragma once

#include "core/launch/words.h"

/* NAME=VALUE of every variable that is passed on: our own and those of OpenMP, OpenBLAS, NCCL and UCX, if set here, and
 * the lines of .deepspeed_env (or the file that DS_ENV_FILE names) in the home folder and in the current one, which are
 * also set here. Errors: SL_ERR_INPUT with the file and its line; SL_ERR_MEMORY. */
enum sl_status sl_nodes_environment(struct sl_words *words);
