# A write to NVMe clears what else stands on its first page.
# file: backend/common/nvme.c
# tests: test_nvme
s/  if (lo > s->lo) SL_TRY(keep_rest(n, r, s, s->lo, block));/  if (lo > s->lo) memset(block, 0, SL_NVME_PAGE);/
