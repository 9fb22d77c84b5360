# What an export leaves out runs together.
# file: cli/export_config.c
# tests: test_cli
s/struct sl_listing listing = {.separator = ", "};/struct sl_listing listing = {.separator = " "};/
