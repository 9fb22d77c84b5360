# A device's fitted numbers go to every device.
# file: refit/write.c
# tests: test_profiles
s/strcmp(n->owner, owner) != 0/owner == NULL/
