# Several processes read one pipe.
# file: cli/inputs.c
# tests: test_cli_flags
s/ \&\& sl_json_is_piped(inputs\[i\]\[1\])/ \&\& false/
