# A process does not learn what earlier ones of its command have warned of.
# file: cli/said.c
# tests: test_said
s|^  if (read(fd, text, sizeof text - 1) > 0) learn(text);|  if (read(fd, text, sizeof text - 1) > 0) text[0] = 0;|
