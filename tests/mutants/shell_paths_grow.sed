# Paths of paths are told however many they are.
# file: core/interop/shell_path.c
# tests: test_shell_source
s/ \&\& t->texts++ < MOST_TEXTS//
