# Padding is not cleared before it is reduced.
# file: core/lower/reduce.c
# tests: golden_2 grid3d_2
s/if (end > data_end) {/if (end > data_end \&\& l->plan->world > 1000) {/
