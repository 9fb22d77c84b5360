# A framework's allocator asks for segments beyond what the device has and gives none back.
# file: core/place/allocator.c
# tests: test_allocator
s/if (a->capacity > 0 \&\& a->reserved + bytes > a->capacity) give_segments_back/if (a->capacity < 0 \&\& a->reserved + bytes > a->capacity) give_segments_back/
