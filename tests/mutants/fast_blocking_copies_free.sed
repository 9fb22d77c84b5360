# A host that blocks launches the copies of gradients for their reduction in no time.
# file: fast/reduce.c
# tests: test_fast
/if (w->s->rank->kernel_costs.launch_blocking) w->copy_launch/d
