# A preset that shards parameters is told to take stage 3 when they may go to the host.
# file: cli/changes.c
# tests: test_cli_verdict
s/  return config->zero.stage == 3 || config->sl.preset\[0\] != '\\0' ? change/  return config->zero.stage == 3 ? change/
