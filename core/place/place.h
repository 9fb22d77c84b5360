/* The last stage of a job: when ops may start, and where buffers stand. */
#pragma once

#include "core/program/program.h"

/* Issue lists, waits, offsets and the memory report of a class whose programs are lowered. scopes: one per buffer; curve: the report
 * keeps its curve. */
enum sl_status sl_place_class(const struct sl_plan *plan, const enum sl_scope *scopes, bool curve,
                              struct sl_class *rank_class);
