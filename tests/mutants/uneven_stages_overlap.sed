# Every stage but the first begins as if all had as many layers as the first.
# file: core/plan/stages.c
# tests: grid3d_2 grid3d_3 grid3d_4
s/layer += (int)counts\[i\];/layer += (int)counts[0];/
