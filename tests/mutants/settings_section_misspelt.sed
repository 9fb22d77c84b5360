# A misspelt section is not noticed.
# file: core/interop/settings.c
# tests: test_frames
s/siblings >= 0; siblings--/siblings >= 1; siblings--/
