// The steps of a program: launches, recurrences, and the kernels that they name.
#include "base/check.h"
#include "kernel/names.h"
#include "parse/spec/programs.h"
#include <utility>

namespace tang::parse::spec {

using namespace kernel;

namespace {

/// Recurrences in recurrences.
constexpr int deepest_launch = 16;

void for_each_dispatch(std::vector<Step>& steps, const std::function<void(Dispatch&)>& visit) {
  for (Step& step : steps)
    std::visit(Overload{[&](Dispatch& d) { visit(d); },
                        [&](Loop& loop) { for_each_dispatch(loop.body, visit); }},
               step.node);
}

} // namespace

void ProgramReader::lines(std::vector<Step>& steps, bool top) {
  for (;;) {
    cursor_.skip_blank_lines();
    if (cursor_.at_end() || cursor_.at("}")) return;
    size_t start = cursor_.mark();
    if (line(steps, top) && cursor_.end_of_line()) continue;
    if (!cursor_.skip_line(start)) continue;
    std::vector<Step> unused;
    if (++depth_ <= deepest_launch) lines(unused, false);
    --depth_;
    cursor_.accept("}");
  }
}

bool ProgramReader::loop(std::vector<Step>& steps) {
  auto name = cursor_.name("the name of a step");
  if (!name) return false;
  Loop made;
  if (!cursor_.expect("in")) return false;
  Span place = cursor_.here();
  auto begin = cursor_.integer("0");
  if (begin && *begin != 0) cursor_.report(Kind::expected_token, place, "steps count from 0");
  if (begin != 0 || !cursor_.expect("..")) return false;
  made.extent = host("a number of steps");
  if (!made.extent || !cursor_.expect("{")) return false;
  if (depth_ >= deepest_launch) {
    if (!std::exchange(said_deep_, true))
      cursor_.report(Kind::nesting_too_deep, place, "recurrences nest deeper than {} levels",
                     deepest_launch);
    return false;
  }
  std::string text(cursor_.text(*name));
  made.var = program().values.add_var({wished_name(text), Type::i64, 0, {}});
  names_.open();
  if (!names_.add(text, {Entry::Kind::variable, made.var, {}, {}, cursor_.span(*name)}))
    cursor_.report(Kind::duplicate_definition, cursor_.span(*name), "`{}` is defined already",
                   text);
  ++depth_;
  lines(made.body, false);
  --depth_;
  names_.close();
  steps.push_back({std::move(made)});
  return cursor_.expect("}");
}

bool ProgramReader::launch(std::vector<Step>& steps) {
  Span first = cursor_.here();
  // A name for comments and reports, in any words.
  Dispatch made;
  if (cursor_.at("{")) return cursor_.expected("the name of a launch");
  while (!cursor_.at("{") && cursor_.peek().kind != TokenKind::newline && !cursor_.at_end())
    cursor_.take();
  if (!cursor_.at("{")) return cursor_.expected("`{`");
  made.name = cursor_.source(cursor_.since(first));
  cursor_.take();
  for (cursor_.skip_blank_lines(); !cursor_.at("}") && !cursor_.at_end();
       cursor_.skip_blank_lines()) {
    size_t start = cursor_.mark();
    bool term = cursor_.peek().kind == TokenKind::shared;
    if (!(term ? shared_term() : variant(made)) || !cursor_.end_of_line()) cursor_.skip_line(start);
  }
  if (made.variants.empty() && cursor_.sink().ok())
    cursor_.report(Kind::kernel_misfit, first, "a launch without a kernel");
  steps.push_back({std::move(made)});
  return cursor_.expect("}");
}

bool ProgramReader::variant(Dispatch& dispatch) {
  auto name = cursor_.name("the name of a kernel");
  if (!name) return false;
  Variant made;
  if (!cursor_.expect("(") || !bindings(made)) return false;
  if (cursor_.accept("blocks") &&
      (!cursor_.expect("(") || !values_.list(")", made.blocks, "a number of blocks")))
    return false;
  if (cursor_.accept("index")) {
    Span place = cursor_.here();
    auto bits = cursor_.integer("32 or 64");
    if (!bits) return false;
    if (*bits != 32 && *bits != 64) {
      cursor_.report(Kind::expected_token, place, "addresses have 32 or 64 bits");
      return false;
    }
    made.index_bits = static_cast<int>(*bits);
  }
  if (cursor_.accept("if")) {
    made.condition = values_.condition();
    if (!made.condition) return false;
  }
  launched_.push_back({std::string(cursor_.text(*name)), cursor_.span(*name)});
  dispatch.variants.push_back(std::move(made));
  return true;
}

/// `a, b[offset]; scalars)`
bool ProgramReader::bindings(Variant& variant) {
  while (!cursor_.at(";") && !cursor_.at(")")) {
    auto buffer = buffer_named();
    if (!buffer) return false;
    Binding binding{*buffer, {}};
    if (cursor_.accept("[")) {
      binding.offset = host("an offset");
      if (!binding.offset || !cursor_.expect("]")) return false;
    }
    variant.bindings.push_back(binding);
    if (!cursor_.accept(",")) break;
  }
  if (cursor_.accept(";")) return values_.list(")", variant.scalars, "an argument");
  return cursor_.expect(")");
}

void ProgramReader::kernel() {
  ReadKernel made = KernelReader(cursor_, options_).run();
  KernelId id(static_cast<uint32_t>(program().kernels.size()));
  if (!made.kernel.name.empty() && !kernels_.try_emplace(made.kernel.name, id).second)
    cursor_.report(Kind::duplicate_definition, made.name, "two kernels are called `{}`",
                   made.kernel.name);
  program().kernels.push_back(std::move(made.kernel));
  read_.kernels.push_back(std::move(made));
}

/// Names of kernels become kernels; what a launch gives must be what its kernel takes.
void ProgramReader::link() {
  std::vector<std::string> names;
  for (const auto& kernel : kernels_) names.push_back(kernel.first);
  std::sort(names.begin(), names.end());
  std::set<std::string> said;
  for (const Launched& launched : launched_)
    if (!kernels_.contains(launched.kernel) && said.insert(launched.kernel).second)
      cursor_.report(Kind::unknown_name, launched.place, "there is no kernel `{}`", launched.kernel)
          .help(name_help(launched.kernel, "kernel", names));
  if (!cursor_.sink().ok()) return;
  size_t next = 0;
  for_each_dispatch(program().steps, [&](Dispatch& dispatch) {
    for (Variant& variant : dispatch.variants) {
      const Launched& launched = launched_[next++];
      variant.kernel = kernels_.at(launched.kernel);
      const Kernel& kernel = program().kernels[variant.kernel.value];
      if (kernel.index_bits) variant.index_bits = kernel.index_bits;
      auto agree = [&](size_t given, size_t taken, std::string_view what) {
        if (given != taken)
          cursor_.report(Kind::argument_count, launched.place, "`{}` takes {} {} and is given {}",
                         kernel.name, taken, what, given);
      };
      agree(variant.bindings.size(), kernel.params.size(), "tensors");
      agree(variant.scalars.size(), kernel.scalars.size(), "scalars");
      agree(variant.blocks.size(), kernel.blocks.size(), "extents of its grid");
    }
  });
  TANG_CHECK(next == launched_.size(), "launches are out of order");
}

} // namespace tang::parse::spec
