# A norm takes in the residual before it, whatever it normalises.
# file: core/models/norm_fusion.c
# tests: test_norm_fusion
s/return alongside(norm, before) && same(.*;/return alongside(norm, before);/
