/* How the ranks of a job agree that all have succeeded, and how the job ends when one has failed. */
#include "backend/cuda/cuda.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

void sl_cuda_claim_end(struct sl_cuda *cuda) {
  while (atomic_flag_test_and_set(&cuda->ending)) nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
}

enum sl_status sl_cuda_die(struct sl_cuda *cuda, enum sl_status status) {
  if (cuda->place.world <= 1) return status;
  sl_cuda_claim_end(cuda);
  if (!strstr(sl_error_message(), " ended the job: "))
    fprintf(stderr, "shardlab: rank %d: %s\n", cuda->rank, sl_error_message());
  fflush(NULL);
  sl_star_abort(&cuda->star, sl_error_message());
  _exit(sl_exit_code(status));
}

enum sl_status sl_cuda_agree(struct sl_cuda *cuda, enum sl_status mine) {
  int culprit;
  if (cuda->place.world <= 1) return mine;
  const enum sl_status status = sl_star_agree(&cuda->star, mine, &culprit);
  if (status == SL_OK) return SL_OK;
  sl_tensors_save_abort(&cuda->tensors);
  if (culprit == cuda->rank) fprintf(stderr, "shardlab: rank %d: %s\n", cuda->rank, sl_error_message());
  fflush(NULL);
  _exit(sl_exit_code(status));
}
