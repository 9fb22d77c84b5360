# Of the ranks of a node only the last is counted.
# file: core/run/fits.c
# tests: test_cli_verdict
s/    sum += of_node/    sum = of_node/
