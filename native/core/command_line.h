// The command of a process as a person would type it.
#ifndef WAVESCOPE_CORE_COMMAND_LINE_H
#define WAVESCOPE_CORE_COMMAND_LINE_H

#include <string>
#include <vector>

namespace wavescope {

// The strings of /proc/PID/cmdline, where each ends with a zero.
std::vector<std::string> split_arguments(const std::string& arguments);

// The arguments of the program itself: where the executable is a dynamic linker that was told which program to load,
// its own name and options are left out.
std::vector<std::string> program_arguments(std::vector<std::string> arguments, const std::string& executable);

// Arguments as a shell would need them written.
std::string shell_command(const std::vector<std::string>& arguments);

}  // namespace wavescope

#endif
