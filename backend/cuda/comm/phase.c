/* How the main thread tells the watch thread (watch.c) what it is doing. */
#include "backend/cuda/cuda.h"
#include "core/base/machine.h"

void sl_cuda_watch_phase(struct sl_cuda *cuda, const char *phase) {
  struct sl_cuda_watch *w = &cuda->watch;
  if (!w->started) return;
  pthread_mutex_lock(&w->lock);
  w->phase = phase;
  w->running = false;
  w->moved_s = sl_machine_clock();
  pthread_mutex_unlock(&w->lock);
}

void sl_cuda_watch_program(struct sl_cuda *cuda, bool running) {
  struct sl_cuda_watch *w = &cuda->watch;
  if (!w->started) return;
  pthread_mutex_lock(&w->lock);
  w->phase = NULL;
  w->running = running;
  w->looked = w->issued = 0;
  w->moved_s = sl_machine_clock();
  pthread_mutex_unlock(&w->lock);
}
