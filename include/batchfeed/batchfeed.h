// SPDX-License-Identifier: MIT
//
// All of batchfeed.
#pragma once

#include <batchfeed/bench.h>
#include <batchfeed/buffer.h>
#include <batchfeed/compare.h>
#include <batchfeed/config.h>
#include <batchfeed/convert.h>
#include <batchfeed/error.h>
#include <batchfeed/files.h>
#include <batchfeed/find.h>
#include <batchfeed/fix.h>
#include <batchfeed/hint.h>
#include <batchfeed/layout.h>
#include <batchfeed/limits.h>
#include <batchfeed/minibatch.h>
#include <batchfeed/names.h>
#include <batchfeed/options.h>
#include <batchfeed/reader.h>
#include <batchfeed/schema.h>
#include <batchfeed/source.h>
#include <batchfeed/speech_writer.h>
#include <batchfeed/split.h>
#include <batchfeed/subset.h>
#include <batchfeed/survey.h>
#include <batchfeed/tools.h>
#include <batchfeed/version.h>
#include <batchfeed/writer.h>
