# Sums inside a node are over as many sources as there are nodes.
# file: core/lower/quantize.c
# tests: quantized_6
s|\&across, packing, node, nodes)|\&across, packing, nodes, node)|
