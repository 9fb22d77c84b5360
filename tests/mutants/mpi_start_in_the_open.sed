# What Open MPI prints when it does not start reaches the user.
# file: backend/host/open.c
# tests: test_cli_measure
s/if (!is_of_mpirun()) sl_host_hold_begin/if (getenv("PMI_RANK") != NULL && getenv("PMI_SIZE") == NULL) sl_host_hold_begin/
