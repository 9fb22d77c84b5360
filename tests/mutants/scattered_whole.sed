# A scattered message is the whole stream.
# file: core/lower/build.c
# tests: test_boundary
s/(plan->scatter_gather ? plan->tp : 1)/(plan->scatter_gather \&\& plan->pp == 0 ? plan->tp : 1)/
