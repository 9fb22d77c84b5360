/* Seconds of a work that is not communication, for a rank that does it alone.
 *
 *   gemm                     launch + max((f + half) / (peak e_gemm), b / (bw e_elem))   [efficiency e_gemm f / (f + half)]
 *                            where sm_count is given, f + half are the flops of whole tiles and waves: see gemm.h
 *   attention                launch + max(f / (peak e_attn), b / (bw e_elem)) + s / (bw e_elem); with sm_count by its kernel, and s: see
 *                            attention.h
 *   elementwise, optimizer   launch + min(b, cache) / cache_bw + x max(0, b - cache) / (bw e_elem)   [cache 0: no such term]
 *                            x: elementwise_factor of the kernel set, 1 for the optimizer
 *   copy to or from host memory    launch + b / host_link, b the larger side; host_link_pageable where that memory is not pinned
 *                            by a CPU, whose two memories are one: as elementwise; see sl_cost_copy_link
 *   copy to or from NVMe     launch + sl_cost_nvme(latency, nvme / devices of a node, ...)
 *   on the host's own lane         launch + b / (host_bw / devices of a node)   [an offloaded optimizer is bound by bytes]
 *   control                  launch; what the end of a step takes beside it is the simulator's matter, which knows programs
 *   measured                 launch + sl_cost_by_entry; with an epilogue that has no entry of its own + b' / (bw e_elem)
 * f and b are work.flops and work.bytes, what the kernel does, not what the model needs; b' is work.epilogue_bytes. Units:
 * flop, byte, flop/s, byte/s, seconds. Valid for one work at a time: what overlaps is slowed by the clock that knows it.
 * Source: the roofline of Williams, Waterman, Patterson 2009; the ramp of small products by Hockney's half size (1994). */
#pragma once

#include "core/op/work.h"
#include "cost/share.h"

/* Seconds of the host for a work of the compute lane: host_launch for each of its kernels; where it goes through a list of tensors,
 * host_piece for each of those in its place, since a call of torch alone costs far less than a launch of a model's module. */
double sl_cost_launch_host(const struct sl_cost_rank *rank, const struct sl_work *work);

double sl_cost_gemm(const struct sl_cost_rank *rank, const struct sl_work *work);
double sl_cost_attention(const struct sl_cost_rank *rank, const struct sl_work *work);
double sl_cost_elementwise(const struct sl_cost_rank *rank, const struct sl_work *work);
/* By measurement where there is one, else by the formulas. A CPU without a 16-bit peak computes such ops at its fp32 rate.
 * Errors: SL_ERR_INPUT when the device has no peak for the op's type, or no host to offload to. */
enum sl_status sl_cost_compute(const struct sl_cost_rank *rank, const struct sl_work *work, double *seconds);
/* Does an op of this lane reach host memory: a copy between it and the device's or NVMe, or an update there? */
bool sl_cost_is_host_side(enum sl_lane lane);
/* Seconds of `size` bytes to or from NVMe, in blocks of `block` bytes of which `depth` are on their way at once: each takes
 * a = latency + block / rate by itself, and all of them what the rate allows (Little's law):
 *   max(n a / depth, latency + size / rate)   with n = ceil(size / block)
 * latency: s; rate: byte/s. block or depth 0: one block. */
double sl_cost_nvme(double latency, double rate, double size, double block, double depth);
/* Seconds for which a copy between a CPU's two memories occupies the link that the profile gives between them (host_link), or one
 * to or from NVMe that, beside what the copying itself takes of the CPU; 0: no link is given, or it is no such copy. */
double sl_cost_copy_link(const struct sl_cost_rank *rank, const struct sl_work *work);
