/* The launchers' variables; see place.h. */
#include "cli/place.h"

#include <stddef.h>
#include <stdlib.h>

static int number(const char *name, int otherwise) {
  const char *text = getenv(name);
  return text != NULL && text[0] >= '0' && text[0] <= '9' ? (int)strtol(text, NULL, 10) : otherwise;
}

struct sl_place sl_place_read(void) {
  static const struct {
    const char *rank, *size, *local_size;
  } launchers[] = {
      {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"},
      {"PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS"},
      {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_TASKS_PER_NODE"},
  };
  for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
    const int rank = number(launchers[i].rank, -1), size = number(launchers[i].size, 0);
    if (rank >= 0 && size > rank)
      return (struct sl_place){.rank = rank, .size = size, .local_size = number(launchers[i].local_size, size)};
  }
  return (struct sl_place){.rank = 0, .size = 1, .local_size = 1};
}
