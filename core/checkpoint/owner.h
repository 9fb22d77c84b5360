/* Which job wrote a checkpoint: its manifest begins with the job's name. A job is one training as it was started once,
 * with all its automatic restarts (cli/recovery.h); who resumes by hand begins another. */
#pragma once

#include <stdbool.h>

enum { SL_OWNER_SIZE = 17 }; /* 16 hexadecimal digits and a zero byte */

/* A new name, which no other job has. */
void sl_owner_name(char out[SL_OWNER_SIZE]);
bool sl_owner_is_name(const char *text);
enum sl_owner {
  SL_OWNER_THIS,
  SL_OWNER_OTHER,  /* another job, or a program that named none */
  SL_OWNER_UNKNOWN /* the beginning of its manifest is missing or damaged */
};
/* Has `job` written the checkpoint in the folder `path`? Reads only the beginning of its manifest, which may have many
 * MB. */
enum sl_owner sl_owner_of(const char *path, const char *job);
