# A multiple that pads the vocabulary to as many rows is taken for another plan.
# file: cli/export_config.c
# tests: test_cli_accelerate
s|const bool alike = .*;|const bool alike = rows >= 0 \&\& read == is;|
