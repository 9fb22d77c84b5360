# Memory that is not pinned is reached as fast as what is.
# file: core/cluster/cluster.c
# tests: test_sim_offload
s/ ? device->host_link_pageable : device->host_link;/ ? device->host_link : device->host_link;/
