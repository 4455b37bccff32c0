// A session folder for a test, and the records that were left in it.
#ifndef WAVESCOPE_TESTS_RECORDED_SESSION_H
#define WAVESCOPE_TESTS_RECORDED_SESSION_H

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "check.h"
#include "format/chunk_format.h"

template <typename Record>
uint8_t kind_of(const Record& record) {
  return record.kind;
}
inline uint8_t kind_of(const WavescopeGraphOpRecord& record) { return record.op.kind; }

// Must be made before anything is recorded: settings are read once.
class RecordedSession {
 public:
  explicit RecordedSession(const char* mode) {
    char name[] = "/tmp/wavescope-test-XXXXXX";
    CHECK(mkdtemp(name) != nullptr);
    folder_ = name;
    setenv("WAVESCOPE_OUTPUT", name, 1);
    setenv("WAVESCOPE_MODE", mode, 1);
  }
  ~RecordedSession() { std::filesystem::remove_all(folder_); }
  RecordedSession(const RecordedSession&) = delete;
  RecordedSession& operator=(const RecordedSession&) = delete;

  // The completed records of a process, in the order of the file.
  template <typename Record>
  std::vector<Record> records(const char* suffix, int pid = getpid()) const {
    const std::string bytes = content(suffix, pid);
    std::vector<Record> found;
    for (std::size_t at = WAVESCOPE_PAGE_BYTES; at + sizeof(Record) <= bytes.size(); at += sizeof(Record)) {
      Record record;
      std::memcpy(&record, bytes.data() + at, sizeof record);
      if (kind_of(record) != 0) found.push_back(record);
    }
    return found;
  }

  std::map<uint64_t, std::string> texts(int pid = getpid()) const {
    const std::string bytes = content("text", pid);
    std::map<uint64_t, std::string> found;
    for (std::size_t at = 0; at + sizeof(WavescopeTextEntry) <= bytes.size();) {
      WavescopeTextEntry entry;
      std::memcpy(&entry, bytes.data() + at, sizeof entry);
      if (entry.id == 0) break;  // space that is not filled yet
      found[entry.id] = bytes.substr(at + sizeof entry, entry.bytes);
      at += sizeof entry + (entry.bytes + 7) / 8 * 8;
    }
    return found;
  }

  WavescopeStreamHeader header(const char* suffix, int pid = getpid()) const {
    const std::string bytes = content(suffix, pid);
    CHECK(bytes.size() >= WAVESCOPE_PAGE_BYTES);
    WavescopeStreamHeader header;
    std::memcpy(&header, bytes.data(), sizeof header);
    return header;
  }

  // The lines of the facts that contain `part`, in their order.
  std::vector<std::string> facts(const std::string& part, int pid = getpid()) const {
    const std::string bytes = content("facts", pid);
    std::vector<std::string> found;
    for (std::size_t at = 0, end; (end = bytes.find('\n', at)) != std::string::npos; at = end + 1) {
      std::string line = bytes.substr(at, end + 1 - at);
      if (line.find(part) != std::string::npos) found.push_back(std::move(line));
    }
    return found;
  }

 private:
  std::string content(const char* suffix, int pid) const {
    const std::string begin = std::to_string(pid) + "-", end = std::string(".") + suffix;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      const std::string name = entry.path().filename();
      if (name.rfind(begin, 0) != 0 || entry.path().extension() != end) continue;
      std::ifstream file(entry.path(), std::ios::binary);
      std::string bytes(entry.file_size(), '\0');
      file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
      bytes.resize(static_cast<std::size_t>(file.gcount()));
      return bytes;
    }
    return {};
  }

  std::filesystem::path folder_;
};

#endif
