/* NCCL's choice for the collectives of a group of devices.
 *
 * The communicator is read off the levels of a cluster: those inside nodes are its NVLink or PCIe, the first that is "network" (nccl_hop)
 * and all beyond are its NICs, of which each GPU has one with the level's bandwidth (a cluster file states bandwidth by device). Its
 * nodes are the units of the level below the network that hold members. A level that does not say what NCCL takes it for is the
 * network where it is the last of several; below it, NVLink where it is faster than PCIe 5 can be (64 GB/s), else PCIe. NVLS from
 * Hopper on, where nodes have NVLink; no CollNet, since no cluster file states it; LL128 between nodes too: a guess, as of every ring
 * (cost/collective.c).
 * The algorithm and protocol are those of least estimate (choice.h); their seconds are those of attained.h with
 *   inside, across   what a ring of as many units attains of the level's bandwidth (sl_cost_attained)
 *   fill             half_bytes of the network's level, or of the one inside where the group has one node
 * so they differ from a ring's (cost/collective.h) by NCCL's choice, not by other links. launch is 0: it is the ops'. */
#pragma once

#include "core/op/work.h"
#include "cost/nccl/attained.h"
#include "cost/topology.h"

struct sl_nccl_group {
  struct sl_nccl nccl;
  struct sl_nccl_attained attained;
};

/* SL_ERR_INPUT where the model has nothing to say of the cluster's device: it is no GPU of NVIDIA's. */
enum sl_status sl_nccl_group_check(const struct sl_cluster *cluster);
/* Of a group of two or more, on a cluster that was checked. Nothing is held. */
enum sl_status sl_nccl_group_open(struct sl_nccl_group *out, const struct sl_cluster *cluster,
                                  const struct sl_cost_group *group);
/* What NCCL takes for a collective of the group, and its seconds. */
struct sl_nccl_choice sl_nccl_group_choose(const struct sl_nccl_group *group, const struct sl_work *work);
