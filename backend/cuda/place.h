/* Reads the place of this process in its job from the launcher's environment: rank, world size, local rank, and the
 * address of the rendezvous (backend/cuda/comm/rendezvous.h). Uses neither MPI nor CUDA.
 *
 * The first of these launchers whose variables are set is used:
 *   torchrun     RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE
 *   Open MPI     OMPI_COMM_WORLD_RANK _SIZE _LOCAL_RANK _LOCAL_SIZE
 *   srun         SLURM_PROCID SLURM_NTASKS SLURM_LOCALID SLURM_NTASKS_PER_NODE (or, where that is not set,
 *                SLURM_STEP_TASKS_PER_NODE or SLURM_TASKS_PER_NODE, at SLURM_NODEID), in a step (SLURM_STEP_ID)
 * The address of the rendezvous is MASTER_ADDR and MASTER_PORT; without them the address in NCCL_COMM_ID (HOST:PORT,
 * [IPV6]:PORT; NCCL itself uses that port, the rendezvous the next one), the first host of SLURM_JOB_NODELIST, or,
 * where all ranks are on one node, 127.0.0.1; the default port is 29500. */
#pragma once

#include "core/base/status.h"

#include <stddef.h>

struct sl_cuda_place {
  int rank, world;             /* 0 of 1 without a launcher */
  int local_rank, local_world; /* among the processes of this node */
  char host[256];              /* where rank 0 is to be found; "" for a world of one */
  int port;
};

/* Errors: SL_ERR_INPUT with the variable, its value and what was expected. */
enum sl_status sl_cuda_place_read(struct sl_cuda_place *place);

/* Split "HOST:PORT" or "[IPV6]:PORT". Errors: SL_ERR_INPUT naming `what`. */
enum sl_status sl_cuda_place_address(const char *what, const char *text, char *host, size_t size, int *port);
/* Processes of node `node`, from 0, by a list such as "8(x2),4". Errors: SL_ERR_INPUT naming `name`. */
enum sl_status sl_cuda_place_tasks(const char *name, const char *list, int node, int *tasks);
/* The first host of a Slurm node list: "gpu[003-010,12],login1" gives gpu003. Errors: SL_ERR_INPUT. */
enum sl_status sl_cuda_place_first_node(const char *list, char *host, size_t size);
