// SPDX-License-Identifier: MIT
#include <batchfeed/version.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "command.h"

namespace batchfeed::cli {

Run add_version(CLI::App& app, Console&) {
  auto json = std::make_shared<bool>(false);
  add_command(app, "version", "Which batchfeed this is", "batchfeed version\nbatchfeed version --json")
      .add_flag("--json", *json, "As JSON");
  return [json] {
    return put_text(*json ? nlohmann::ordered_json{{"version", BATCHFEED_VERSION}}.dump() + "\n"
                          : std::string("batchfeed " BATCHFEED_VERSION "\n"));
  };
}

}  // namespace batchfeed::cli
