# Whether parameters in host memory are pinned is what the optimizer's section says.
# file: core/lower/build.c
# tests: test_sim_offload
s/c->zero.offload_param == SL_OFFLOAD_CPU \&\& !c->zero.param_pinned;/c->zero.offload_param == SL_OFFLOAD_CPU \&\& !c->zero.optimizer_pinned;/
