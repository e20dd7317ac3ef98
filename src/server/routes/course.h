// server/routes/course.h - the course: its lessons, computed with what the reader has changed, and the answers given
// checked.
#pragma once

#include "server/http/request.h"
#include "server/http/response.h"
#include "server/store/recording_store.h"

namespace attn::server {

// Of what a reader puts in the place of a lesson's own data.
inline constexpr std::int64_t kMostLessonSide = 64;       // of an array, and words of a list
inline constexpr std::int64_t kMostLessonNumbers = 4096;  // of an array
inline constexpr std::size_t kMostLessonText = 2000;      // bytes of a text, and of a list together

// Each is a row of the table in api.cc. They throw std::invalid_argument (status 400), HttpError and Cancelled.
Response list_lessons(RecordingStore& store, const RoutedRequest& request);
// GET: with its own data; POST: with the reader's.
Response tell_lesson(RecordingStore& store, const RoutedRequest& request);
Response check_lesson(RecordingStore& store, const RoutedRequest& request);

}  // namespace attn::server
