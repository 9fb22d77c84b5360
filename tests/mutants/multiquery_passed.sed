# BigCode's --attention-head-type multiquery is an unknown name without effect.
# file: core/interop/megatron_refused.c
# tests: test_megatron_names
/"attention-head-type"/d
