# A job under a preset is not tried under the one that shards more.
# file: cli/changes.c
# tests: test_cli_verdict
s/^  try_presets(&s);$/  if (out->count > SL_CHANGES) try_presets(\&s);/
