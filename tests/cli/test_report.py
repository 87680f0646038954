# SPDX-License-Identifier: MIT
"""`batchfeed report`: right figures, and a page that stands by itself."""
import html.parser
import re
import struct


class Page(html.parser.HTMLParser):
    """Checks that what is opened is closed; keeps texts and the attributes of elements."""

    VOID = {"meta", "line"}

    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.text = [], [], ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.text += data + " "


def labelled(write, sequences=600, name="train.ctf"):
    """Sorted by label, one column constant, every third sequence the same as another."""
    rows = []
    for i in range(sequences):
        label = i * 3 // sequences
        rows += [f"{i} |f {i % 2} 7 |l {label}:1"] * (1 + (i % 3 == 0))
    return write(name, "\n".join(rows) + "\n")


def test_the_page_needs_nothing_else_and_is_well_formed(batchfeed, write):
    labelled(write)
    done = batchfeed("report", "train.ctf", "-o", "report.html")
    assert done.code == 0 and done.out == "" and "report.html" in done.err
    text = (batchfeed.folder / "report.html").read_text("utf-8")
    page = Page(text)
    assert text.startswith("<!doctype html>")
    assert not any(tag in ("script", "link", "img", "iframe") for tag, _ in page.elements)
    assert not re.search(r"https?:|url\(|@import", text)
    assert all("aria-label" in attrs for tag, attrs in page.elements if tag == "svg")
    ids = [attrs["id"] for _, attrs in page.elements if "id" in attrs]
    targets = [attrs["href"] for tag, attrs in page.elements if tag == "a"]
    assert len(ids) == len(set(ids)) and {t.removeprefix("#") for t in targets} <= set(ids)
    for heading in ("Advice", "Streams", "Sequences and chunks", "Order and minibatches", "Faults and warnings"):
        assert heading in page.text
    assert "600" in page.text and "800" in page.text


def test_its_figures_are_those_of_the_corpus(batchfeed, write):
    labelled(write)
    report = batchfeed("report", "train.ctf", "--json", "--order", "file", "--minibatch-size", 20).json
    assert (report["sequences"], report["samples"], report["chunks"], report["invalid"]) == (600, 800, 1, 0)
    f, l = report["streams"]
    assert (f["name"], f["min"], f["max"], f["values"], f["constant_columns"]) == ("f", 0, 7, 1600, 1)
    assert l["one_hot"] and [index for index, _ in l["top_indices"]] == [0, 1, 2]
    assert sum(n for _, n in l["top_indices"]) == 800
    # parity, label and length tell sequences apart: 12 kinds
    assert report["duplicates"] == 600 - 12
    mixing = report["mixing"]
    assert mixing["file"] == mixing["configured"] < 1.2 and mixing["full"] > 2
    assert any("poorly mixed" in a["text"] and a["serious"] for a in report["advice"])
    assert any("never change" in a["text"] for a in report["advice"])


