# Order of first use is tried above two percent only.
# file: core/place/arena.c
# tests: test_cli_verdict
s/live_peak \/ 100/live_peak \/ 50/
