# Gradients are quantised on one node too.
# file: core/plan/plan.c
# tests: test_cli_quantized test_quantized_traffic
s/cluster->nodes == 1 || plan->world <= devices/plan->world <= 1/
