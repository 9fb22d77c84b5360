/* Streams of random numbers, the second half of Philox's key (kernels/numbers/types.h): equal in every backend, so that every
 * backend draws the same numbers. */
#pragma once

enum { SL_STREAM_DATA = 0x64617461, SL_STREAM_INIT = 0x696e6974, SL_STREAM_DROPOUT = 0x64726f70 };
