# A communicator holds no memory of the device.
# file: core/plan/communicators.c
# tests: test_sim test_table
s/ \* device->communicator_bytes/ * 0/
