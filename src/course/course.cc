#include "course/course.h"

#include <algorithm>
#include <new>
#include <sstream>
#include <stdexcept>

#include "attn/error.h"
#include "builtin/lessons.h"
#include "course/json.h"
#include "course/registry.h"

namespace attn::course {

namespace {

Setting setting_of(const Json& json) {
  return {.name = json.at("name"),
          .what = json.at("what"),
          .value = json.at("value"),
          .least = json.at("least"),
          .most = json.at("most"),
          .whole = json.value("whole", true)};
}

// Lines "// [id]" and "# [id]" begin the code of a step; "[]" ends it.
std::map<std::string, std::string> code_of(const std::string& file) {
  std::map<std::string, std::string> parts;
  std::string id;
  std::size_t indent = 0;  // of the marker line, removed from the lines after it
  std::istringstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = std::min(line.find_first_not_of(' '), line.size());
    const std::size_t open = std::min(line.find('[', first), line.size());
    const std::string mark = line.substr(first, open - first);
    if (open < line.size() && line.back() == ']' && (mark == "// " || mark == "# ")) {
      id = line.substr(open + 1, line.size() - open - 2);
      indent = first;
    } else if (!id.empty()) {
      parts[id] += line.substr(std::min(indent, first)) + "\n";
    }
  }
  for (auto& [step, text] : parts) text.erase(text.find_last_not_of('\n') + 2);
  return parts;
}

Lesson read_lesson(const RegisteredLesson& entry) {
  const base::BuiltInFolder* const files = lesson_files(entry.name);
  if (files == nullptr) throw Error(entry.name, "is not a folder in lessons/");
  const base::Folder folder(*files);
  try {
    const Json json = parse_lesson_file(folder.read("lesson.json"));
    Lesson lesson;
    lesson.name = entry.name;
    lesson.minutes = json.at("minutes");
    lesson.before = json.at("before");
    lesson.compute = entry.compute;
    for (const Json& setting : json.value("settings", Json::array())) lesson.input.add(setting_of(setting));
    put(lesson.input, json.value("data", Json::object()), Put::any);
    for (const std::string_view language : kLanguages)
      lesson.scripts[std::string(language)] = parse_script(folder.read(std::string(language) + ".md"));
    for (const char* file : {"steps.cc", "steps.py"})
      if (folder.has(file)) lesson.code[file] = code_of(folder.read(file));
    return lesson;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& wrong) {
    throw Error(folder.name(), wrong.what());
  }
}

}  // namespace

const base::BuiltInFolder* lesson_files(std::string_view name) {
  const auto found = std::ranges::find(builtin::lessons(), name, &base::BuiltInFolder::name);
  return found == builtin::lessons().end() ? nullptr : &*found;
}

const std::vector<Lesson>& lessons() {
  static const std::vector<Lesson> all = [] {
    std::vector<Lesson> read_ones;
    for (const RegisteredLesson& entry : registry()) read_ones.push_back(read_lesson(entry));
    return read_ones;
  }();
  return all;
}

const Lesson* find_lesson(std::string_view name) {
  const auto found = std::ranges::find(lessons(), name, &Lesson::name);
  return found == lessons().end() ? nullptr : &*found;
}

}  // namespace attn::course