def test_mixing_is_not_measured_where_frames_are_drawn_from_utterances(batchfeed, write):
    """Of an utterance the label of its first frame is known, those of others are not."""
    utterances, frames = range(12), 50
    write("f.htk", struct.pack(">iihH600f", 600, 100000, 4, 9, *range(600)))
    write("f.scp", "".join(f"u{u}.htk=f.htk[{u * frames},{(u + 1) * frames - 1}]\n" for u in utterances))
    segments = "".join(f"{i}00000 {i + 1}00000 c{{{i % 2}}}\n" for i in range(frames))
    write("l.mlf", "#!MLF!#\n" + "".join(f'"u{u}"\n' + segments.format(u // 6, 1 - u // 6) + ".\n" for u in utterances))
    write("st", "c0\nc1\n")
    write("r.cntk", """reader = [ frameMode = FRAMES ; randomize = false ; deserializers = (
      [ type = "HTKFeatureDeserializer" ; module = "HTKDeserializers" ; input = [ f = [ dim = 1 ; scpFile = "f.scp" ] ] ] :
      [ type = "HTKMLFDeserializer" ; module = "HTKDeserializers"
        input = [ l = [ dim = 2 ; mlfFile = "l.mlf" ; labelMappingFile = "st" ] ] ] ) ]""".replace("FRAMES", "true"))
    report = batchfeed("report", "r.cntk", "--minibatch-size", 200, "--json").json
    assert report["mixing"] is None
    assert not any("mixed" in a["text"] for a in report["advice"])
    write("r.cntk", (batchfeed.folder / "r.cntk").read_text().replace("true", "false"))
    assert batchfeed("report", "r.cntk", "--minibatch-size", 200, "--json").json["mixing"]["full"] > 1.01


def test_options_of_the_shuffle_count_without_order(batchfeed, write):
    """Without a configuration the page is about `uniform` order, so nothing says that a window changes nothing."""
    write("a.ctf", "|x 1\n|x 2\n")
    for arguments, kind in (([], "window of 128 chunks, the default"), (["--seed", 3], "window of 128 chunks, the default"),
                            (["--window-chunks", 2], "window of 2 chunks, as asked for"), (["--order", "uniform"], "window of 128 chunks, as asked for")):
        done = batchfeed("report", "a.ctf", "--json", *arguments)
        assert done.err == "" and done.json["order"]["kind"] == f"order = uniform, {kind}"
    done = batchfeed("report", "a.ctf", "--json", "--order", "file", "--seed", 3)
    assert "--seed changes nothing" in done.err and done.json["order"]["kind"] == "file order, not shuffled"


def test_a_good_order_gets_no_bad_word(batchfeed, write):
    labelled(write)
    report = batchfeed("report", "train.ctf", "--json", "--order", "uniform", "--minibatch-size", 20).json
    assert report["mixing"]["configured"] > 0.9 * report["mixing"]["full"]
    assert report["order"]["spread"] > 0.9
    assert not any("mixed" in a["text"] for a in report["advice"])


def test_it_reports_faults_and_says_where(batchfeed, write):
    write("bad.ctf", "0 |f 1 2 |l 1:1\n1 |f 1 1e39 |l 1:1\n2 |f 1 x |l 1:1\n")
    report = batchfeed("report", "bad.ctf", "--json").json
    assert (report["faults"], report["warnings"]) == (1, 1)
    assert [f["line"] for f in report["findings"]] == [2, 3]
    assert report["streams"][0]["infinities"] == 1
    assert batchfeed("report", "bad.ctf", "-o", "bad.html").code == 0
    page = Page((batchfeed.folder / "bad.html").read_text("utf-8"))
    assert "bad.ctf:3:" in page.text and "0, 1" in page.text


def test_names_from_outside_do_not_become_markup(batchfeed, write):
    write("x.ctf", "|<b>&\"' 1 2\n")
    batchfeed("report", "x.ctf", "-o", "x.html")
    text = (batchfeed.folder / "x.html").read_text("utf-8")
    assert "<b>&\"" not in text and "&lt;b&gt;&amp;&quot;" in text
    Page(text)


def test_what_bucketing_would_save_is_said(batchfeed, write):
    write("long.ctf", "".join(f"{i} |f {i}\n" * (1 + i * 37 % 40) for i in range(400)))
    report = batchfeed("report", "long.ctf", "--json").json
    assert report["order"]["padding"] > 0.3 > report["order"]["padding_bucketed"]
    assert any("ucketing" in a["text"] for a in report["advice"])


def test_a_page_that_cannot_be_written_is_status_3(batchfeed, write):
    labelled(write, 10)
    done = batchfeed("report", "train.ctf", "-o", "no/such/folder/report.html")
    assert done.code == 3 and "no/such/folder" in done.err


def test_a_page_takes_the_place_of_an_older_one_only(batchfeed, write):
    write("a.ctf", "0 |v 1 2\n")
    write("mine.html", "<!doctype html>\n<title>mine</title>\n"), write("mine.json", batchfeed("stats", "a.ctf", "--json").out)
    for name, more in (("{}.html", ()), ("{}.json", ("--json",))):
        mine = (batchfeed.folder / name.format("mine")).read_text()
        done = batchfeed("report", "a.ctf", "-o", name.format("mine"), *more)
        assert done.code == 2 and "exists already and is no report" in done.err and (batchfeed.folder / name.format("mine")).read_text() == mine
        assert all(batchfeed("report", "a.ctf", "-o", name.format("report"), *more).code == 0 for _ in range(2))


def test_where_there_is_no_page_what_was_found_is_told_all_the_same(batchfeed, write):
    write("list.scp", "a=missing.chunk[0,3]\n")
    done = batchfeed("report", "list.scp", "-o", "x.html")
    assert done.code == 3 and "missing.chunk" in done.err and not (batchfeed.folder / "x.html").exists()


def test_classes_have_the_names_of_their_list(batchfeed, write):
    write("a.mlf", "#!MLF!#\n" + "".join(f'"u{i}.lab"\n0 100000 sil\n100000 {300000 + 100000 * i} aa<b\n.\n' for i in range(20)))
    assert batchfeed("report", "a.mlf", "-o", "report.html").code == 0
    page = (batchfeed.folder / "report.html").read_text()
    assert '<th scope="row">0 aa&lt;b</th>' in page and '<th scope="row">1 sil</th>' in page
    # All begin with silence: there is nothing to mix.
    assert "in a minibatch, on average" not in page and batchfeed("report", "a.mlf", "--json").json["mixing"] is None


def test_what_is_told_before_the_survey_counts_too(batchfeed, write):
    write("a.ctf", "".join(f"{i} |{'w' if i == 11 else 'v'} 1 |t 1:1\n" for i in range(40)))
    report = batchfeed("report", "a.ctf", "--json").json
    assert report["by_id"] == {"ctf.missing-input": 1, "infer.rare-stream": 1}
    assert (report["faults"], report["warnings"], len(report["findings"])) == (1, 1, 2)


def test_nothing_is_advised_of_a_stream_that_could_not_be_read(batchfeed, write):
    write("a.ctf", "".join(f"{i} |v x{' 1' * 120} |t 1\n" for i in range(9)))
    advice = batchfeed("report", "a.ctf", "--json").json["advice"]
    assert advice and all("sparse" not in one["text"] for one in advice)


def test_comments_behind_one_hot_samples_name_their_classes(batchfeed, write):
    rows = [f"{i} |w {i % 7}:1 |# w{i % 7}#|# |l {i % 2}:1 |# {'yes<' if i % 2 else 'no'}\n" for i in range(40)]
    rows += ["40 |w 3:1 |# w3#|#\t|l 1:1\n"] * 30
    write("a.ctf", "".join(rows))
    w, l = batchfeed("report", "a.ctf", "--json").json["streams"]
    assert w["top_names"] == [f"w{i}#|" for i, _ in w["top_indices"]] and l["top_names"] == ["yes<", "no"]
    assert batchfeed("report", "a.ctf", "-o", "a.html").code == 0
    assert '<th scope="row">1 yes&lt;</th>' in (batchfeed.folder / "a.html").read_text()
    assert "most often 1 yes< (" in batchfeed("stats", "a.ctf").out
    # Of a whole line, not of a class: nothing is named.
    write("b.ctf", "".join(f"{i} |l {i % 2}:1 |# line {i}\n" for i in range(9)))
    assert batchfeed("stats", "b.ctf", "--json").json["streams"][0]["top_names"] == []


def test_uneven_classes_are_named(batchfeed, write):
    write("a.ctf", "".join(f"{i} |l {int(i == 9)}:1 |# {'rare' if i == 9 else 'often'}\n" for i in range(40)))
    advice = batchfeed("report", "a.ctf", "--json").json["advice"]
    assert "Classes of 'l' are uneven: '0 often' has 39 samples, '1 rare' 1." in [a["text"] for a in advice]


def test_what_the_packings_pad_is_said(batchfeed, write):
    lengths = [8] + [2] * 4 + [8]
    write("a.ctf", "".join(f"{i} |v 1\n" * n for i, n in enumerate(lengths)))
    order = batchfeed("report", "a.ctf", "--json", "--order", "file", "--minibatch-size", 24).json["order"]
    # Padded, six sequences are 8 long each; in CNTK's layout the four short ones share a row.
    assert order["padding"] == 1 - 24 / 48 and order["padding_cntk_layout"] == 0


def test_what_a_join_drops_and_how_fast_it_reads_is_said(batchfeed, write):
    write("a.ctf", "".join(f"{i} |a 1\n" for i in range(30)))
    write("b.ctf", "".join(f"{i} |b 1\n" for i in range(0, 30, 2)))
    write("two.cntk", "reader = [ deserializers = (" + " : ".join(
        f'[ type = "CNTKTextFormatDeserializer" ; module = "CNTKTextFormatReader" ; file = "{n}.ctf" ; input = [ {n} = [ dim = 1 ; format = "dense" ] ] ]'
        for n in "ab") + ") ]")
    report = batchfeed("report", "two.cntk", "--json").json
    assert report["sequences"] == 15 and any("15 of 30 sequences of 'a' have no partner in 'b'" in t for t in report["left_out_by_join"])
    assert report["pace"]["samples_per_second"] > 0 and report["pace"]["threads"] >= 1
    batchfeed("report", "two.cntk", "-o", "two.html")
    text = Page((batchfeed.folder / "two.html").read_text()).text
    assert "left out by the join" in text and "15 of 30" in text and "text (CTF)" in text and "samples/s" in text
    assert batchfeed("report", "a.ctf", "--json").json["left_out_by_join"] == []


def test_infinite_values_are_told_and_one_value_needs_no_chart(batchfeed, write):
    write("x.ctf", "".join(f"{key} |v {'1e39' if key == 7 else 1} |t {key % 5}:1\n" for key in range(40)))
    assert batchfeed("report", "x.ctf", "-o", "x.html").code == 0
    page = (batchfeed.folder / "x.html").read_text()
    assert "Stream 'v' has 1 infinite value: one of them spoils a gradient." in html.unescape(page)
    assert "Values of v" not in page and "1 to 1, whole numbers" in page
