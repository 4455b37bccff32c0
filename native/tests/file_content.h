// The bytes of a file, read in blocks: one by one they take seconds under a sanitizer.
#ifndef WAVESCOPE_TESTS_FILE_CONTENT_H
#define WAVESCOPE_TESTS_FILE_CONTENT_H

#include <fstream>
#include <sstream>
#include <string>

// Nothing where there is no file.
inline std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

#endif
