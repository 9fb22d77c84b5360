# BigScience's --glu-activation makes no gate.
# file: core/interop/megatron_model.c
# tests: test_megatron
s/\*found = sl_arguments_has(a, "glu-activation") ? SL_MEGATRON_SWIGLU : 0;/*found = sl_arguments_has(a, "glu-activation") ? SL_MEGATRON_ROPE : 0;/
