# An error of a rank's own starts the job again.
# file: cli/ended.c
# tests: recovery_own_error
s/ended->cause >= SL_CAUSE_DEATH/ended->cause >= SL_CAUSE_ERROR/
