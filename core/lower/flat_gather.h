/* What FSDP2 does around a gather: it gathers a unit into one flat buffer, maybe in 8 bits, and copies each parameter
 * out of it before use. Only in predictions of frameworks (torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py,
 * foreach_all_gather and foreach_all_gather_copy_out). */
#pragma once

#include "core/lower/build.h"

/* The flat buffers. They are made on a stream of their own, whose memory torch's allocator gives to no other; and one
 * goes only when the next gather has been issued (_fsdp_param_group.py, wait_for_unshard). So the two largest
 * neighbours are reserved, the root and a block, or two blocks, and this rank's part of the largest, which is cast on
 * that stream, too. */
enum sl_status sl_flat_gather_open(struct sl_lowering *lowering);
/* Are weights gathered in 8 bits? torchao's WeightWithDynamicFloat8CastTensor (float8/fsdp_utils.py) casts shards
 * before FSDP2 gathers them, with one scale per tensor; torchtitan's root, the two embeddings, is gathered without a
 * cast, as is everything that only context parallelism shards (float8.py: parallel_dims.dp_shard_enabled). What arrives
 * is counted as 16 bits. */
bool sl_flat_gather_in_fp8(const struct sl_lowering *lowering, int unit);
/* The copies, on the compute stream: reads and writes. */
enum sl_status sl_flat_gather_copy_out(const struct sl_lowering *lowering, struct sl_program *program,
                                       enum sl_phase phase, int unit);
