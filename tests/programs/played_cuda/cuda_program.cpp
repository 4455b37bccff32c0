// A CUDA program in one of several ways to be one: "cuda_program WAY [NUMBER]".
#include "cuda_program.h"

#include <dlfcn.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace {

const char* own_path = nullptr;

void stop_or_go(const char* function) {
  auto* called = reinterpret_cast<int (*)(uint64_t)>(dlsym(RTLD_DEFAULT, function));
  if (called != nullptr) called(0);
}

void* captured_graph(void* stream) {
  void* graph = nullptr;
  check(cudaStreamBeginCapture(stream, 0), "cudaStreamBeginCapture");
  launch(0, stream, 8);
  launch(1, stream, 16);
  launch(0, stream, 8);
  check(cudaMemcpyAsync(nullptr, nullptr, 4096, 3, stream), "cudaMemcpyAsync");
  check(cudaMemsetAsync(nullptr, 0, 512, stream), "cudaMemsetAsync");
  check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
  return graph;
}

void replay_graph(int times) {
  void *stream = nullptr, *exec = nullptr;
  check(cudaStreamCreate(&stream), "cudaStreamCreate");
  void* graph = captured_graph(stream);
  check(cudaGraphInstantiate(&exec, graph, 0), "cudaGraphInstantiate");
  for (int at = 0; at < times; ++at) {
    const Range range("replay");
    check(cudaGraphLaunch(exec, stream), "cudaGraphLaunch");
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }
  check(cudaGraphExecDestroy(exec), "cudaGraphExecDestroy");
  check(cudaGraphDestroy(graph), "cudaGraphDestroy");
}

