# A range of which the disk took a part is taken for written.
# file: core/io/direct.c
# tests: faults_saves
s/    bytes += done, offset += done, size -= (size_t)done;/    size = 0;/
