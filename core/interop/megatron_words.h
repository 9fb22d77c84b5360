/* Do the words of Megatron-LM's arguments belong to an argument each? Internal to core/interop. */
#pragma once

#include "core/interop/arguments.h"

/* Looks at the words as argparse does: after an argument follow as many as it takes, and the first word behind the
 * program's, NAME.py, or the first of all is an argument. To be called when every known argument has been read: what is
 * unknown may take any words. Errors: SL_ERR_INPUT with a word that belongs to no argument, or an argument that lacks
 * its value. */
enum sl_status sl_megatron_check_words(const struct sl_arguments *a);
/* How many words an argument takes at most, of one that nobody knows 1. */
size_t sl_megatron_takes(const char *name);
/* --rampup-batch-size has three whole numbers, if it is given. Errors: SL_ERR_INPUT. */
enum sl_status sl_megatron_check_rampup(const struct sl_arguments *a);
