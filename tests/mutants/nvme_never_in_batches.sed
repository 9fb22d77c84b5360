# Without overlap_events blocks are sent as soon as there is room all the same.
# file: backend/common/nvme.c
# tests: test_nvme
s/  const bool waits = n->rules.in_batches \&\& way->busy > 0;/  const bool waits = false;/
