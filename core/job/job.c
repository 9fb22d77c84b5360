/* From a plan to placed programs, class by class, in three stages: the model's drafts (draft.c), programs (programs.c), places
 * (core/place). See job.h. */
#include "core/job/job.h"

#include "core/job/bounds.h"
#include "core/job/draft.h"
#include "core/job/programs.h"
#include "core/place/place.h"
#include "core/program/memory_report.h"

#include <stdlib.h>

static enum sl_status build_class(struct sl_class *c, const struct sl_plan *plan,
                                  const struct sl_build_options *options, int member) {
  enum sl_status status;
  struct sl_lowering drafted;
  enum sl_scope *scopes = NULL;
  SL_GO(sl_job_draft(&drafted, plan, options, c, member));
  SL_GO(sl_job_lower(c, &scopes, &drafted));
  SL_GO(sl_job_check_bounds(c));
  SL_GO(sl_place_class(plan, scopes, c));
done:
  free(scopes);
  sl_job_draft_free(&drafted);
  return status;
}

enum sl_status sl_job_build(struct sl_job *job, const struct sl_plan *plan, const struct sl_build_options *options) {
  enum sl_status status;
  *job = (struct sl_job){.plan = plan};
  job->classes_per_pp_rank = plan->strategy.units == SL_UNITS_OWNER ? plan->dp : 1;
  job->class_count = plan->pp * job->classes_per_pp_rank;
  SL_GO_FAIL(sl_calloc(&job->classes, (size_t)job->class_count, sizeof *job->classes));
  for (int i = 0; i < job->class_count; i++) {
    const int ranks = plan->world / job->class_count;
    struct sl_class *c = &job->classes[i];
    *c = (struct sl_class){.pp_rank = i / job->classes_per_pp_rank, .rank_count = ranks, .first_rank = i * ranks};
    SL_GO_FAIL(build_class(c, plan, options, job->classes_per_pp_rank > 1 ? i % job->classes_per_pp_rank : -1));
  }
  return SL_OK;
fail:
  sl_job_free(job);
  return status;
}

void sl_job_free(struct sl_job *job) {
  for (int i = 0; job->classes != NULL && i < job->class_count; i++) {
    struct sl_class *c = &job->classes[i];
    for (int k = 0; k < SL_PROGRAM_COUNT; k++) {
      free(c->programs[k].ops);
      free(c->programs[k].slices);
      free(c->programs[k].instances);
      free(c->programs[k].issues);
      free(c->programs[k].waits);
      free(c->programs[k].slots);
    }
    for (int space = 0; c->memory != NULL && space < SL_SPACE_COUNT; space++) free(c->memory[space].curve);
    free(c->memory);
    free(c->buffers);
    free(c->slot_offsets);
  }
  free(job->classes);
  *job = (struct sl_job){0};
}
