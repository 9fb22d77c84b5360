# An outer link may end within an inner domain.
# file: core/cluster/cluster.c
# tests: test_cluster
s/together \* devices : \*span - \*span % inner;/together * devices : *span;/
