# SPDX-License-Identifier: MIT
"""Small files of which one byte could cost much time, or memory, entered among those of make_hostile.py:
`add(name, outcome, words, write)`. test_hostile.py measures them."""

from corpus import ctf_config, mlf_binary, mlf_utterance

MEBIBYTE = 1 << 20
PATIENT = "maxErrors = 1000000000 ;"  # all damage is passed over


def enter(add, ctf, binary, config, speech, alone, kaldi_scp):
    """The names of what was entered."""
    names = []

    def costly(name, outcome, words, write):
        names.append(name)
        add(name, outcome, words, write)

    # A fault for each byte, or few, of a text.
    for name, line in (("bars", b"|" * MEBIBYTE), ("bars_behind_an_id", b"0 " + b"|" * MEBIBYTE), ("bars_in_lines", b"||||\n" * (MEBIBYTE // 5)),
                       ("bad_bytes", b"0 |a 1 2 |b 0:1\n" + b"x\n" * (MEBIBYTE // 2)), ("ids", b"0 0 0\n" * (MEBIBYTE // 6)),
                       ("nul_bytes", b"0 |a 1 2 |b 0:1\n" + b"\0\n" * (MEBIBYTE // 2)), ("names_alone", b"0 " + b"|a" * (MEBIBYTE // 2)),
                       ("bad_numbers", b"0 " + b"|a x" * (MEBIBYTE // 4)), ("sequences_that_lack_a_stream", b"0|a\n1|a\n" * (MEBIBYTE // 8))):
        costly(f"ctf_of_{name}", "ok" if name == "nul_bytes" else "passed over", "", ctf(line + b"\n", deserializer=PATIENT))

    # Memory for what is not there: a thousand streams of which a sequence has one, or rows of which nearly all is filled up.
    def streams(n, dim):
        return " ; ".join(f's{i} = [ dim = {dim} ; format = "dense" ]' for i in range(n))

    lone = b"".join(b"%d |s%d 1\n" % (i, i % 1023) for i in range(8000))
    costly("ctf_of_a_thousand_streams_one_at_a_time", "limit", "implied_samples", ctf(lone, streams=streams(1023, 1), deserializer=PATIENT))
    costly("ctf_of_a_thousand_streams_and_bars", "passed over", "", ctf(b"0 " + b"|" * MEBIBYTE + b"\n", streams=streams(1023, 1), deserializer=PATIENT))
    short = b"".join(b"%d %s\n" % (i, b" ".join(b"|s%d 1" % j for j in range(8))) for i in range(800))
    costly("ctf_of_eight_streams_of_short_rows", "limit", "implied_samples", ctf(short, streams=streams(8, 10_000)))

    # Labels: a run of frames takes a few bytes, whatever its length.
    def labels(n, frames, step=1):
        return b"#!MLF!#\n" + b"".join(b'"u%d.lab"\n0 %d00000 s0\n.\n' % (i, frames) for i in range(n)[::step])

    costly("mlf_of_4000_frames_without_features", "either", "", speech(mlf=labels(7000, 4000)))
    scp = b"".join(b"u%d=u.htk[0,3]\n" % i for i in range(7000))
    for frame_mode in ("false", "true"):
        for order, labelled in (("", labels(7000, 4000)), ("_backwards", labels(7000, 4000, -1))):
            costly(f"mlf_of_4000_frames_{'in_frames' if frame_mode == 'true' else 'beside_four'}{order}", "ok", "",
                   speech(mlf=labelled, scp=scp, frame_mode=frame_mode))
    costly("mlf_of_runs", "ok", "", alone("data.mlf", mlf_binary(b"".join(mlf_utterance(b"u%d" % i, [(0, 800)]) for i in range(50_000)))))
    costly("mlf_of_many_runs", "ok", "", alone("data.mlf", mlf_binary(b"".join(mlf_utterance(b"u%d" % i, [(0, 300)] * 10) for i in range(18_000)))))
    others = labels(3000, 1)
    costly("mlf_of_hours_in_a_line", "limit", "label_ratio", speech(mlf=others + b'"u.lab"\n0 300000000000 s0\n.\n'))

    # Lists of files that are not there, and archives of very many texts.
    costly("scp_of_one_name", "either", "", speech(scp=b"x.htk\n" * (MEBIBYTE // 6)))
    costly("scp_of_files_that_are_missing", "either", "", speech(scp=b"".join(b"u%d=v%d[0,3]\n" % (i, i) for i in range(50_000))))
    costly("scp_of_lines_that_end_in_cr", "either", "", speech(scp=b"\r" * 4 * MEBIBYTE))
    costly("scp_of_files_below_long_folders", "io", "", speech(scp=b"".join(b"u%d=%sv%d[0,3]\n" % (i, b"./" * 2000, i) for i in range(1000))))
    costly("scp_of_a_long_prefix", "io", "the path has", speech(scp=b"".join(b"u%d=v%d[0,3]\n" % (i, i) for i in range(4000)),
                                                                features=f'prefixPathInSCP = "{"p" * 150_000}"'))
    costly("ark_of_texts", "ok", "", alone("data.ark", b"".join(b"u%d [ 1 ]\n" % i for i in range(75_000))))
    costly("ark_of_texts_without_rows", "format", "no utterance", alone("data.ark", b"u [ ]\n" * (MEBIBYTE // 6)))

    # Configurations: what few bytes of one could be multiplied by.
    stream = "Test = [ reader = [ %s deserializers = ( %s ) ] ]"
    text = '[ type = "CNTKTextFormatDeserializer" ; module = "CNTKTextFormatReader" ; file = "data.ctf" ; input = [ s%d = [ alias = a ; dim = 2 ; format = "dense" ] ] ]'
    costly("config_of_many_sources", "limit", "streams", config(stream % ("randomize = false ;", " : ".join(text % i for i in range(8000)))))
    costly("config_of_some_sources", "ok", "", config(stream % ("randomize = false ;", " : ".join(text % i for i in range(250)))))
    costly("config_of_elements", "limit", "config_expansions", config(stream % ("", ":".join("x" * MEBIBYTE))))
    costly("config_of_elements_repeated", "limit", "config_expansions", config(stream % ("", ":".join(["x*100000"] * 20))))
    sizes = ctf_config().rstrip()[:-1] + "SGD = [ minibatchSize = %s ]\n]\n"
    costly("config_of_sizes_repeated", "passed over", "", config(sizes % ":".join(["5*100000"] * 20)))
    costly("config_of_keys", "ok", "", config(ctf_config() + "Z = [" + ";".join("%x" % i for i in range(300_000)) + "]\n"))
    reader = "S%d = [ reader = [ %s ] ]\n"
    long = "v0 = " + "x" * 10_000 + "\n" + "".join(f"v{i} = {f'$v{i - 1}$' * 4}\n" for i in range(1, 5))
    costly("config_of_readers", "limit", "streams", config("".join(reader % (i, "file = f ; input = []") for i in range(30_000))))
    costly("config_of_long_variables", "config", "", config(long + "".join(reader % (i, "file = $v4$ ; input = []") for i in range(400))))
    costly("config_of_elements_of_many_sources", "limit", "config_expansions", config(stream % ("", " : ".join(
        text.replace('file = "data.ctf"', 'files = ( "a*100000" )') % i for i in range(60)))))
    costly("config_of_an_inherited_text", "limit", "config_bytes", config(
        'Test = [ reader = [ readerType = "HTKDeserializers"\nprefixPathInSCP = "' + "p" * 2 * MEBIBYTE + '"\n' +
        "".join(f"f{i} = [ scpFile = s ; dim = 3 ]\n" for i in range(300)) + "] ]\n"))
    costly("config_of_readers_below_a_long_key", "limit", "name_bytes", config(
        "K" * 2 * MEBIBYTE + " = [" + ";".join(f"r{i}=[readerType=x]" for i in range(60_000)) + "]\n"))
    costly("config_of_sections_below_a_long_key", "ok", "", config(
        "K" * 2 * MEBIBYTE + " = [" + ";".join(f"a{i}=[]" for i in range(20_000)) + "]\n" + ctf_config()))

    def listed(name, lines):
        def write(folder):
            labels = '[ type = "HTKFeatureDeserializer" ; module = "HTKDeserializers" ; input = [ f = [ dim = 3 ; scpFile = s ] ] ] : ' \
                     f'[ type = "HTKMLFDeserializer" ; module = "HTKDeserializers" ; input = [ l = [ labelDim = 3 ; mlfFileList = "{name}" ] ] ]'
            config(stream % ("", labels))(folder)
            (folder / "list.txt").write_bytes(lines)
        return write

    costly("mlf_list_of_four_mebibyte", "limit", "config_expansions", listed("list.txt", b"a\n" * 2 * MEBIBYTE))
    costly("mlf_list_of_a_long_name", "either", "", listed("./" * 500 + "list.txt", b"a\n" * 100_000))
    doubled = "v0 = x\n" + "".join(f"v{i} = {f'$v{i - 1}$' * 2}\n" for i in range(1, 64))
    costly("config_of_doubled_variables", "limit", "config_depth", config(doubled + reader % (0, "file = $v63$ ; input = []")))
    costly("config_of_unknown_variables", "config", "", config("v = " + "$x$" * 300_000 + "\n" + reader % (0, "file = $v$ ; input = []")))
    costly("config_of_deep_sections", "ok", "", config("A = [" * 28 + "k = " + "x" * 2 * MEBIBYTE + "]" * 28 + "\n" + ctf_config()))
    return names
