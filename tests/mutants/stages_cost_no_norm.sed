# By cost the final norm never has a rank to itself.
# file: core/plan/stages.c
# tests: test_stages
s/if ((double)m->n_layer \* layer \* ranks >= total \* (rank + 1)) {/if (total < 0) {/
