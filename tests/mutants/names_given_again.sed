# Keys that a section may have are listed once for each section of that path.
# file: core/config/read.c
# tests: test_config
s/if (strcmp(names\[i\], name) == 0) return n;/if (names[i] == NULL) return n;/
