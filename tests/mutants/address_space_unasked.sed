# Nobody asks whether the libraries of the host backend fit in the address space.
# file: core/run/executor.c
# tests: test_cli_truths
s/if (loaded == NULL) SL_TRY(sl_exec_check_room(name));/if (loaded == NULL \&\& name[0] == 0) SL_TRY(sl_exec_check_room(name));/
