/* Loads OpenMP's library, libgomp, before a backend that needs it does, and reads what it complains about. Internal to
 * core/run. */
#pragma once

#include "core/base/status.h"

/* As it is loaded, libgomp says on standard error which environment variables it cannot read, in each process, and goes
 * on without them. Errors: SL_ERR_INPUT with the first such variable and what is said of it; also OMP_NUM_THREADS and
 * OPENBLAS_NUM_THREADS that are no numbers, and an OMP_STACKSIZE that threads have no room for. Does nothing where libgomp is loaded already, as by a module of Python: it
 * has said so before. */
enum sl_status sl_openmp_load(void);
