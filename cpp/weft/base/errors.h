// Errors that reach the user. Each kind maps to one Python exception class in bind/errors.
#pragma once

#include <exception>
#include <sstream>
#include <string>
#include <utility>

namespace weft::base {

enum class ErrorKind {
  shape,
  dtype,
  index,
  value,
  memory,
  gradient,
  unsupported,
  linalg,
  internal
};

class Error : public std::exception {
 public:
  Error(ErrorKind kind, std::string message) : kind_(kind), message_(std::move(message)) {}
  ErrorKind kind() const { return kind_; }
  const char* what() const noexcept override { return message_.c_str(); }
  const std::string& message() const { return message_; }

 private:
  ErrorKind kind_;
  std::string message_;
};

// Joins its arguments into one text, each as `<<` prints it.
template <class... Parts>
std::string text(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

template <class... Parts>
[[noreturn, gnu::cold, gnu::noinline]] void fail(ErrorKind kind, const Parts&... parts) {
  throw Error(kind, text(parts...));
}

// A broken promise inside Weft itself, never the user's fault.
template <class... Parts>
[[noreturn, gnu::cold, gnu::noinline]] void bug(const Parts&... parts) {
  throw Error(ErrorKind::internal, text(parts..., " (this is a bug in Weft; please report it)"));
}

}  // namespace weft::base
