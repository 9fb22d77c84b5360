# The variance is never frozen.
# file: core/program/program.h
# tests: test_cli_onebit onebit_3
s|applied >= config->optimizer.freeze_step;|applied < 0;|
