/* NCCL's choice for the collectives of a group of devices.
 *
 * The communicator follows from the levels of a cluster. Levels within nodes are its NVLink or PCIe. The first one that
 * is "network" (nccl_hop) and all beyond are its NICs; each GPU has one with the level's bandwidth, because a cluster
 * file states bandwidth per device. Its nodes are the units of the level below the network that hold members. A level
 * that does not say what NCCL takes it for is the network if it is the last of several; below that, it is NVLink if it
 * is faster than PCIe 5 can be (64 GB/s), else PCIe. NVLS is available from Hopper on, on nodes with NVLink. CollNet is
 * not, because no cluster file states it. LL128 is assumed to work between nodes too: a guess, as for every ring
 * (cost/collective.c).
 *
 * The algorithm and protocol are those with the smallest estimate (choice.h); their seconds are those of attained.h
 * with
 *   inside, across   the share of the level's bandwidth that a ring of as many units attains (sl_cost_attained)
 *   hops             with what latency_us has beyond NCCL's own figure (sl_cost_group_extra); NCCL's choice follows
 *   fill             half_bytes of the network's level, or of the inner level if the group has one node
 * so they differ from a ring's (cost/collective.h) by NCCL's choice, not by different links. launch is 0, because the
 * ops include it. */
#pragma once

#include "core/op/work.h"
#include "cost/nccl/attained.h"
#include "cost/topology.h"

struct sl_nccl_group {
  struct sl_nccl nccl;
  struct sl_nccl_attained attained;
};

/* Errors: SL_ERR_INPUT if the model does not cover the cluster's device, because it is not an NVIDIA GPU. */
enum sl_status sl_nccl_group_check(const struct sl_cluster *cluster);
/* For a group of two or more, on a cluster that was checked. Nothing is allocated. */
enum sl_status sl_nccl_group_open(struct sl_nccl_group *out, const struct sl_cluster *cluster,
                                  const struct sl_cost_group *group);
/* What NCCL chooses for a collective of the group, and its seconds. */
struct sl_nccl_choice sl_nccl_group_choose(const struct sl_nccl_group *group, const struct sl_work *work);
