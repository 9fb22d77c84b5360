# What is read from NVMe is not held against its checksum.
# file: backend/common/nvme.c
# tests: test_nvme
s/if (!r->write) SL_TRY(check_sums(/if (r->write) SL_TRY(check_sums(/
