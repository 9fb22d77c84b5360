# "$@" in a function of a script that has arguments is none of the training's words.
# file: core/interop/shell_program.c
# tests: test_shell_start
s/if (is_of_script(word) \&\& !has_arguments) continue;/if (is_of_script(word) \&\& (has_arguments || true)) continue;/
