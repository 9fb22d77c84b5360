/* Sums over micro-batches of gradients whose optimizer is in host memory, as DeepSpeed's ZeRO-2 makes them
 * (stage_1_and_2.py, async_accumulate_grad_in_cpu_via_gpu and async_inplace_copy_grad_to_fp32_buffer_from_gpu): the sum
 * is in host memory in the parameters' type, comes to the device to be added to, and goes back; that of the last
 * backward goes to the fp32 gradients of the optimizer, too. */
#pragma once

#include "core/lower/build.h"

/* Buffers, with the drafts. */
enum sl_status sl_host_sum_open(struct sl_lowering *lowering);
/* Are sums made so? A step with a single micro-batch has none. */
bool sl_host_sum_applies(const struct sl_lowering *lowering);
/* Adds `count` own parts at element `at` of the device's `buffer` to the sum, from element `first` of the shard on, at
 * the end of a backward. */
enum sl_status sl_host_sum(struct sl_lowering *lowering, struct sl_program *program, int32_t buffer, int64_t at,
                           int64_t first, int64_t count);
