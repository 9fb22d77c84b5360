/* A CUDA runtime, cuBLASLt and NCCL that are none: as much of them as backend/cuda calls, on the host, so that the
 * backend's own code runs where no GPU is. Device memory is the process's; every call is over when it returns, so a
 * stream is nothing and an event is complete once recorded; ranks are processes that share one mapping. */
#ifndef SL_TESTS_CUDA_BACKEND_STAND_IN_H
#define SL_TESTS_CUDA_BACKEND_STAND_IN_H

/* Before the ranks are forked: the memory through which they communicate. 0 = success. */
int stand_in_open(void);
/* NCCL calls of this process that moved data, and waits for events that were never recorded. */
int stand_in_calls(void);
int stand_in_bad_waits(void);
/* Products of this process: all, and those in tf32. */
int stand_in_products(void);
int stand_in_tf32_products(void);
/* Products of this process with an epilogue beyond the bias. */
int stand_in_epilogues(void);
/* From now on rank `rank`'s collectives never end: it, and whoever waits for it, hangs. -1: nobody. */
void stand_in_hang(int rank);
/* From its `first`th group, send or receive on, from 1, this process's end with an error. 0: none. */
void stand_in_fail(int first);

#endif
