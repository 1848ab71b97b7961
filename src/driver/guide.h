#pragma once
// Texts about the command line, made from the option table.
#include "driver/option_table.h"
#include <string>

namespace tang::driver {

/// What stands on stderr when nothing was asked.
std::string usage_text();
/// `--help` of a verb: what it does, its options by group, examples.
std::string help_text(Verb verb);
/// What an option does, with the words that it takes where its signature does not list them.
std::string option_help(const OptionRow& row);
/// An option with its argument: `-t, --target=T[,T]`.
std::string option_signature(const OptionRow& row);
/// `man`: the page tangc(1) in roff; `bash`, `zsh`, `fish`: completions.
std::string generated_text(const std::string& what);

} // namespace tang::driver
