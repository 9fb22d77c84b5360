# Domains are filled one by one, whatever divides the nodes of a job.
# file: core/cluster/cluster.c
# tests: test_cluster
s/while (world > \*span \&\& together > 1/while (world < 0 \&\& together > 1/
