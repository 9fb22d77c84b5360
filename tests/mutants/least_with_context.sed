# The least that was tried is said with the context of a process, which a limit on the arena does not count.
# file: cli/fit.c
# tests: test_cli_fit
s/changes\.least_arena_bytes/changes.least_bytes/
