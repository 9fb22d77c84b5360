# A row of Accelerate's FSDP reduces the gradients of every micro-batch.
# file: table/frameworks.c
# tests: test_table_frameworks
s/                    .no_sync = true},/                    .no_sync = false},/
