# BF16_Optimizer's gradients are torch's where both are bf16.
# file: core/lower/bind.c
# tests: test_state_bytes
s/const bool apart = l->plan->strategy.gradients_apart;/const bool apart = false;/
