# "true" is no bool, as if DeepSpeed's models converted nothing.
# file: core/config/coerce.c
# tests: test_config_deepspeed
s/bool_of_text(json_string_value(value)) : NULL/bool_of_text("") : NULL/
