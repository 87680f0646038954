// SPDX-License-Identifier: MIT
#include <batchfeed/version.h>

#include <cstdio>

int main() {
  std::puts("batchfeed " BATCHFEED_VERSION);
  return 0;
}
