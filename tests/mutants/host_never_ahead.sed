# A host asks for memory when the device is done with all that it has launched.
# file: core/place/place.c
# tests: test_reserve
s/sl_kernel_set(plan->config->sl.kernels)->host_lead/0/
