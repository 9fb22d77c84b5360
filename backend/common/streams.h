/* The random number streams, the second half of a Philox key (kernels/numbers/types.h). All backends use these, so that
 * they draw the same numbers. */
#pragma once

enum { SL_STREAM_DATA = 0x64617461, SL_STREAM_INIT = 0x696e6974, SL_STREAM_DROPOUT = 0x64726f70 };
