# The fast clock takes transfers between stages to be hidden in the steady state.
# file: fast/paths.c
# tests: test_fast_paths
s/sum += (double)times \* c->gain\[best\];/sum += 0 * c->gain[best];/
