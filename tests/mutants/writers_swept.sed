# Who sweeps removes a folder that its writer is about to name.
# file: core/base/new_file.c
# tests: test_new_file
s/sl_remove_unheld(hidden)/sl_remove(hidden)/
