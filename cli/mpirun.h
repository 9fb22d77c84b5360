/* The command line of mpirun (Open MPI) for a job, on this machine or on the hosts of a list, which it reaches by ssh. */
#pragma once

#include "core/launch/hosts.h"
#include "core/launch/words.h"

#include <stdbool.h>

struct sl_mpi_job {
  int world;
  char *const *arguments;       /* of this program, NULL behind; borrowed, like all else */
  const struct sl_hosts *hosts; /* NULL: all ranks are of this machine */
  char *const *environment;     /* NAME=VALUE for other hosts' ranks, set here too; NULL behind */
  int ssh_port;                 /* 0: as ssh has it for a host */
};

/* The program `name` on PATH, into out. */
bool sl_find_program(char *out, size_t size, const char *name);
/* Where this program is. Errors: SL_ERR_IO. */
enum sl_status sl_find_self(char *out, size_t size);

/* The words; `folder`: where mpirun on this machine alone keeps what it makes, NULL: where it likes. Errors: SL_ERR_ABSENT without
 * mpirun, SL_ERR_IO, SL_ERR_MEMORY. */
enum sl_status sl_mpirun_words(const struct sl_mpi_job *job, const char *folder, struct sl_words *words);
