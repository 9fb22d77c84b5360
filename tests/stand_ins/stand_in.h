/* Stand-ins for the CUDA runtime, cuBLASLt and NCCL: as much of them as backend/cuda calls, on the host, so that the
 * backend's own code runs without a GPU. Device memory is the process's. A call only enqueues work on its stream, which
 * is done late and in a random legal order (queue.h). Ranks are processes that share one mapping. Environment
 * variables:
 *
 *   SHARDLAB_STAND_IN_SEED          chooses the order; with an odd one only one NCCL kernel can run at a time
 *   CUDA_LAUNCH_BLOCKING=1          each call is complete on return, as with a real runtime
 *   SHARDLAB_STAND_IN_FAULT=N       the Nth kernel or product of the process faults when it is done: from then on every
 *                                   call returns cudaErrorIllegalAddress, and no work is done any more
 *   SHARDLAB_STAND_IN_START_S=S     the first CUDA call of the process takes S seconds
 *   SHARDLAB_STAND_IN_NCCL_VERSION  such as 23004
 *   SHARDLAB_STAND_IN_IDLE=SPEED    the idle GPU (parts.h)
 *   SHARDLAB_STAND_IN_APART=1       each rank of a node has a device of its own
 *   SHARDLAB_STAND_IN_NO_GRAPH=1    a driver that cannot instantiate graphs
 *   SHARDLAB_STAND_IN_NO_WORDS=1    a driver without cuStreamWaitValue32
 *   SHARDLAB_STAND_IN_NO_BIAS=1, _NO_EPILOGUE=1   a cuBLASLt without these epilogues
 *   SHARDLAB_STAND_IN_SLOW_EPILOGUE=1             one whose products with them take longer than any kernel
 *   SHARDLAB_STAND_IN=/NAME         the name of the shared memory for ranks that are separate programs */
#pragma once

/* Call before the ranks are forked: creates the memory through which they communicate. 0 = success. */
int stand_in_open(void);
/* The completed NCCL calls of this process, and its waits for events that were never recorded. */
int stand_in_calls(void);
int stand_in_bad_waits(void);
/* The products of this process: all, and those in tf32. */
int stand_in_products(void);
int stand_in_tf32_products(void);
/* The products of this process with an epilogue other than a bias alone. */
int stand_in_epilogues(void);
/* In this process: kernels and products that ran, and the host's calls of the runtime, of cuBLASLt's products and of
 * NCCL, but for those that only ask how far the device is. */
long stand_in_kernels(void);
long stand_in_host_calls(void);
/* The number of graph launches, of pieces of work in the last one, and of those that are kernels of a device: kernels,
 * products and calls of NCCL. */
int stand_in_graphs(void);
int stand_in_graph_nodes(void);
int stand_in_graph_kernels(void);
/* From now on the collectives of rank `rank` never complete, so it hangs, and so does every rank that waits for it. -1:
 * no rank. */
void stand_in_hang(int rank);
/* The same, after `more` of them. */
void stand_in_hang_later(int rank, int more);
/* In this process, groups, sends and receives fail from the `first` on, counted from 1. 0: none. */
void stand_in_fail(int first);
