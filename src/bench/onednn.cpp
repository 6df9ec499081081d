// oneDNN as a peer: found at run time, called through its C interface.
#include "bench/onednn.h"

#include "base/error.h"

namespace twill::bench {

namespace {

constexpr const char* adapter = R"c(/* The primitives that Twill's benchmarks use, behind plain functions. */
#include <dnnl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if DNNL_VERSION_MAJOR != 2
#error "written for oneDNN 2"
#endif

typedef struct {
  dnnl_engine_t engine;
  dnnl_stream_t stream;
  dnnl_primitive_t primitive;
  dnnl_memory_t memory[3];
  int argument[3];
} Job;

void job_end(void *self) {
  Job *job = self;
  if (!job) return;
  for (int i = 0; i < 3; ++i) dnnl_memory_destroy(job->memory[i]);
  dnnl_primitive_destroy(job->primitive);
  dnnl_stream_destroy(job->stream);
  dnnl_engine_destroy(job->engine);
  free(job);
}

static int start(Job *job) {
  return dnnl_engine_create(&job->engine, dnnl_cpu, 0) == dnnl_success &&
         dnnl_stream_create(&job->stream, job->engine, dnnl_stream_default_flags) == dnnl_success;
}

static int finish(Job *job, const_dnnl_op_desc_t desc, const dnnl_memory_desc_t *md) {
  dnnl_primitive_desc_t pd;
  if (dnnl_primitive_desc_create(&pd, desc, NULL, job->engine, NULL) != dnnl_success) return 0;
  const char *name = "";  /* where no kernel fits, a slow reference implementation answers: that is no peer */
  int fine = dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &name) == dnnl_success &&
             strncmp(name, "ref", 3) != 0 && dnnl_primitive_create(&job->primitive, pd) == dnnl_success;
  dnnl_primitive_desc_destroy(pd);
  for (int i = 0; i < 3; ++i)
    fine = fine && dnnl_memory_create(&job->memory[i], &md[i], job->engine, DNNL_MEMORY_NONE) == dnnl_success;
  job->argument[0] = DNNL_ARG_SRC;
  job->argument[1] = DNNL_ARG_WEIGHTS;
  job->argument[2] = DNNL_ARG_DST;
  return fine;
}

void *matmul_begin(int64_t batch, int64_t m, int64_t n, int64_t k) {
  const dnnl_dims_t a = {batch, m, k}, b = {batch, k, n}, c = {batch, m, n};
  dnnl_memory_desc_t md[3];
  dnnl_matmul_desc_t desc;
  Job *job = calloc(1, sizeof *job);
  if (job && start(job) && !dnnl_memory_desc_init_by_tag(&md[0], 3, a, dnnl_f32, dnnl_abc) &&
      !dnnl_memory_desc_init_by_tag(&md[1], 3, b, dnnl_f32, dnnl_abc) &&
      !dnnl_memory_desc_init_by_tag(&md[2], 3, c, dnnl_f32, dnnl_abc) &&
      !dnnl_matmul_desc_init(&desc, &md[0], &md[1], NULL, &md[2]) && finish(job, &desc, md))
    return job;
  job_end(job);
  return NULL;
}

void *convolution_begin(int64_t h, int64_t w, int64_t r, int64_t s) {
  const dnnl_dims_t x = {1, 1, h, w}, f = {1, 1, r, s}, y = {1, 1, h - r + 1, w - s + 1};
  const dnnl_dims_t one = {1, 1}, none = {0, 0};
  dnnl_memory_desc_t md[3];
  dnnl_convolution_desc_t desc;
  Job *job = calloc(1, sizeof *job);
  if (job && start(job) && !dnnl_memory_desc_init_by_tag(&md[0], 4, x, dnnl_f32, dnnl_nchw) &&
      !dnnl_memory_desc_init_by_tag(&md[1], 4, f, dnnl_f32, dnnl_oihw) &&
      !dnnl_memory_desc_init_by_tag(&md[2], 4, y, dnnl_f32, dnnl_nchw) &&
      !dnnl_convolution_forward_desc_init(&desc, dnnl_forward_inference, dnnl_convolution_auto, &md[0], &md[1], NULL,
                                          &md[2], one, none, none) &&
      finish(job, &desc, md))
    return job;
  job_end(job);
  return NULL;
}

void job_run(void *self, const float *a, const float *b, float *c) {
  Job *job = self;
  dnnl_memory_set_data_handle(job->memory[0], (void *)a);
  dnnl_memory_set_data_handle(job->memory[1], (void *)b);
  dnnl_memory_set_data_handle(job->memory[2], c);
  dnnl_exec_arg_t arguments[3];
  for (int i = 0; i < 3; ++i) arguments[i] = (dnnl_exec_arg_t){job->argument[i], job->memory[i]};
  dnnl_primitive_execute(job->primitive, job->stream, 3, arguments);
  dnnl_stream_wait(job->stream);
}
)c";

using Begin = void*(std::int64_t, std::int64_t, std::int64_t, std::int64_t);

}  // namespace

OneDnn::OneDnn(const CompileOptions& options) {
  CompileOptions plain = options;
  plain.flags = {"-std=c11", "-O2", "-fopenmp"};
  plain.libraries = {"-ldnnl"};
  try {
    library_ = compile_and_load(adapter, plain);
  } catch (const Error&) {
    missing_ = "oneDNN 2 is not installed (Debian: apt-get install libdnnl-dev)";
  }
}

OneDnnPrimitive OneDnn::made(void* self) const {
  OneDnnPrimitive primitive;
  if (!self) return primitive;
  primitive.self_ = std::shared_ptr<void>(
      self, [library = *library_](void* job) { library.function<void(void*)>("job_end")(job); });
  primitive.run_ = library_->function<OneDnnPrimitive::Run>("job_run");
  return primitive;
}

OneDnnPrimitive OneDnn::matmul(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k) const {
  return made(library_->function<Begin>("matmul_begin")(batch, m, n, k));
}

OneDnnPrimitive OneDnn::convolution(std::int64_t h, std::int64_t w, std::int64_t r, std::int64_t s) const {
  return made(library_->function<Begin>("convolution_begin")(h, w, r, s));
}

}  // namespace twill::bench
