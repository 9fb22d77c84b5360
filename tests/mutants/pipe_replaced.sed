# An output takes the place of a FIFO or a device.
# file: core/base/new_file.c
# tests: test_new_file
s/stat(path, &info) != 0 || S_ISREG(info.st_mode)/stat(path, \&info) != 0 || !S_ISDIR(info.st_mode)/
