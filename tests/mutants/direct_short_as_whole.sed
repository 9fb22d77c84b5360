# A long range of which the disk took a part is taken for written.
# file: core/io/direct.c
# tests: faults_saves
s|    \*done += (size_t)wrote / BLOCK \* BLOCK;|    *done += now;|
