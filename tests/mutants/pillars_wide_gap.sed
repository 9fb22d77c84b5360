# A gap between two pillars is passed over though it is wide enough.
# file: core/place/pillars.c
# tests: test_pillars
s/all->gap >= bytes || //
