# A disk that is too small is told without the buffer that has no room.
# file: backend/common/nvme.c
# tests: test_nvme
s/^  const bool asks = why == ENOSPC \&\& /  const bool asks = why == EIO \&\& /
