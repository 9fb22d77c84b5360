# Copies to NVMe count as element-wise kernels.
# file: core/run/timeline.c
# tests: test_timeline
s/link ? \&out->copies_s : nvme ? \&out->nvme_s : \&out->busy_s\[i\]/link ? \&out->copies_s : nvme \&\& i < 0 ? \&out->nvme_s : \&out->busy_s[i]/
