// Queues for cooperative launches: one for all who ask, and never destroyed as what it is not.
#include <cstdlib>

#include "tests/played_hsa_runtime.h"

extern "C" bool OnLoad(void* tables, uint64_t, uint64_t, const char* const*);
extern "C" void OnUnload();

extern "C" __attribute__((visibility("default"))) const char* __asan_default_options() { return "detect_leaks=0"; }

namespace {

hsa_queue_t queue_below{};  // what the GPU has one of
int references = 0;         // to it
int intercepting_destroyed = 0;
hsa_status_t interception = HSA_STATUS_SUCCESS;

hsa_status_t create_plain(hsa_agent_t, uint32_t size, hsa_queue_type32_t type, void (*)(hsa_status_t, hsa_queue_t*, void*),
                          void*, uint32_t, uint32_t, hsa_queue_t** queue) {
  CHECK(type == HSA_QUEUE_TYPE_COOPERATIVE);
  queue_below.size = size;
  ++references;
  *queue = &queue_below;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t create_intercepting(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
                                 void (*callback)(hsa_status_t, hsa_queue_t*, void*), void* data, uint32_t private_bytes,
                                 uint32_t group_bytes, hsa_queue_t** queue) {
  if (interception != HSA_STATUS_SUCCESS) return interception;
  CHECK(references > 0);  // taken before: interception must not be the first to have it
  ++references;
  return intercept_create(agent, size, type, callback, data, private_bytes, group_bytes, queue);
}

hsa_status_t destroy(hsa_queue_t* queue) {
  if (queue == &queue_below) --references;
  else ++intercepting_destroyed;
  return HSA_STATUS_SUCCESS;
}

void load() {
  make_tables();
  core.hsa_queue_create_fn = create_plain;
  core.hsa_queue_destroy_fn = destroy;
  extension.table.hsa_amd_queue_intercept_create_fn = create_intercepting;
  CHECK(OnLoad(&root, 0, 0, nullptr));
}

hsa_queue_t* create() {
  hsa_queue_t* queue = nullptr;
  CHECK(core.hsa_queue_create_fn(kGpu, 1024, HSA_QUEUE_TYPE_COOPERATIVE, nullptr, nullptr, 0, 0, &queue) ==
        HSA_STATUS_SUCCESS);
  return queue;
}

void everybody_gets_the_same_queue() {
  load();
  hsa_queue_t* one = create();
  CHECK(one == &application_queue && create() == one && references == 2);
  CHECK(core.hsa_queue_destroy_fn(one) == HSA_STATUS_SUCCESS);
  CHECK(references == 2 && intercepting_destroyed == 0);
  CHECK(core.hsa_queue_destroy_fn(one) == HSA_STATUS_SUCCESS);
  CHECK(references == 0 && intercepting_destroyed == 0);
  CHECK(create() == one && references == 2);  // a new one
  CHECK(core.hsa_queue_destroy_fn(one) == HSA_STATUS_SUCCESS);
  CHECK(references == 0 && intercepting_destroyed == 0);
  OnUnload();
}

void one_that_cannot_be_intercepted_is_the_plain_one() {
  load();
  interception = HSA_STATUS_ERROR;
  hsa_queue_t* queue = create();
  CHECK(queue == &queue_below && references == 1);
  CHECK(create() == queue && references == 2);
  CHECK(core.hsa_queue_destroy_fn(queue) == HSA_STATUS_SUCCESS && core.hsa_queue_destroy_fn(queue) == HSA_STATUS_SUCCESS);
  CHECK(references == 0);
  interception = HSA_STATUS_SUCCESS;
  OnUnload();
}

// HIP gives its queues back after the exit handlers ran.
void it_holds_after_the_end_of_the_recording() {
  load();
  hsa_queue_t* queue = create();
  Session::finish("exit");
  CHECK(create() == queue && references == 2);
  CHECK(core.hsa_queue_destroy_fn(queue) == HSA_STATUS_SUCCESS && references == 2);
  CHECK(core.hsa_queue_destroy_fn(queue) == HSA_STATUS_SUCCESS);
  CHECK(references == 0 && intercepting_destroyed == 0);
  OnUnload();
}

}  // namespace

int main() {
  char pattern[] = "/tmp/wavescope-shared-XXXXXX";
  folder = mkdtemp(pattern);
  setenv("WAVESCOPE_OUTPUT", folder.c_str(), 1);
  everybody_gets_the_same_queue();
  one_that_cannot_be_intercepted_is_the_plain_one();
  it_holds_after_the_end_of_the_recording();
  return std::system(("rm -r " + folder).c_str());
}
