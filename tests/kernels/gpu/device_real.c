/* Device memory of the first GPU. */
#include "tests/kernels/gpu/device.h"

#include <cuda_runtime_api.h>

#include <stdio.h>
#include <stdlib.h>

static void need(cudaError_t error, const char *what) {
  if (error == cudaSuccess) return;
  fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  abort();
}

const char *device_missing(void) {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess) return cudaGetErrorString(error);
  return count > 0 ? NULL : "no CUDA device";
}

/* Not a byte more, so that compute-sanitizer sees where a kernel goes beyond. */
void *device_new(size_t bytes) {
  void *p = NULL;
  need(cudaMalloc(&p, bytes > 0 ? bytes : 1), "cudaMalloc");
  return p;
}

void device_delete(void *p) {
  need(cudaFree(p), "cudaFree");
}

void device_write(void *device, const void *host, size_t bytes) {
  need(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice), "copy to the device");
}

void device_read(void *host, const void *device, size_t bytes) {
  need(cudaDeviceSynchronize(), "kernels");
  need(cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost), "copy from the device");
}

int device_turn_order(int turned) {
  (void)turned;
  return 0;
}

void device_run_few_blocks(int few) {
  (void)few;
}

void device_give_warpgroups(int given) {
  (void)given;
}
