# torch.autocast to fp16 has no loss scale.
# file: core/program/step_state.c
# tests: test_step_state
s/return config->autocast_dtype == SL_F16;/return config->autocast_dtype == SL_F64;/
