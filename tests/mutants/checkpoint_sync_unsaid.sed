# Whether a file of a checkpoint reached the disk is not asked.
# file: core/io/safetensors_write.c
# tests: faults_saves
s/return fsync(writer->fd) == 0 ? SL_OK :/return fsync(writer->fd) <= 0 ? SL_OK :/
