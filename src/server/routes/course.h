// server/routes/course.h - routes of the course: lists lessons, computes them with the reader's settings and data, and
// checks answers.
#pragma once

#include "server/http/request.h"
#include "server/http/response.h"
#include "server/store/recording_store.h"

namespace attn::server {

// Limits of the data that a reader may put in place of a lesson's own.
inline constexpr std::int64_t kMostLessonSide = 64;       // rows or columns of an array, and words of a list
inline constexpr std::int64_t kMostLessonNumbers = 4096;  // numbers of an array
inline constexpr std::size_t kMostLessonText = 2000;      // bytes of a text, and of all words of a list

// Each is a row of the table in api.cc. They throw std::invalid_argument (status 400), HttpError and Cancelled.
Response list_lessons(RecordingStore& store, const RoutedRequest& request);
// GET: with the lesson's own data; POST: with the reader's.
Response show_lesson(RecordingStore& store, const RoutedRequest& request);
Response check_lesson(RecordingStore& store, const RoutedRequest& request);

}  // namespace attn::server
