// Events of the driver.
#include <cerrno>
#include <vector>

#include "softgpu/kfd/kfd_handlers.h"
#include "softgpu/kfd/user_memory.h"

namespace softgpu::kfd {

int create_event(Machine& machine, CreateEventArguments& arguments) {
  const uint32_t event_id = machine.events.create(!arguments.is_auto_reset, false);
  if (!event_id) return ENOSPC;
  arguments.event_id = arguments.slot = arguments.trigger_data = event_id;
  // Runtimes bring a page of their own for the slots; any number above 0 makes them use it.
  if (!arguments.page_offset) arguments.page_offset = 1;
  return 0;
}

int destroy_event(Machine& machine, EventArguments& arguments) {
  machine.events.destroy(arguments.event_id);
  return 0;
}

int set_event(Machine& machine, EventArguments& arguments) {
  machine.events.set(arguments.event_id);
  return 0;
}

int reset_event(Machine& machine, EventArguments& arguments) {
  machine.events.reset(arguments.event_id);
  return 0;
}

int wait_events(Machine& machine, WaitEventsArguments& arguments) {
  if (arguments.event_count > Events::limit) return EINVAL;
  std::vector<EventData> data(arguments.event_count);
  const size_t bytes = data.size() * sizeof(EventData);
  if (!read_user(arguments.events_address, data.data(), bytes)) return EFAULT;
  std::vector<AwaitedEvent> awaited;
  for (const EventData& event : data) {
    if (event.event_id >= Events::limit) return EINVAL;
    awaited.push_back({event.event_id, event.last_age});
  }
  const WaitFor wanted = arguments.waits_for_all ? WaitFor::all : WaitFor::any;
  bool came = machine.events.wait(awaited, wanted, 0);
  if (!came && arguments.timeout_ms) {
    // Only for a wait that sleeps: the runtime's own thread makes very many that do not.
    machine.engine.host_waits();
    came = machine.events.wait(awaited, wanted, arguments.timeout_ms);
  }
  for (size_t index = 0; index < data.size(); ++index) {
    if (data[index].last_age) data[index].last_age = awaited[index].seen_age;
  }
  arguments.result = came ? WaitResult::complete : WaitResult::timeout;
  return write_user(arguments.events_address, data.data(), bytes) ? 0 : EFAULT;
}

}  // namespace softgpu::kfd
