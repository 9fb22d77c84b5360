# Ranks count as alike although those that they meet are not.
# file: sim/fold.c
# tests: test_sim test_sim_job
s/f->group\[id\] += mix((uint64_t)f->kind\[r\] + 1)/f->group[id] += 1/
s/: (uint64_t)f->kind\[sl_sim_peer_rank(f->plan, r, pp)\]/: 1 + (uint64_t)(0 * sl_sim_peer_rank(f->plan, r, pp))/
