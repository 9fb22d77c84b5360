/* Arguments of Megatron-LM's that nothing has read. Internal to core/interop. */
#pragma once

#include "core/interop/arguments.h"

/* Whether all names are Megatron-LM's (megatron_names.h): one that is none is refused if the nearest argument that
 * has been asked for, or the one of the tables that it misspells, is not given, and with `strict` always. To be
 * called when everything has been asked for. Errors: SL_ERR_INPUT: "run.sh:3: --tensor-model-paralel-size: is no
 * argument of Megatron-LM's; did you mean --tensor-model-parallel-size?". */
enum sl_status sl_megatron_check_names(const struct sl_arguments *a, bool strict);
/* One warning names what has been used and has a value that a condition of the script decides. */
void sl_megatron_say_doubts(const struct sl_arguments *a);
/* One warning names what has not been used and is not known to change nothing here. */
void sl_megatron_say_rest(const struct sl_arguments *a);
