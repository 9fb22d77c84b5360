/* Memory of the CUDA backend: one cudaMalloc for the device arena, pinned memory for the host arena, a file for the
 * NVMe arena, the backend's own workspace, and the device's used memory.
 *
 * The used memory comes from the driver's management library (NVML), loaded by name. It needs no CUDA context, so the
 * context's own memory can be measured, and it covers the whole device, so it includes what libraries allocate. */
#include "backend/common/offload.h"
#include "backend/cuda/cuda.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- used memory ---- */

struct usage { /* the layout of nvmlMemory_t */
  unsigned long long total, free, used;
};

struct management {
  int (*start)(void);
  int (*find)(const char *bus, void **device);
  int (*usage)(void *device, struct usage *out);
  int (*version)(char *out, unsigned size);
};

static bool bind_function(void *library, const char *name, void *function) {
  void *symbol = dlsym(library, name);
  memcpy(function, &symbol, sizeof symbol);
  return symbol != NULL;
}

/* Loaded at the first call and never unloaded. NULL if there is none. */
static const struct management *management(void) {
  static struct management m;
  static int state; /* 0 not tried yet, 1 loaded, -1 absent */
  if (state != 0) return state > 0 ? &m : NULL;
  void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  const bool there = library && bind_function(library, "nvmlInit_v2", &m.start) &&
                     bind_function(library, "nvmlDeviceGetHandleByPciBusId_v2", &m.find) &&
                     bind_function(library, "nvmlDeviceGetMemoryInfo", &m.usage) &&
                     bind_function(library, "nvmlSystemGetDriverVersion", &m.version) && m.start() == 0;
  state = there ? 1 : -1;
  return there ? &m : NULL;
}

int64_t sl_cuda_used_bytes(int device) {
  const struct management *m = management();
  char bus[32];
  void *handle;
  struct usage u;
  size_t free_bytes, total;
  if (m && cudaDeviceGetPCIBusId(bus, sizeof bus, device) == cudaSuccess && m->find(bus, &handle) == 0 &&
      m->usage(handle, &u) == 0)
    return (int64_t)(u.total - u.free);
  return cudaMemGetInfo(&free_bytes, &total) == cudaSuccess ? (int64_t)(total - free_bytes) : 0;
}

void sl_cuda_driver_version(char *out, size_t size) {
  const struct management *m = management();
  char text[96]; /* NVML needs 80 */
  if (m && m->version(text, sizeof text) == 0) snprintf(out, size, "%s", text);
}

/* ---- arenas ---- */

static enum sl_status too_large(int64_t bytes, const char *what, cudaError_t code) {
  size_t free_bytes = 0, total = 0;
  if (cudaMemGetInfo(&free_bytes, &total) != cudaSuccess) free_bytes = 0;
  return sl_fail(SL_ERR_MEMORY, "%s needs %lld bytes, and the device has %zu left: %s", what, (long long)bytes,
                 free_bytes, cudaGetErrorString(code));
}

static enum sl_status device_bytes(char **out, int64_t bytes, const char *what) {
  void *at = NULL;
  if (bytes == 0) return SL_OK;
  const cudaError_t code = cudaMalloc(&at, (size_t)bytes);
  if (code != cudaSuccess) return too_large(bytes, what, code);
  *out = at;
  SL_CUDA_TRY(cudaMemset(at, 0, (size_t)bytes)); /* starts as zero, as on the host */
  return SL_OK;
}

static enum sl_status pinned_bytes(char **out, int64_t bytes, const char *what) {
  void *at = NULL;
  if (bytes == 0) return SL_OK;
  const cudaError_t code = cudaMallocHost(&at, (size_t)bytes);
  if (code != cudaSuccess)
    return sl_fail(SL_ERR_MEMORY, "%s needs %lld bytes of pinned memory: %s", what, (long long)bytes,
                   cudaGetErrorString(code));
  *out = at;
  memset(at, 0, (size_t)bytes);
  return SL_OK;
}

enum sl_status sl_cuda_arena_open(struct sl_cuda *cuda) {
  const int64_t *bytes = cuda->rank_class->arena_bytes;
  SL_TRY(device_bytes(&cuda->arena[SL_SPACE_DEVICE], bytes[SL_SPACE_DEVICE], "the arena"));
  SL_TRY(pinned_bytes(&cuda->arena[SL_SPACE_HOST], bytes[SL_SPACE_HOST], "the host's arena"));
  if (bytes[SL_SPACE_NVME] > 0) {
    SL_TRY(sl_offload_open_file(&cuda->nvme, cuda->job->plan, cuda->rank_class));
    cuda->arena[SL_SPACE_NVME] = sl_nvme_mapped(cuda->nvme);
  }
  memcpy(cuda->arena_bytes, bytes, sizeof cuda->arena_bytes);
  return SL_OK;
}

enum sl_status sl_cuda_workspace_open(struct sl_cuda *cuda) {
  const struct sl_cuda_workspace *w = &cuda->workspace;
  SL_TRY(device_bytes(&cuda->gemm_workspace, w->gemm_bytes, "the workspace of matrix products"));
  SL_TRY(device_bytes(&cuda->scratch, w->scratch_bytes, "scratch"));
  SL_TRY(pinned_bytes(&cuda->staging, w->staging_bytes, "staging of micro-batches"));
  SL_TRY(pinned_bytes(&cuda->values, w->values_bytes, "staging of values"));
  return SL_OK;
}

/* If nothing was allocated, there may be no driver to call. */
static void free_device(void *at) {
  if (at) sl_cuda_release("cudaFree", cudaFree(at));
}

static void free_pinned(void *at) {
  if (at) sl_cuda_release("cudaFreeHost", cudaFreeHost(at));
}

void sl_cuda_memory_close(struct sl_cuda *cuda) {
  sl_nvme_close(cuda->nvme); /* before the memory that its requests point to */
  free_device(cuda->arena[SL_SPACE_DEVICE]);
  free_device(cuda->gemm_workspace);
  free_device(cuda->scratch);
  free_pinned(cuda->arena[SL_SPACE_HOST]);
  free_pinned(cuda->staging);
  free_pinned(cuda->values);
}
