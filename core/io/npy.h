/* NumPy's array files, .npy: a header followed by an array's bytes. */
#pragma once

#include "core/base/file.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* An array of integers in C order: row after row. */
struct sl_npy {
  uint64_t first; /* byte offset of the first element */
  int item_bytes; /* 1, 2, 4 or 8, little-endian */
  bool is_signed;
  int64_t count; /* elements */
};

enum { SL_NPY_MAGIC_BYTES = 6 };
/* Does a file that begins with these SL_NPY_MAGIC_BYTES bytes claim to be one? */
bool sl_npy_claims(const unsigned char *bytes);

/* Reads the header of `file`: versions 1, 2 and 3 of the format, integers of 1 to 8 bytes, little-endian, in C order,
 * of one or two dimensions. Source: numpy/lib/format.py and its NEP 1. Errors: SL_ERR_INPUT with the file and the key
 * for anything else, and for a file size that contradicts the shape; SL_ERR_IO. */
enum sl_status sl_npy_open(const struct sl_file *file, struct sl_npy *out);
/* Writes `count` of these numbers as an array of version 1: <u2 if all fit, else <u4. Errors are left in the stream's
 * error flag. */
void sl_npy_write(FILE *out, const uint32_t *values, int64_t count);
