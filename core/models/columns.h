/* Columns of a value that are spread over the members of a tp group, whole and back (Megatron-LM's mappings
 * gather_from_tensor_model_parallel_region and scatter_to_tensor_model_parallel_region): each undoes the other, and is
 * its gradient. With one member both are the value itself. */
#pragma once

#include "core/models/tape.h"

/* Rows of all members' columns side by side, from rows of this member's ... */
int sl_columns_gather(struct sl_tape *tape, int x, const char *name, const char *gradient_name);
/* ... and this member's columns of such rows. What reads the whole value must be the same on all members. */
int sl_columns_own(struct sl_tape *tape, int x, const char *name, const char *gradient_name);
