# Ranks count as alike whatever links their groups have.
# file: sim/fold.c
# tests: test_sim test_sim_job
s/join(link_sign(&ring), (uint64_t)m.size)/(uint64_t)m.size + (ring.bandwidth < 0)/
