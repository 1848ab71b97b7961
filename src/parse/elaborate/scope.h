#pragma once
#include "parse/elaborate/body.h"

namespace tang::parse {

/// Restores locals, renames, conditions and frames of a body when it ends.
class Body::Scope {
public:
  explicit Scope(Body& body)
      : b_(body), locals_(body.locals_.size()), conditions_(body.conditions_.size()),
        frames_(body.frames_.size()), renames_(body.frames_.back().renames.size()) {}
  ~Scope() {
    b_.locals_.resize(locals_);
    b_.conditions_.resize(conditions_);
    b_.frames_.resize(frames_);
    b_.frames_.back().renames.resize(renames_);
  }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

private:
  Body& b_;
  size_t locals_, conditions_, frames_, renames_;
};

} // namespace tang::parse
