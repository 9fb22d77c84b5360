/* Classes of process groups: among whom an op communicates, or over whom a tensor is cut. Which ranks they are is the
 * plan's matter. */
#pragma once

/* Classes of process groups. Each rank is in exactly one group of each class. NONE: no other rank; an array over all classes
 * has its first place for what belongs to none, such as sends and receives.
 *   shard x replicate = dp: parameters are sharded inside a shard group and replicated across (hybrid sharding);
 *   model = the ranks that hold one copy of the model (tp x pp); embed = the two pipeline ranks that hold a tied
 *   embedding, where that are two; secondary = consecutive dp ranks that keep a second copy of the parameters, split among
 *   them (hpZ of ZeRO++, arXiv:2306.10209); node = the dp ranks of a node, across = one dp rank of every node, where gradients are
 *   reduced inside nodes first (qgZ of ZeRO++). */
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

const char *sl_group_name(enum sl_group group); /* of NONE: "pipeline", whose sends and receives are of no group */
