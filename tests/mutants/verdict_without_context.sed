# A verdict forgets what stands beside the arena.
# file: core/run/fits.c
# tests: test_cli_verdict
s/need = arena + report->context_bytes/need = arena/
