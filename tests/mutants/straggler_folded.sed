# A slow rank is folded with those that are not.
# file: sim/fold.c
# tests: test_sim_jitter
s/number_sign(sl_jitter_straggler(&f->sim->assume, r))/number_sign(sl_jitter_straggler(\&f->sim->assume, -1))/
