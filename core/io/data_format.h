/* Recognises the format of a file of tokens by its first bytes. */
#pragma once

#include "core/io/data.h"

/* Finds out where the tokens of the open data->file begin and how wide they are:
 *
 *   llm.c     256 little-endian int32 {magic, version, tokens, 0...}, then the tokens. Magic 20240520 version 1: uint16
 *             (GPT-2); 20240801 version 7: uint32 (Llama 3). Source: dev/data/data_common.py and llmc/dataloader.h
 *   .npy      an array of integers (npy.h); of two dimensions: row after row
 *   nanoGPT   named .bin, no header: uint16. Source: data/openwebtext/prepare.py
 *   text      everything else: a byte is a token
 *
 * Errors: SL_ERR_INPUT with the file and what was expected: an empty file, a header that contradicts the size, a .bin
 * that is text or has a header of llm.c's form with another magic number; SL_ERR_IO. */
enum sl_status sl_data_identify(struct sl_data *data);
