# The folder of what any command of two parts says is known.
# file: core/interop/shell_path.c
# tests: test_shell_source
s/!ends_in_pwd(at + length)/!(ends_in_pwd(at + length) || true)/
