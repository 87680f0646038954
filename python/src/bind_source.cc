// SPDX-License-Identifier: MIT
#include "bindings.h"
namespace batchfeed::python {
void bind_source(nb::module_&) {}
}  // namespace batchfeed::python
