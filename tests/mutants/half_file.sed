# A file that could not be written is put in place.
# file: core/base/new_file.c
# tests: test_new_file
s/if (ferror(file->stream) || fflush(file->stream) != 0) return/if (false) return/
