/* The memory and the traffic of a rank against their limits (core/base/limits.h), before memory is placed and calls are
 * counted. */
#ifndef SL_CORE_JOB_BOUNDS_H
#define SL_CORE_JOB_BOUNDS_H

#include "core/program/program.h"

/* Of a class whose programs are lowered. Errors: SL_ERR_INPUT with the pipeline rank, its bytes and the limit. */
enum sl_status sl_job_check_bounds(const struct sl_class *rank_class);

#endif
