# The processes of --table outlive the command.
# file: cli/workers.c
# tests: test_predict_table
s/prctl(PR_SET_PDEATHSIG, SIGKILL);//
