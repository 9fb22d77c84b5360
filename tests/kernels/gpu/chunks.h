/* Kernels of context parallelism on the device: cases of test_cuda_kernels.c. */
#pragma once

#include "tests/kernels/gpu/cases.h"

/* Runs of packed rows, and the members' chunks in the order of sequences, both ways. */
void chunk_copies(enum sl_number type);
/* Rotary positions of a member's chunks. */
void chunk_rope(enum sl_number type);
/* Embedding of a member's chunks, forward and backward, with and without adding to existing gradients. */
void chunk_embedding(enum sl_number type);
