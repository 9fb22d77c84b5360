# DeepSpeed's ZeRO-2 adds offloaded gradients up in host memory.
# file: core/plan/strategy.c
# tests: test_host_sum
s/s->sums_through_host = zero2 \&\& s->offload_optimizer;/s->sums_through_host = false;/
