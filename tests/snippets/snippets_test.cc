// SPDX-License-Identifier: MIT
#include "snippets/snippets.h"

// They are written for people: what they only name is not used, and numbers become others as C++ has it.
#pragma GCC diagnostic ignored "-Wunused-variable"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#include "snippets.inc"
