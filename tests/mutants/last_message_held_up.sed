# The last gradient leaves for the stage in front when the rank's reductions are over.
# file: core/lower/reduce.c
# tests: test_last_message
s/r->pass.end && r->launched_end == p->op_count/r->pass.end/
