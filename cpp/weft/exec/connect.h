// Tells the lower layers what they cannot know by themselves.
#pragma once

namespace weft::exec {

// Once, before anything is recorded. What knows Python (positions, fibers) is bind's to add.
void connect();

}  // namespace weft::exec
