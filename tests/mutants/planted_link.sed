# A hidden file is opened where something stands already, and through links.
# file: core/base/new_file.c
# tests: test_new_file
s/O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC/O_RDWR | O_CREAT | O_CLOEXEC/; s/^  (void)unlink(hidden);$//
