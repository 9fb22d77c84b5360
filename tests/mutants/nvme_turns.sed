# A page of NVMe is read while it is written.
# file: backend/common/nvme.c
# tests: test_nvme
s/other != NULL \&\& other->first < r->end/other != NULL \&\& other->first < r->first \&\& r->end < other->first/
