/* Host memory behind backend/common/tensor.h: values are converted in each direction. */
#include "backend/host/host.h"

#include "kernels/convert.h"

static void *memory_of(const struct sl_host *host, const struct sl_tensor_place *place) {
  return host->arena[place->space] + place->offset;
}

static enum sl_status put(void *context, const struct sl_tensor_place *place, const float *values) {
  sl_convert(memory_of(context, place), (enum sl_number)place->dtype, values, SL_NUMBER_F32, (size_t)place->count);
  return SL_OK;
}

static enum sl_status get(void *context, const struct sl_tensor_place *place, float *values) {
  sl_convert(values, SL_NUMBER_F32, memory_of(context, place), (enum sl_number)place->dtype, (size_t)place->count);
  return SL_OK;
}

static enum sl_status agree(void *context, enum sl_status mine) {
  return sl_host_agree(context, mine);
}

enum sl_status sl_host_tensors_open(struct sl_host *host) {
  const struct sl_tensor_memory memory = {.context = host, .put = put, .get = get, .agree = agree};
  return sl_tensors_open(&host->tensors, host->job, &host->options, host->rank, &memory);
}
