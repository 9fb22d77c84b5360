# A multiple that pads the vocabulary to as many rows is taken for another plan.
# file: cli/export_config.c
# tests: interop_property
s/const bool alike = .*;/const bool alike = read == is;/
