# A folder that does not reach the disk is nobody's trouble.
# file: core/base/new_file.c
# tests: faults_saves
s/errno == EINVAL || errno == ENOTSUP ? SL_OK/errno != 0 ? SL_OK/
