// SPDX-License-Identifier: MIT
#include "bindings.h"
namespace batchfeed::python {
void bind_writer(nb::module_&) {}
}  // namespace batchfeed::python
