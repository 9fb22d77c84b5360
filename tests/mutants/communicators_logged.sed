# What PyTorch logs counts communicators, which its allocator does not know.
# file: table/predict.c
# tests: test_table
s/run->reports\[i\].driver_bytes/run->job->plan->cluster->device.context_bytes/
