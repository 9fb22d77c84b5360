# With elasticity a rank that died is started again.
# file: cli/recovery.c
# tests: recovery_elastic
s/\*ranks -= ended->rank >= 0;/*ranks -= 0;/