void copy_and_fill(int times) {
  void* memory = nullptr;
  check(cudaMalloc(&memory, 1 << 20), "cudaMalloc");
  std::vector<char> host(1 << 20);
  for (int at = 0; at < times; ++at) {
    check(cudaMemcpyAsync(memory, host.data(), 1 << 20, 1, nullptr), "to the GPU");
    check(cudaMemsetAsync(memory, at, 1000, nullptr), "cudaMemsetAsync");
    check(cudaMemcpyAsync(memory, memory, 2000, 3, nullptr), "on the GPU");
    check(cudaMemcpyAsync(host.data(), memory, 3000, 2, nullptr), "from the GPU");
    int count = 0;
    check(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
    if (count > 1) check(cudaMemcpyPeerAsync(memory, 1, memory, 0, 4000, nullptr), "to another GPU");
    check(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
  }
  check(cudaFree(memory), "cudaFree");
}

void use_threads(int steps) {
  std::vector<std::thread> threads;
  int count = 0;
  check(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
  for (int at = 0; at < 4; ++at) {
    threads.emplace_back([at, count, steps] {
      check(cudaSetDevice(at % count), "cudaSetDevice");
      run_steps(steps);
    });
  }
  for (auto& thread : threads) thread.join();
}

// Kernels of the driver's modules, each unloaded before the next one takes its place.
void use_modules(int modules) {
  run_steps(1);
  for (int at = 0; at < modules; ++at) {
    void *module = nullptr, *function = nullptr;
    const std::string name = "module_kernel_" + std::to_string(at);
    check(cuModuleLoadData(&module, ""), "cuModuleLoadData");
    check(cuModuleGetFunction(&function, module, name.c_str()), "cuModuleGetFunction");
    check(cuLaunchKernel(function, 3, 2, 1, 64, 1, 1, 0, nullptr, nullptr, nullptr), "cuLaunchKernel");
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    check(cuModuleUnload(module), "cuModuleUnload");
  }
}

void pause_and_resume(int steps) {
  run_steps(steps);
  stop_or_go("roctxProfilerPause");
  run_steps(steps);
  stop_or_go("roctxProfilerResume");
  run_steps(steps);
}

// The same with a graph that was made before the pause.
void pause_with_graph(int steps) {
  void *stream = nullptr, *exec = nullptr;
  check(cudaStreamCreate(&stream), "cudaStreamCreate");
  check(cudaGraphInstantiate(&exec, captured_graph(stream), 0), "cudaGraphInstantiate");
  for (const char* then : {"roctxProfilerPause", "roctxProfilerResume", ""}) {
    for (int step = 0; step < steps; ++step) {
      check(cudaGraphLaunch(exec, stream), "cudaGraphLaunch");
      check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    }
    if (*then != '\0') stop_or_go(then);
  }
}

void launch_waiting(void* exec, void* stream, int times) {
  for (int at = 0; at < times; ++at) {
    check(cudaGraphLaunch(exec, stream), "cudaGraphLaunch");
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    usleep(100);
  }
}

void* executable_of(void* graph) {
  void* exec = nullptr;
  check(cudaGraphInstantiate(&exec, graph, 0), "cudaGraphInstantiate");
  return exec;
}

// Graphs of before a pause, one that is made in it, where another one was, and one of after it.
void pause_with_graphs(int times) {
  void* stream = nullptr;
  check(cudaStreamCreate(&stream), "cudaStreamCreate");
  void* graph = captured_graph(stream);
  void* kept = executable_of(graph);
  void* replaced = executable_of(graph);
  for (int pauses = 0; pauses < 2; ++pauses) {
    launch_waiting(kept, stream, times);
    launch_waiting(replaced, stream, times);
    stop_or_go("roctxProfilerPause");
    launch_waiting(kept, stream, times);
    check(cudaStreamBeginCapture(stream, 0), "cudaStreamBeginCapture");
    launch(1, stream, 16);
    check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
    check(cudaGraphExecDestroy(replaced), "cudaGraphExecDestroy");
    replaced = executable_of(graph);
    launch_waiting(replaced, stream, times);
    stop_or_go("roctxProfilerResume");
    launch_waiting(kept, stream, times);
    launch_waiting(replaced, stream, times);
    launch_waiting(executable_of(captured_graph(stream)), stream, times);
  }
}

void run_child(bool by_exec, int steps) {
  const pid_t child = fork();
  if (child == 0) {
    if (by_exec) execl(own_path, own_path, "steps", std::to_string(steps).c_str(), nullptr);
    run_steps(steps);
    std::exit(7);
  }
  int status = 0;
  waitpid(child, &status, 0);
  run_steps(steps);
  std::printf("child %d\n", WEXITSTATUS(status));
}

// A child of a process that already has CUDA: it cannot use it, and must not harm it.
void fork_late(int steps) {
  run_steps(steps);
  const pid_t child = fork();
  if (child == 0) _exit(5);
  int status = 0;
  waitpid(child, &status, 0);
  run_steps(steps);
  std::printf("child %d\n", WEXITSTATUS(status));
}

void become_another(int steps) {
  run_steps(steps);
  execl(own_path, own_path, "steps", std::to_string(steps).c_str(), nullptr);
}

void fail_sometimes(int steps) {
  run_steps(steps);
  const int wrong = try_launch(0, nullptr, 0);
  const int unknown = cudaLaunchKernel(&wrong, {1, 1, 1}, {32, 1, 1}, nullptr, 0, nullptr);
  std::printf("refused %d %d\n", wrong, unknown);
}

// Runs until somebody ends it.
void wait_to_be_killed(int steps) {
  run_steps(steps);
  std::printf("running\n");
  std::fflush(stdout);
  for (;;) pause();
}

void exit_at_once(int steps) {
  run_steps(steps);
  std::printf("at once\n");
  std::fflush(stdout);
  _exit(9);
}

void kill_itself(int steps) {
  run_steps(steps);
  raise(SIGKILL);
}

uint64_t now_ms() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000 + static_cast<uint64_t>(now.tv_nsec) / 1000000;
}

// For as long as it is told, in ms: kernels, and replays of a graph.
void run_for(int milliseconds) {
  void *stream = nullptr, *exec = nullptr;
  check(cudaStreamCreate(&stream), "cudaStreamCreate");
  check(cudaGraphInstantiate(&exec, captured_graph(stream), 0), "cudaGraphInstantiate");
  const uint64_t end_ms = now_ms() + static_cast<uint64_t>(milliseconds);
  do {
    run_steps(5);
    check(cudaGraphLaunch(exec, stream), "cudaGraphLaunch");
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    usleep(1000);
  } while (now_ms() < end_ms);
}

}  // namespace

int main(int count, char** arguments) {
  const std::map<std::string, void (*)(int)> ways = {
      {"steps", run_steps},
      {"graph", replay_graph},
      {"copies", copy_and_fill},
      {"threads", use_threads},
      {"modules", use_modules},
      {"pause", pause_and_resume},
      {"pause_graph", pause_with_graph},
      {"pause_graphs", pause_with_graphs},
      {"fork", [](int steps) { run_child(false, steps); }},
      {"spawn", [](int steps) { run_child(true, steps); }},
      {"fork_late", fork_late},
      {"exec", become_another},
      {"failures", fail_sometimes},
      {"wait", wait_to_be_killed},
      {"at_once", exit_at_once},
      {"kill", kill_itself},
      {"for", run_for},
  };
  if (count < 2 || ways.count(arguments[1]) == 0) return 2;
  own_path = arguments[0];
  register_kernels();
  ways.at(arguments[1])(count < 3 ? 10 : std::atoi(arguments[2]));
  std::printf("done %s\n", arguments[1]);
  return 3;
}
