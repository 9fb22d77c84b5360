# Lifetimes are sorted by their slots alone.
# file: core/place/place.c
# tests: test_repeat test_reserve
s/(uint64_t)lives\[i\].first << 32 | lives\[i\].slot/(uint64_t)lives[i].slot/
