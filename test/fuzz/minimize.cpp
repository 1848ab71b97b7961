#include "minimize.h"

namespace tang::fuzz {

namespace {

/// The position behind the bracket that closes the one at `open`; npos where none does.
size_t end_of_group(const std::string& text, size_t open) {
  int depth = 0;
  for (size_t i = open; i < text.size(); ++i) {
    if (text[i] == '(' || text[i] == '[' || text[i] == '{') ++depth;
    if (text[i] == ')' || text[i] == ']' || text[i] == '}')
      if (--depth == 0) return i + 1;
  }
  return text.npos;
}

/// What may stand for the group: constants, and the groups and words inside it.
std::vector<std::string> parts_of(const std::string& group) {
  std::vector<std::string> parts{"0", "1.0", "true"};
  for (size_t i = 1; i < group.size(); ++i) {
    if (group[i] != '(') continue;
    size_t end = end_of_group(group, i);
    if (end == group.npos) break;
    parts.push_back(group.substr(i, end - i));
    i = end;
  }
  // `(a op b)`: either side.
  for (const char* op : {" + ", " - ", " * ", ", ", " and ", " or ", " < ", " == ", " else "}) {
    size_t at = group.find(op);
    if (at == group.npos) continue;
    parts.push_back("(" + group.substr(1, at - 1) + ")");
    parts.push_back("(" + group.substr(at + std::string_view(op).size()));
  }
  return parts;
}

class Minimizer {
public:
  Minimizer(Case program, const std::function<bool(const Case&)>& still_wrong, int attempts)
      : best_(std::move(program)), still_wrong_(still_wrong), attempts_(attempts) {}

  Case run() {
    bool changed = true;
    while (changed && attempts_ > 0) {
      changed = drop_statements();
      for (size_t s = 0; s < best_.statements.size(); ++s)
        while (attempts_ > 0 && shrink_statement(s)) changed = true;
    }
    return std::move(best_);
  }

private:
  bool accept(Case candidate) {
    if (attempts_-- <= 0 || !still_wrong_(candidate)) return false;
    best_ = std::move(candidate);
    return true;
  }

  bool drop_statements() {
    bool changed = false;
    for (size_t s = best_.statements.size(); s-- > 0;) {
      Case less = best_;
      less.statements.erase(less.statements.begin() + static_cast<std::ptrdiff_t>(s));
      changed = accept(std::move(less)) || changed;
    }
    return changed;
  }

  bool shrink_statement(size_t s) {
    const std::string text = best_.statements[s];
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '(') continue;
      size_t end = end_of_group(text, i);
      if (end == text.npos) return false;
      // A call goes with the word before it: `abs(x)`.
      size_t begin = i;
      while (begin > 0 &&
             (std::isalnum(static_cast<unsigned char>(text[begin - 1])) || text[begin - 1] == '_'))
        --begin;
      for (const std::string& part : parts_of(text.substr(i, end - i))) {
        if (part.size() >= end - begin) continue;
        Case less = best_;
        less.statements[s] = text.substr(0, begin) + part + text.substr(end);
        if (accept(std::move(less))) return true;
      }
    }
    return false;
  }

  Case best_;
  const std::function<bool(const Case&)>& still_wrong_;
  int attempts_;
};

} // namespace

Case minimize(Case program, const std::function<bool(const Case&)>& still_wrong, int attempts) {
  return Minimizer(std::move(program), still_wrong, attempts).run();
}

} // namespace tang::fuzz
