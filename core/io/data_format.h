/* What a file of tokens is, told by its first bytes. */
#pragma once

#include "core/io/data.h"

/* Find out of the open data->file where its tokens stand and how wide they are:
 *
 *   llm.c     256 little-endian int32 {magic, version, tokens, 0...}, then the tokens. Magic 20240520 version 1: uint16 (GPT-2);
 *             20240801 version 7: uint32 (Llama 3). Source: dev/data/data_common.py and llmc/dataloader.h
 *   .npy      an array of integers (npy.h); of two dimensions: row behind row
 *   nanoGPT   named .bin, no header: uint16. Source: data/openwebtext/prepare.py
 *   text      all else: a byte is a token
 *
 * Errors: SL_ERR_INPUT with the file and what was expected: empty, a header that contradicts the size, a .bin that is text or has a header of
 * llm.c's form with another magic number; SL_ERR_IO. */
enum sl_status sl_data_identify(struct sl_data *data);
