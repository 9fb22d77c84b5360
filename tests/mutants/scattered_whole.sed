# A scattered message is the whole stream.
# file: core/lower/build.c
# tests: test_boundary
s/(plan->sequence_parallel || plan->scatter_gather ? plan->tp : 1)/(plan->sequence_parallel ? plan->tp : 1)/
