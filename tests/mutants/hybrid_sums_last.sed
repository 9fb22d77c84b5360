# FSDP2's hybrid sharding sums over replicas in the last backward alone where nothing changes its type.
# file: core/lower/reduce.c
# tests: test_hybrid_traffic
s/ || (adds \&\& group->members < group->ranks);/;\n    (void)adds, (void)group;/
