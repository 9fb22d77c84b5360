# The tied head has no parameters of its own where stages are balanced by them.
# file: core/interop/megatron_stages.c
# tests: test_megatron_forks
s/p->weights\[1\] = p->weights\[AHEAD + p->blocks + HEAD\] = ends;/p->weights[1] = ends;/
