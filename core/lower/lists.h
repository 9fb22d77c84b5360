/* What a framework copies around a gather of updated parameters into lists of tensors (nanotron's src/nanotron/distributed.py,
 * all_gather_coalesced; torch's ProcessGroupNCCL.cpp, allgather of lists), as ops of kind `pass`: only predicted. */
#pragma once

#include "core/lower/build.h"

/* In front of the gather: the rank's own part and a place for that of every member are made by joining pieces of the parameters,
 * and torch makes one place for all of them. These (own part + 2 x whole, beside the parameters) live at once. */
enum sl_status sl_lists_open(struct sl_lowering *lowering, struct sl_program *program);
/* Behind it: what has come is copied into the members' places, and from there into every parameter. */
enum sl_status sl_lists_close(struct sl_lowering *lowering, struct sl_program *program);
