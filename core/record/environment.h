/* The machine that a measurement ran on, for the run record: processor, cores, memory, system and library versions. It
 * contains no user, host name or path, so a record can be published. */
#pragma once

#include <jansson.h>
#include <stddef.h>

#define SL_VERSION "0.1.0"

/* Version of a library that is loaded in this process or, with `load`, can be: "openblas", "mpi", "cuda". "" if
 * absent. */
void sl_environment_library(const char *name, int load, char *out, size_t size);
/* The whole environment; `threads` of one rank (0: unknown). A new reference. */
json_t *sl_environment_json(int threads);
