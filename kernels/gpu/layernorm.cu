/* Layer normalisation on the GPU (kernels/layernorm.h). */
#include "kernels/gpu/norm.cuh"

extern "C" size_t sl_cuda_layernorm_scratch_bytes(size_t rows, size_t C) {
  return 2 * sl::norm_blocks(rows) * C * sizeof(float);
}

extern "C" int sl_cuda_layernorm_forward(sl_cuda_stream stream, enum sl_number type, void *out, float *mean,
                                         float *rstd, void *x, const void *weight, const void *bias, size_t rows,
                                         size_t C, float eps, int from_one, const struct sl_cuda_taken_in *taken_in) {
  return sl::norm_forward<true>(stream, type, out, mean, rstd, x, weight, bias, rows, C, eps, from_one, taken_in);
}

extern "C" int sl_cuda_layernorm_backward(sl_cuda_stream stream, enum sl_number type, void *dx, int accumulate_dx,
                                          void *dweight, void *dbias, int in_fp32, int accumulate, const void *dout,
                                          const void *x, const void *weight, const float *mean, const float *rstd,
                                          size_t rows, size_t C, int from_one, void *scratch,
                                          const struct sl_cuda_taken_in *taken_in) {
  return sl::norm_backward<true>(stream, type, dx, accumulate_dx, dweight, dbias, in_fp32, accumulate, dout, x, weight,
                                 mean, rstd, rows, C, scratch, from_one, taken_in);
}
