/* A CUDA runtime, cuBLASLt and NCCL that are none: as much of them as backend/cuda calls, on the host, so that the
 * backend's own code runs where no GPU is. Device memory is the process's; a call only puts work on its stream, and it is
 * done late, in a random legal order (queue.h); ranks are processes that share one mapping. The environment:
 *
 *   SHARDLAB_STAND_IN_SEED          chooses the order; an odd one also has room for one NCCL kernel at a time only
 *   CUDA_LAUNCH_BLOCKING=1          each call is over on return, as with a real runtime
 *   SHARDLAB_STAND_IN_FAULT=N       the Nth kernel or product of the process faults when it is done: from then on every call
 *                                   returns cudaErrorIllegalAddress, and nothing is done any more
 *   SHARDLAB_STAND_IN_START_S=S     the first CUDA call of the process takes so long
 *   SHARDLAB_STAND_IN_NCCL_VERSION  such as 23004
 *   SHARDLAB_STAND_IN_IDLE=SPEED    the idle GPU (parts.h)
 *   SHARDLAB_STAND_IN_APART=1       each rank of a node has a device of its own
 *   SHARDLAB_STAND_IN_NO_GRAPH=1    a driver that makes no graph executable
 *   SHARDLAB_STAND_IN_NO_WORDS=1    a driver without waits of streams for words (cuStreamWaitValue32)
 *   SHARDLAB_STAND_IN_NO_BIAS=1, _NO_EPILOGUE=1   a cuBLASLt without these epilogues
 *   SHARDLAB_STAND_IN=/NAME         how the memory is called by which ranks that are programs of their own meet */
#pragma once

/* Before the ranks are forked: the memory through which they communicate. 0 = success. */
int stand_in_open(void);
/* NCCL calls of this process that are over, and waits for events that were never recorded. */
int stand_in_calls(void);
int stand_in_bad_waits(void);
/* Products of this process: all, and those in tf32. */
int stand_in_products(void);
int stand_in_tf32_products(void);
/* Products of this process with an epilogue beyond the bias. */
int stand_in_epilogues(void);
/* Of this process: kernels and products that ran, and calls of the runtime, of cuBLASLt's products and of NCCL that the host made. */
long stand_in_kernels(void);
long stand_in_host_calls(void);
/* Graphs that were launched, and how many pieces of work the last of them has. */
int stand_in_graphs(void);
int stand_in_graph_nodes(void);
/* From now on rank `rank`'s collectives never end: it, and whoever waits for it, hangs. -1: nobody. */
void stand_in_hang(int rank);
/* The same, behind `more` of them. */
void stand_in_hang_later(int rank, int more);
/* From its `first`th group, send or receive on, from 1, this process's end with an error. 0: none. */
void stand_in_fail(int first);
