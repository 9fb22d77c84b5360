# A framework's allocator asks for segments beyond what the device has and gives none back.
# file: core/place/allocator.c
# tests: test_allocator
s/if (a->limit > 0 \&\& a->reserved + size > a->limit) give_segments_back/if (a->limit < 0) give_segments_back/
