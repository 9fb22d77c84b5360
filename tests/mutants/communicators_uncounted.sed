# A communicator holds no memory of the device.
# file: sim/sim.c
# tests: test_sim test_table
s/ \* device->communicator_bytes/ * 0/
