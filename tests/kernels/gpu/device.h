/* Device memory for the tests of the GPU kernels: that of a real GPU (device_real.c), or the host's if the kernels are
 * emulated (device_emulated.cpp). */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* NULL, or the reason why there is no device. */
const char *device_missing(void);
void *device_new(size_t bytes);
void device_delete(void *p);
void device_write(void *device, const void *host, size_t bytes);
/* Also waits for all work, and ends the test program if that failed. */
void device_read(void *host, const void *device, size_t bytes);
/* Where the order of threads can be chosen: uses another one from now on. Returns 0 where it cannot. */
int device_turn_order(int turned);
/* Where blocks run one after another: few of many from now on, or all; what a launch left out keeps what it held. */
void device_run_few_blocks(int few);
/* Where the device can be chosen: one with sm_90a's instructions (kernels/gpu/wgmma.cuh), or without, from now on. */
void device_give_warpgroups(int given);

#ifdef __cplusplus
}
#endif
