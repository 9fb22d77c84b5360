/* What a launch script takes from outside of it. Internal to core/interop. */
#pragma once

#include "core/interop/arguments.h"

/* One warning names the files that a script sources and that are not read, one the words of the training's command that
 * are no argument's value and that only a shell could tell, as $EXTRA_ARGS that nothing sets, and "$@" in a function of
 * a script that is started with words: they are taken as empty. With `strict` the first of them is an error,
 * SL_ERR_INPUT. */
enum sl_status sl_megatron_check_outside(const struct sl_arguments *a, bool strict);
