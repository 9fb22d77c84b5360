/* LayerNorm and RMSNorm on the device: cases of test_cuda_kernels.c. */
#pragma once

#include "tests/kernels/gpu/cases.h"

/* Forward and backward of both, with and without adding to existing values. */
void norms(enum sl_number type);
/* Backward in two calls, one for the rows and one for the weights, gives the same bits as one call for both. */
void norm_halves(enum sl_number type);
/* What a norm takes in leaves the same bits as two kernels. */
void norms_taken_in(enum sl_number type);
