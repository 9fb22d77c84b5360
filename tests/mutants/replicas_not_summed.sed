# Hybrid sharding: the groups keep their own gradients.
# file: core/lower/update.c
# tests: grid3d_4 grid3d_8
s/if (layout->group.members == layout->group.ranks) continue;/if (layout->group.members <= layout->group.ranks) continue;/
