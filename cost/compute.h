/* Seconds of work that is not communication, for a rank that does one work at a time.
 *
 *   gemm                     launch + max((f + half) / (peak e_gemm), b / (bw e_elem)), an efficiency of
 *                            e_gemm f / (f + half); with sm_count, f + half are the flops of whole tiles and waves:
 *                            gemm.h. A kernel set that pads_unaligned_products takes the product of padded sizes,
 *                            and a copy of the weight, where that is faster
 *   attention                launch + max(f / (peak e_attn), b / (bw e_elem)) + s / (bw e_elem); with sm_count by its
 *                            kernel; attention.h has s
 *   elementwise, optimizer   launch + min(b, cache) / cache_bw + x max(0, b - cache) / (bw e_elem), without the cache
 *                            term if cache is 0; x: elementwise_factor of the kernel set, 1 for the optimizer
 *   copy to or from host memory
 *                            launch + b / host_link, b of the larger side; host_link_pageable if that memory is not
 *                            pinned. A CPU, whose two memories are one, copies as elementwise: sl_cost_copy_link
 *   copy to or from NVMe     launch + sl_cost_nvme(latency, nvme / devices of a node, ...)
 *   on the host's own lane   launch + b / (host_bw / devices of a node): an offloaded optimizer is bound by bytes
 *   control                  launch; the simulator, which knows programs, adds what the end of a step takes
 *   measured                 launch + sl_cost_by_entry; plus b' / (bw e_elem) for an epilogue without an entry of its
 *                            own
 * f and b are work.flops and work.bytes, those of the kernel, not those of the model; b' is work.epilogue_bytes. Units:
 * flop, byte, flop/s, byte/s, seconds. Valid for one work at a time: the simulator slows down what overlaps. Sources:
 * the roofline of Williams, Waterman, Patterson 2009; the ramp of small products by Hockney's half size (1994). */
#pragma once

#include "core/op/work.h"
#include "cost/share.h"

/* The host's seconds for a work of the compute lane: host_launch for each of its kernels. Where a kernel goes through a
 * list of tensors, or C++ launches it within the call of a module (sl_work_in_call; casts to fp8), it is host_piece for
 * each instead: that costs far less than calling a model's module. Hooks, which are no kernel, take host_hook each. */
double sl_cost_launch_host(const struct sl_cost_rank *rank, const struct sl_work *work);

double sl_cost_gemm(const struct sl_cost_rank *rank, const struct sl_work *work);
double sl_cost_attention(const struct sl_cost_rank *rank, const struct sl_work *work);
double sl_cost_elementwise(const struct sl_cost_rank *rank, const struct sl_work *work);
/* The measured seconds if there is an entry, else those of the formulas. A CPU without a 16-bit peak computes such ops
 * at its fp32 rate. Errors: SL_ERR_INPUT if the device has no peak for the op's type, or no host to offload to. */
enum sl_status sl_cost_compute(const struct sl_cost_rank *rank, const struct sl_work *work, double *seconds);
/* Does an op of this lane use host memory: a copy between it and the device's or NVMe, or an update there? */
bool sl_cost_is_host_side(enum sl_lane lane);
/* Seconds of `size` bytes to or from NVMe, in blocks of `block` bytes of which `depth` are in flight at once. Each
 * alone takes a = latency + block / rate, and together they are limited by the rate (Little's law):
 *   max(n a / depth, latency + size / rate)   with n = ceil(size / block)
 * latency: s; rate: byte/s. block or depth 0: one block. */
double sl_cost_nvme(double latency, double rate, double size, double block, double depth);
/* Seconds for which a copy between a CPU's two memories occupies the link that the profile gives between them
 * (host_link), or for which a copy to or from NVMe occupies NVMe, besides what the copying itself takes of the CPU. 0
 * if no link is given, or for any other op. */
double sl_cost_copy_link(const struct sl_cost_rank *rank, const struct sl_work *work);
