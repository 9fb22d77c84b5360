/* The classes of process groups: the ranks that communicate in an op, or over which a tensor is sharded. core/plan
 * knows which ranks form a group. */
#pragma once

/* Each rank is in exactly one group of each class. NONE means that an op involves no other rank; in an array over all
 * classes its entry counts what belongs to no group, such as sends and receives.
 *   dp                 the ranks that hold the same parameters: data-parallel ones, and those of their cp groups
 *   cp                 the ranks that share sequences, each with a part of their tokens
 *   shard, replicate   shard x replicate = dp: parameters are sharded within a shard group and replicated across
 *                      (hybrid sharding)
 *   model              the ranks that hold one copy of the model (tp x pp)
 *   embed              the two pipeline ranks that hold a tied embedding, if there are two
 *   secondary          consecutive dp ranks that shard a second copy of the parameters (hpZ of ZeRO++,
 *                      arXiv:2306.10209)
 *   node, across       the dp ranks of a node; one dp rank of every node. Gradients are reduced within nodes first (qgZ
 *                      of ZeRO++) */
#define SL_GROUP_MAP(X)                                                                                                \
  X(TP, "tp")                                                                                                          \
  X(DP, "dp")                                                                                                          \
  X(SHARD, "shard")                                                                                                    \
  X(REPLICATE, "replicate")                                                                                            \
  X(CP, "cp")                                                                                                          \
  X(MODEL, "model")                                                                                                    \
  X(WORLD, "world")                                                                                                    \
  X(EMBED, "embed")                                                                                                    \
  X(SECONDARY, "secondary")                                                                                            \
  X(NODE, "node")                                                                                                      \
  X(ACROSS, "across")

enum sl_group {
  SL_GROUP_NONE,
#define X(name, text) SL_GROUP_##name,
  SL_GROUP_MAP(X)
#undef X
      SL_GROUP_COUNT
};

const char *sl_group_name(enum sl_group group); /* of NONE: "pipeline", as sends and receives belong to no group */
