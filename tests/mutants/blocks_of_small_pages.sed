# Memory for large blocks is of small pages, scattered over the machine's: the disk gets requests of some hundred KiB.
# file: core/base/machine.c
# tests: test_machine
s/  madvise(out, bytes, MADV_HUGEPAGE);.*//
