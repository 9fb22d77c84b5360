/* The command line of mpirun (Open MPI) for a job on this machine, or on a list of hosts that it reaches by ssh. */
#pragma once

#include "core/launch/hosts.h"
#include "core/launch/words.h"

#include <stdbool.h>

struct sl_mpi_job {
  int world;
  char *const *arguments;       /* of this program, ended by NULL; borrowed, as all pointers here */
  const struct sl_hosts *hosts; /* NULL: all ranks run on this machine */
  char *const *environment;     /* NAME=VALUE for ranks on other hosts, also set here; ended by NULL */
  int ssh_port;                 /* 0: the host's port in ssh's configuration */
};

/* Finds the program `name` on PATH. */
bool sl_find_program(char *out, size_t size, const char *name);
/* The path of this program. Errors: SL_ERR_IO. */
enum sl_status sl_find_self(char *out, size_t size);

/* The words of the command line. `folder`: where an mpirun on this machine alone keeps its temporary files; NULL: its
 * default. Errors: SL_ERR_ABSENT without mpirun, SL_ERR_IO, SL_ERR_MEMORY. */
enum sl_status sl_mpirun_words(const struct sl_mpi_job *job, const char *folder, struct sl_words *words);
