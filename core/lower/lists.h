/* Copies that a framework makes around a gather of updated parameters into lists of tensors (nanotron's
 * src/nanotron/distributed.py, all_gather_coalesced; torch's ProcessGroupNCCL.cpp, allgather of lists), as ops of kind
 * `pass`, which are only predicted. */
#pragma once

#include "core/lower/build.h"

/* Before the gather: the rank's own part and a buffer for that of every member are made by joining pieces of the
 * parameters, and torch allocates one buffer for all of them. These (own part + 2 x whole, in addition to the
 * parameters) are live at the same time. */
enum sl_status sl_lists_open(struct sl_lowering *lowering, struct sl_program *program);
/* After it: the received data is copied to the members' buffers, and from there to every parameter. */
enum sl_status sl_lists_close(struct sl_lowering *lowering, struct sl_program *program);
