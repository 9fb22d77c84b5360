# Rows of today's torchtitan are dealt as those of 2024.
# file: table/inputs.c
# tests: test_table_frameworks
s/strcmp(r->framework_version, "2025-04") > 0/strcmp(r->framework_version, "2925-04") > 0/
