# What Open MPI prints when it does not start under a launcher that is not its own reaches the user.
# file: backend/host/open.c
# tests: test_cli_measure
s/if (!is_of_mpirun()) sl_host_hold_begin/if (!is_of_mpirun() \&\& getenv("PMI_RANK") == NULL) sl_host_hold_begin/
