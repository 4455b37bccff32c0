#include "core/command_line.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace wavescope {
namespace {

constexpr const char* kLoaderOptionsWithValue[] = {
    "--library-path", "--argv0", "--preload", "--audit", "--inhibit-rpath", "--glibc-hwcaps-prepend", "--glibc-hwcaps-mask",
};

bool is_loader(const std::string& executable) {
  const std::string name = executable.substr(executable.rfind('/') + 1);
  const bool begins = name.rfind("ld-", 0) == 0 || name.rfind("ld.", 0) == 0;
  return begins && name.find(".so") != std::string::npos;
}

std::string quoted(const std::string& argument) {
  const char* plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./=:,+-%@";
  if (!argument.empty() && argument.find_first_not_of(plain) == std::string::npos) return argument;
  std::string out = "'";
  for (const char character : argument) {
    if (character == '\'') out += "'\\''";
    else out += character;
  }
  return out + "'";
}

}  // namespace

std::vector<std::string> split_arguments(const std::string& arguments) {
  std::vector<std::string> split;
  for (std::size_t at = 0; at < arguments.size(); at += split.back().size() + 1) split.emplace_back(arguments.c_str() + at);
  return split;
}

std::vector<std::string> program_arguments(std::vector<std::string> arguments, const std::string& executable) {
  if (!is_loader(executable)) return arguments;
  std::string name;
  std::size_t at = 1;
  while (at < arguments.size() && arguments[at].rfind("--", 0) == 0) {
    const bool takes_value = std::find(std::begin(kLoaderOptionsWithValue), std::end(kLoaderOptionsWithValue),
                                       arguments[at]) != std::end(kLoaderOptionsWithValue);
    if (arguments[at] == "--argv0" && at + 1 < arguments.size()) name = arguments[at + 1];
    at += takes_value ? 2 : 1;
  }
  if (at >= arguments.size()) return arguments;
  arguments.erase(arguments.begin(), arguments.begin() + static_cast<std::ptrdiff_t>(at));
  if (!name.empty()) arguments.front() = name;
  return arguments;
}

std::string shell_command(const std::vector<std::string>& arguments) {
  std::string command;
  for (const std::string& argument : arguments) command += (command.empty() ? "" : " ") + quoted(argument);
  return command;
}

}  // namespace wavescope
