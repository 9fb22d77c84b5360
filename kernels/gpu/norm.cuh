/* Normalisation of rows on the GPU, with and without a mean: LayerNorm and RMSNorm (kernels/layernorm.h,
 * kernels/llama.h). Sums are float within a lane and double across lanes. */
#pragma once

#include "kernels/gpu/norm_backward.cuh"
#include "kernels/gpu/norm_forward.cuh"
