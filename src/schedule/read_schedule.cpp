#include "base/text_writer.h"
#include "schedule/explicit.h"
#include "targets/table_reader.h"
#include <charconv>

namespace tang::schedule {

using targets::Table;
using targets::TableReader;

namespace {

class ScheduleReader {
public:
  ScheduleReader(const SourceManager& sources, FileId file, Sink& sink)
      : reader_(sources, file, sink) {}

  std::optional<StatedSchedule> read() {
    Table root = reader_.root({"graph", "steps"});
    if (reader_.require(root, "steps")) steps(root);
    return reader_.ok() ? std::optional(std::move(kernels_)) : std::nullopt;
  }

private:
  /// A recurrence has steps of its own; the depth of a table is limited.
  void steps(const Table& parent) {
    for (const Table& step : reader_.tables(
             parent, "steps",
             {"kernel", "emitter", "nodes", "beside", "reason", "variants", "recur", "steps"})) {
      if (step.has("recur") || step.has("steps")) {
        if (reader_.require(step, "steps")) steps(step);
      } else if (reader_.require(step, "kernel") && reader_.require(step, "variants")) {
        kernel(step);
      }
    }
  }

  void kernel(const Table& step) {
    StatedKernel out{reader_.text(step, "kernel"), {}, {}, reader_.place(step, "kernel")};
    if (step.has("emitter")) {
      std::string name = reader_.text(step, "emitter");
      for (plan::Emitter emitter : plan::all_emitters)
        if (plan::name(emitter) == name) out.emitter = emitter;
      if (!out.emitter)
        reader_.report(Kind::table_bad_value, reader_.place(step, "emitter"),
                       "there is no emitter `{}`", name);
    }
    for (const Table& entry : reader_.tables(step, "variants", {"fields", "when"}))
      out.variants.push_back(variant(entry));
    if (out.variants.empty())
      reader_.report(Kind::table_bad_value, reader_.place(step, "variants"),
                     "kernel `{}` has no variant", out.name);
    kernels_.push_back(std::move(out));
  }

  StatedVariant variant(const Table& entry) {
    StatedVariant out{{}, {}, entry.span()};
    if (reader_.require(entry, "fields")) {
      Table fields = reader_.table(entry, "fields",
                                   {
#define TANG_FIELD(type, name, initial, least, greatest, readers, text) #name,
#include "plan/fields.def"
#undef TANG_FIELD
                                   });
#define TANG_FIELD(type, name, initial, least, greatest, readers, text)                            \
  if (fields.has(#name)) value(fields, #name, least, greatest, out.fields.name);
#include "plan/fields.def"
#undef TANG_FIELD
    }
    if (!entry.has("when")) return out;
    for (const targets::Item& item : reader_.texts(entry, "when")) fact(item, out);
    return out;
  }

  void value(const Table& fields, std::string_view name, int, int, bool& out) {
    out = reader_.boolean(fields, name);
  }
  void value(const Table& fields, std::string_view key, plan::Precision, plan::Precision,
             plan::Precision& out) {
    std::string text = reader_.text(fields, key);
    for (plan::Precision precision : plan::all_precisions)
      if (plan::name(precision) == text) {
        out = precision;
        return;
      }
    std::vector<std::string_view> names;
    for (plan::Precision precision : plan::all_precisions) names.push_back(plan::name(precision));
    reader_.report(Kind::table_bad_value, reader_.place(fields, key), "`{}` is one of {}, not `{}`",
                   key, fmt::join(names, ", "), text);
  }
  void value(const Table& fields, std::string_view name, int least, int greatest, int& out) {
    int64_t number = reader_.integer(fields, name);
    if (number < least || number > greatest)
      reader_.report(Kind::table_bad_value, reader_.place(fields, name),
                     "`{}` is {}, and it goes from {} to {}", name, number, least, greatest);
    else
      out = static_cast<int>(number);
  }

  /// `(EXTENT) % N == 0` or `EXTENT <= N`.
  void fact(const targets::Item& item, StatedVariant& out) {
    std::string_view text = item.text;
    auto number = [](std::string_view digits) -> std::optional<int64_t> {
      int64_t value = 0;
      auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
      bool whole = error == std::errc() && end == digits.data() + digits.size() && value > 0;
      return whole ? std::optional(value) : std::nullopt;
    };
    constexpr std::string_view zero = " == 0", divided = ") % ", at_most = " <= ";
    std::optional<int64_t> value;
    StatedFact fact{plan::Fact::Kind::divisible, {}, 1, item.span};
    if (size_t at = text.rfind(divided);
        at != text.npos && text.starts_with("(") && text.ends_with(zero)) {
      size_t begin = at + divided.size();
      fact.extent = text.substr(1, at - 1);
      value = number(text.substr(begin, text.size() - zero.size() - begin));
    } else if (size_t less = text.rfind(at_most); less != text.npos) {
      fact.kind = plan::Fact::Kind::at_most;
      fact.extent = text.substr(0, less);
      value = number(text.substr(less + at_most.size()));
    }
    if (!value) {
      reader_.report(Kind::table_bad_value, item.span, "`{}` is no condition of a variant", text)
          .help("`(N) % 8 == 0` or `N <= 256`, N being an extent of the kernel");
      return;
    }
    fact.value = *value;
    out.when.push_back(std::move(fact));
  }

  TableReader reader_;
  StatedSchedule kernels_;
};

} // namespace

std::optional<StatedSchedule> read_schedule(const SourceManager& sources, FileId file, Sink& sink) {
  return ScheduleReader(sources, file, sink).read();
}

} // namespace tang::schedule
