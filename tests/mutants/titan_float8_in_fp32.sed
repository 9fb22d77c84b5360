# torchtitan's float8 beside fp32 parameters is passed on to where it is refused in other words.
# file: core/interop/torchtitan.c
# tests: test_frames
s/if (!json_is_true(sl_json_at(t->config, "bf16.enabled")))/if (t->tp < 0)/
