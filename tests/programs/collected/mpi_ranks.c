// mpi_ranks: each rank of an MPI job dispatches 200 + 10 * rank kernels to the first GPU, marks them, and waits for the others.
#include <mpi.h>

#include "dispatching.h"

extern int roctxRangePushA(const char*) __attribute__((weak));
extern int roctxRangePop(void) __attribute__((weak));

int main(int count, char** arguments) {
  int rank = 0, size = 0, sum = 0;
  MPI_Init(&count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  begin();
  hsa_queue_t* queue = new_queue(0, 1024);
  hsa_signal_t last = new_signal(1);
  const int dispatches = 200 + 10 * rank;
  char name[32];
  snprintf(name, sizeof name, "rank %d of %d", rank, size);
  if (roctxRangePushA) roctxRangePushA(name);
  for (int i = 0; i < dispatches; i++) dispatch(queue, 64, i == dispatches - 1 ? last : (hsa_signal_t){0});
  wait_below(last, 1);
  if (roctxRangePop) roctxRangePop();
  MPI_Reduce(&dispatches, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%d\n", sum);
  MPI_Finalize();
  return 0;
}
