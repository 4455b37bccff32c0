// Runs a fuzz target where there is no libFuzzer: the files of the given folders, then changes of them.
//
// It takes the options of libFuzzer that our runner uses (-runs=N -max_total_time=S -seed=N) and says at the end how many
// inputs it tried. It does not know which code an input reaches; sanitizers and the target's own checks tell what is wrong.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Bytes = std::vector<std::uint8_t>;

struct Options {
  long runs = 1'000;
  double seconds = 0;  // 0: as long as the runs take
  unsigned seed = 1;
  std::string artifacts = "./";
};

const std::uint8_t kEdges[] = {0, 1, 0x7f, 0x80, 0xfe, 0xff, '"', '{', '[', ',', '\\', '-', '9'};

std::size_t below(std::mt19937_64& random, std::size_t count) { return count == 0 ? 0 : random() % count; }

void change_once(std::mt19937_64& random, const std::vector<Bytes>& seeds, Bytes& input) {
  const std::size_t at = below(random, input.size());
  switch (below(random, 7)) {
    case 0:
      if (!input.empty()) input[at] = static_cast<std::uint8_t>(input[at] ^ (1U << below(random, 8)));
      break;
    case 1:
      if (!input.empty()) input[at] = kEdges[below(random, sizeof kEdges)];
      break;
    case 2: input.resize(at); break;
    case 3:
      input.erase(input.begin() + static_cast<long>(at),
                  input.begin() + static_cast<long>(at + below(random, input.size() - at)));
      break;
    case 4:
      input.insert(input.begin() + static_cast<long>(at), 1 + below(random, 40), kEdges[below(random, sizeof kEdges)]);
      break;
    case 5:
      if (input.size() >= 8) {
        const std::uint64_t value = random() >> below(random, 64);
        std::memcpy(input.data() + below(random, input.size() - 7), &value, sizeof value);
      }
      break;
    default: {
      const Bytes& other = seeds[below(random, seeds.size())];
      const std::size_t from = below(random, other.size());
      const std::size_t length = below(random, other.size() - from);
      input.insert(input.begin() + static_cast<long>(at), other.begin() + static_cast<long>(from),
                   other.begin() + static_cast<long>(from + length));
    }
  }
}

Bytes changed(std::mt19937_64& random, const std::vector<Bytes>& seeds) {
  Bytes input = seeds[below(random, seeds.size())];
  for (std::size_t left = 1 + below(random, 6); left > 0; --left) change_once(random, seeds, input);
  if (input.size() > 1 << 16) input.resize(1 << 16);
  return input;
}

// The input lies in a file while it is tried, so that it is there after a crash.
void try_input(const Options& options, const Bytes& input) {
  const std::string path = options.artifacts + "crash-input";
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file != nullptr) {
    std::fwrite(input.data(), 1, input.size(), file);
    std::fclose(file);
  }
  LLVMFuzzerTestOneInput(input.data(), input.size());
  std::remove(path.c_str());
}

Options options_of(const std::vector<std::string>& arguments, std::vector<std::string>& folders) {
  Options options;
  for (const std::string& argument : arguments) {
    const std::size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : argument.substr(equals + 1);
    if (name == "-runs") options.runs = std::atol(value.c_str());
    else if (name == "-max_total_time") options.seconds = std::atof(value.c_str());
    else if (name == "-seed") options.seed = static_cast<unsigned>(std::atol(value.c_str()));
    else if (name == "-artifact_prefix") options.artifacts = value;
    else if (argument[0] != '-') folders.push_back(argument);
  }
  return options;
}

void add_file(const std::filesystem::path& path, std::vector<Bytes>& seeds) {
  std::ifstream stream(path, std::ios::binary);
  seeds.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
}

}  // namespace

int main(int count, char** arguments) {
  std::vector<std::string> folders;
  const Options options = options_of({arguments + 1, arguments + count}, folders);
  std::vector<Bytes> seeds;
  for (const std::string& folder : folders) {
    if (std::filesystem::is_regular_file(folder)) add_file(folder, seeds);
    if (!std::filesystem::is_directory(folder)) continue;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) add_file(entry.path(), seeds);
  }
  for (const Bytes& seed : seeds) try_input(options, seed);
  if (seeds.empty()) seeds.emplace_back();
  std::mt19937_64 random(options.seed);
  const auto start = std::chrono::steady_clock::now();
  long runs = 0;
  for (; options.runs < 0 || runs < options.runs; ++runs) {
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    if (options.seconds > 0 && taken.count() > options.seconds) break;
    try_input(options, changed(random, seeds));
  }
  std::printf("Done %ld runs\n", runs + static_cast<long>(seeds.size()));
  return 0;
}
