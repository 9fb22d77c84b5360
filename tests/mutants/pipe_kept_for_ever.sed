# A library keeps what came from a pipe.
# file: core/base/piped.c
# tests: test_json
s/static bool keeping;/static bool keeping = true;/
