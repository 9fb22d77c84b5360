# What had the name of a checkpoint before stays under a hidden one.
# file: core/base/new_file.c
# tests: test_checkpoint
s/^  sl_new_file_drop(hidden); .. what had the name before ..$//
