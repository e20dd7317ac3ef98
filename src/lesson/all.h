// lesson/all.h - what each lesson computes: a function and a file a lesson.
#pragma once

#include "lesson/course.h"

namespace attn::lesson {

Told rnn_or_attention(const Given& given, const Work& work);
Told dot_product(const Given& given, const Work& work);
Told self_attention(const Given& given, const Work& work);
Told why_scale(const Given& given, const Work& work);
Told shapes(const Given& given, const Work& work);
Told trace(const Given& given, const Work& work);
Told text_attention(const Given& given, const Work& work);
Told multi_head(const Given& given, const Work& work);
Told deep_ml_53(const Given& given, const Work& work);
Told deep_ml_94(const Given& given, const Work& work);
Told masks(const Given& given, const Work& work);
Told cross_attention(const Given& given, const Work& work);
Told translation(const Given& given, const Work& work);
Told relative_position(const Given& given, const Work& work);
Told positional_encoding(const Given& given, const Work& work);
Told linear(const Given& given, const Work& work);
Told speed(const Given& given, const Work& work);
Told transformer(const Given& given, const Work& work);
Told bert(const Given& given, const Work& work);
Told heads(const Given& given, const Work& work);
Told gpt(const Given& given, const Work& work);
Told imdb(const Given& given, const Work& work);
Told demo(const Given& given, const Work& work);
Told interview(const Given& given, const Work& work);

}  // namespace attn::lesson
