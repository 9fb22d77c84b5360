# Simple does not wait for the NIC's flush.
# file: cost/nccl/latency.c
# tests: test_nccl
s/comm->nic_latency \* (proto == SL_NCCL_SIMPLE ? 2 : 1)/comm->nic_latency/
