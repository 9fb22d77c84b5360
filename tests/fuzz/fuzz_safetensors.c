/* Any bytes as a safetensors file: what opens can be read from end to end and found under its own name. */
#include "core/io/safetensors.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  struct sl_safetensors file;
  if (sl_safetensors_open_memory(&file, "fuzz", bytes, size) == SL_OK) {
    for (int i = 0; i < file.count; i++) {
      const struct sl_safetensors_tensor *tensor = &file.tensors[i];
      if (sl_safetensors_find(&file, tensor->name) != tensor) abort();
      float out[16];
      const int64_t last = tensor->numel > 16 ? tensor->numel - 16 : 0;
      (void)sl_safetensors_read(&file, tensor, last, tensor->numel - last, out);
      (void)sl_safetensors_read(&file, tensor, 0, tensor->numel - last, out);
    }
    sl_safetensors_close(&file);
  }
  sl_error_clear();
  return 0;
}
