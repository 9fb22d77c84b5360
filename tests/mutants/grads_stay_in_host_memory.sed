# Gradients of optimizer states on NVMe stay in host memory.
# file: core/lower/reduce.c
# tests: test_offload
s/  return once \&\& l->plan->strategy.optimizer_on_nvme;/  return once \&\& false;/
