# "$@" in a function of a script that has arguments is taken as empty without a word.
# file: core/interop/megatron_outside.c
# tests: test_megatron_names
s/(has_arguments \&\& is_argument)/(has_arguments \&\& is_argument \&\& first == '9')/
