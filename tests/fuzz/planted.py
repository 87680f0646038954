# SPDX-License-Identifier: MIT
"""Bugs to plant, one at a time, that the fuzzer of the folder has to find: a table of
what scripts/planted_bugs changes. `was` stands once in the file."""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Bug:
    name: str
    target: str  # build/fuzz/bin/fuzz_TARGET
    file: str
    was: str
    becomes: str


BUGS = [
    Bug("off by one: an index equal to the dimension", "ctf_scan", "src/formats/ctf/scan.h", "index >= room.dim", "index > room.dim"),
    Bug("off by one: a pair behind the last place", "ctf_scan", "src/formats/ctf/scan.h", "if (n == room.capacity) {", "if (n == room.capacity + 32) {"),
    Bug("off by one: any byte for the last blank of a block that looks alike", "ctf_kernels", "src/formats/ctf/easy_blocks.inc",
        "i > behind ? 0xFF", "i >= behind ? 0xFF"),
    Bug("missing bound: whole numbers that there is no room for", "ctf_kernels", "src/formats/ctf/easy_blocks.inc",
        "    if (full - at < n) return {p, at};\n", ""),
    Bug("off by one: a line at the border of two ranges", "ctf_index", "src/formats/ctf/range_index.cc",
        "const std::uint64_t from = inside_ ? begin - 1 : begin;", "const std::uint64_t from = begin;"),
    Bug("wrapped sum: an entry that ends behind the file", "ctf_cache", "src/index_cache/index_cache.cc",
        "e.bytes > size - e.begin", "e.begin + e.bytes > size"),
    Bug("missing bound: a chunk that begins behind the header", "cbf_header", "src/formats/cbf/header.cc",
        "|| static_cast<std::uint64_t>(offset) > data_end) {", ") {"),
    Bug("wrapped product: rows of the chunk table", "cbf_header", "src/formats/cbf/header.cc",
        "if (chunks > left / kRowBytes) {", "if (static_cast<std::uint32_t>(chunks * kRowBytes) > left) {"),
    Bug("missing bound: sequences that a chunk has no room for", "cbf_file", "src/formats/cbf/header.cc",
        "if (row.sequences > (row.end - row.begin) / 4) {", "if (row.sequences > (row.end - row.begin)) {"),
    Bug("missing factor: samples that the chunk has no room for", "cbf_chunk", "src/formats/cbf/decode_dense.cc",
        "if (n > job.feed.left() / width / dim)", "if (n > job.feed.left() / width)"),
    Bug("check of the sign left out", "cbf_chunk", "src/formats/cbf/sparse_rows.h", "return signs >= 0 && sum == count;",
        "return static_cast<std::uint32_t>(sum) == count;"),
    Bug("missing bound: the scales of a compressed file", "htk_archive", "src/formats/htk/header.cc", "if (file.size() < h.data)",
        "if (file.size() < kHeaderBytes)"),
    Bug("wrapped sum: frames of a range", "htk_archive", "src/formats/htk/index.cc",
        "std::uint64_t{u.first} + u.frames <= file.frames) return false;", "u.first + u.frames <= file.frames) return false;"),
    Bug("wrapped sum: length of a range", "htk_scp", "src/formats/htk/scp.cc", "std::uint64_t{last} - entry.first + 1;",
        "std::uint32_t{last} - entry.first + 1;"),
    Bug("missing bound: segments behind the end", "mlf_binary", "src/formats/mlf/binary.cc", 'if (in.left() < bytes) short_of("segments");', ""),
    Bug("sum of segments not compared from below", "mlf_binary", "src/formats/mlf/binary.cc", "if (sum != frames)", "if (sum > frames)"),
    Bug("off by one: a column more than there is room for", "mlf_text", "src/formats/mlf/labels.cc", "while (count_ < kColumns) {", "while (count_ <= kColumns) {"),
    Bug("wrapped product: rows times columns", "kaldi_ark", "src/formats/kaldi/ark.cc",
        "const std::uint64_t values = item.rows * item.cols;  // both below 2^31",
        "const std::uint64_t values = static_cast<std::uint32_t>(item.rows * item.cols);"),
    Bug("rows of a part counted from the chunk", "join_join", "src/join/secondary.cc",
        "copy_row(wanted.repeat || broadcast, &from_column, at.row - part.first, length,",
        "copy_row(wanted.repeat || broadcast, &from_column, at.row, length,"),
    Bug("damage of a partner forgotten where there is some already", "join_join", "src/join/secondary.cc",
        "out.invalid[r] = std::max(out.invalid[r], part.chunk().invalid[row]);",
        "if (out.invalid[r] != Chunk::kValid) out.invalid[r] = part.chunk().invalid[row];"),
    Bug("rows of a chunk that is all damaged taken for those of the next", "reader_pipeline", "src/reader/producer.cc",
        "if (out.slices[0].chunk != &held_[id]->chunk) return;", ""),
    Bug("place behind a batch that gave some away to the last", "reader_pipeline", "src/reader/sequence_planner.cc",
        "now_.batch.position -= item->samples;", "static_cast<void>(item);"),
    Bug("samples that were given counted as waiting in a row again", "reader_pipeline", "src/reader/truncated_planner.cc",
        "    row.available -= row.cursor;\n  }\n}", "  }\n}"),
    Bug("missing bound: more given of a waiting sequence than it has", "reader_state", "src/reader/truncated_planner.cc",
        "    if (row.empty() ? row.cursor != 0 : row.cursor >= row.drawn.front().length) QueueFields::damaged();\n", ""),
    Bug("missing bound: a quote without an end", "config_config", "src/config/parse.cc", "if (close == std::string_view::npos) unclosed(open);", ""),
    Bug("missing bound: frames that a seek table has no room for", "compressed_unpack", "src/compressed/seek_table.cc",
        'if (bytes > file.size - kHeader - kFooter) bad("its seek table lists more frames than the file can hold");', ""),
    Bug("samples of a sequence a value apart", "tools_convert", "src/formats/ctf/write.cc", "c.begin[row] + i * c.step", "c.begin[row] + i"),
]
