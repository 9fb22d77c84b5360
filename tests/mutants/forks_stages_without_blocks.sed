# A stage without a block is taken.
# file: core/interop/megatron_stages.c
# tests: test_megatron_forks
s/expressed &= end > begin;/expressed \&= end > begin || true;/
