# A value that stands twice is predicted twice.
# file: cli/sweep_axes.c
# tests: test_cli
s/    if (json_object_get(seen, axis->values\[i\]) != NULL)/    if (json_object_get(seen, "") != NULL)/
