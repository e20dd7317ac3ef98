// tests/support/errors.h - returns the exception of a call as a value.
#pragma once

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "attn/error.h"

namespace attn::test {

// The attn::Error that the call throws. Any other exception, or none, fails the test.
template <typename Call>
Error error_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << "more than one line: " << error.what();
    return error;
  } catch (const std::exception& other) {
    ADD_FAILURE() << "not an attn::Error: " << other.what();
    return {"", ""};
  }
  ADD_FAILURE() << "nothing was thrown";
  return {"", ""};
}

// The message of the std::invalid_argument that the call throws.
template <typename Call>
std::string argument_error(const Call& call) {
  try {
    call();
  } catch (const std::invalid_argument& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << "more than one line: " << error.what();
    return error.what();
  } catch (const std::exception& other) {
    return std::string("not a std::invalid_argument: ") + other.what();
  }
  return "nothing was thrown";
}

}  // namespace attn::test
