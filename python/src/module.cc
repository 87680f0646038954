// SPDX-License-Identifier: MIT
#include <batchfeed/version.h>

#include "bindings.h"

NB_MODULE(_core, m) {
  using namespace batchfeed::python;
  m.doc() = "The library behind the package; private.";
  m.attr("version") = BATCHFEED_VERSION;
  bind_errors(m);
  bind_options(m);
  bind_config(m);
  bind_batch(m);
  bind_source(m);
  bind_reader(m);
  bind_tools(m);
  bind_writer(m);
}
