# Of several ranks the last one to meet a number that is not finite is named, not the first.
# file: core/run/executor.c
# tests: test_cli_measure
s/all\[i\].at_s >= first->at_s/all[i].at_s <= first->at_s/
