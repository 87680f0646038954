// SPDX-License-Identifier: MIT
#include <batchfeed/version.h>

#include <cstdlib>

#include "arrays.h"
#include "bindings.h"

NB_MODULE(_core, m) {
  using namespace batchfeed::python;
  // What a user still holds when Python ends is no leak; our tests ask.
  nb::set_leak_warnings(std::getenv("BATCHFEED_LEAK_WARNINGS") != nullptr);
  import_numpy();
  m.doc() = "The library behind the package; private.";
  m.attr("version") = BATCHFEED_VERSION;
  m.def("end_begins", &End::begin);
  m.def("end_waits", &End::wait, "seconds"_a, nb::call_guard<Released>());
  bind_arrow(m);
  bind_errors(m);
  bind_files(m);
  bind_options(m);
  bind_config(m);
  bind_batch(m);
  bind_source(m);
  bind_reader(m);
  bind_tools(m);
  bind_writer(m);
}
