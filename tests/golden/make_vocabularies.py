#!/usr/bin/env python3
"""Writes vocabularies and what SentencePiece and subword-nmt make of lines with them, for
tests/unit/data/sentences/.

Needs PyPI's sentencepiece (0.1.97, as Debian 12 has it; 0.2.0 gives the same) and subword-nmt (0.3.8).
With --check nothing is written: the stored cases are computed again with the models that are there.
Run from anywhere: tests/golden/make_vocabularies.py
"""
import io
import json
import random
import sys
import tempfile
from pathlib import Path

import sentencepiece
from subword_nmt.apply_bpe import BPE
from subword_nmt.learn_bpe import learn_bpe

FOLDER = Path(__file__).resolve().parents[1] / "unit" / "data" / "sentences" / "data"
SPECIALS = dict(bos_id=0, pad_id=1, eos_id=2, unk_id=3)

WHO = ["a man", "two women", "the small dog", "an old baker", "my sister", "nobody", "ein Mann", "zwei Frauen",
       "der kleine Hund", "eine alte Bäckerin", "meine Schwester", "niemand", "Größere Kinder"]
DOES = ["reads", "is waiting for", "paints", "would have thrown", "überquert", "wartet auf", "trägt", "malte"]
WHAT = ["the red house", "a letter from 1987", "15 apples", "the river's bank", "das rote Haus", "einen Brief",
        "15 Äpfel", "die Straße", "ein Fahrrad"]
WHERE = ["in the rain", "behind a fence", "at 7:30", "im Regen", "hinter dem Zaun", "um 7.30 Uhr", "(again)"]


def text():
    draw = random.Random(1)
    return ["%s %s %s %s%s" % (draw.choice(WHO), draw.choice(DOES), draw.choice(WHAT), draw.choice(WHERE),
                               draw.choice([".", "!", ", too.", " …"])) for _ in range(400)]


ODD = ["", " ", "   a   man   ", "\ta\tman\t", "a\u00a0man", "\u3000a man\u3000", "a\u2581man", "\u2581", "<s>", "</s> a",
       "<unk>", "<pad><pad>", "A\u0308pfel", "e\u0301\u0323", "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd",
       "\u202eabc\u202c", "\u0645\u0631\u062d\u0628\u0627", "\ufdfa", "\ufb01sh", "\u00bd", "\u2026", "\u2460", "\uff21\uff22",
       "\uac00\u1100\u1161", "\u65e5\u672c\u8a9e", "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f600\U0001f600", "\ufeffa man",
       "a\u200bman", "a\x01man\x7f", "a\x1fman", "\u2028a", "x" * 100, "aaaaaaaaaaaaaaaaaaaaaaaa", "ab c", "<url>", "a<url>b",
       "see <url>, <url>", "  <url>  ", "ab cab c", "\ud7ff\ue000\ufffd\uffff", "\U0010ffff", "a  .  b", "1987 15 7:30",
       "GRÖSSERE KINDER", "größere kinder", "\u212b", "\u0130", "a\r", "man.\u0085man"]


def lines():
    draw = random.Random(2)
    found = list(ODD)
    pool = "  aaamntxderwß" + "Äü.,7\u0301\u00a0\u2581日ﬁ<>" + "\U0001f600"
    for _ in range(120):
        found.append("".join(draw.choice(pool) for _ in range(draw.randrange(1, 30))))
    training = text()
    found += [draw.choice(training) for _ in range(20)]
    found += ["".join(draw.sample(line, len(line))) for line in training[:30]]
    return found


def rules():
    """A map of characters of our own: one to several, several to one, one to nothing, to a space."""
    table = [("ß", "ss"), ("Ä", "Ae"), ("ae", "æ"), ("aem", "X"), ("!", ""), ("\u00a0", " "), ("7:30", "half past")]
    return "".join("%s\t%s\n" % (" ".join("%X" % ord(c) for c in a), " ".join("%X" % ord(c) for c in b))
                   for a, b in table)


def models(folder):
    own_rules = folder / "rules.tsv"
    own_rules.write_text(rules(), encoding="utf-8")
    common = dict(SPECIALS, character_coverage=1.0, num_threads=1, minloglevel=2,
                  hard_vocab_limit=False)
    return {
        "bpe": dict(common, model_type="bpe", vocab_size=300),
        "unigram": dict(common, model_type="unigram", vocab_size=250, normalization_rule_name="identity"),
        "bpe_bytes": dict(common, model_type="bpe", vocab_size=450, normalization_rule_name="identity",
                          byte_fallback=True, user_defined_symbols=["<url>", "ab c", "ab"]),
        "bpe_spaces": dict(common, model_type="bpe", vocab_size=250, normalization_rule_name="identity",
                           remove_extra_whitespaces=False, character_coverage=0.99),
        "unigram_rules": dict(common, model_type="unigram", vocab_size=300, normalization_rule_tsv=str(own_rules),
                              treat_whitespace_as_suffix=True, user_defined_symbols=["<url>", "7"],
                              control_symbols=["<2de>"], unk_surface="?"),
        "unigram_bytes": dict(common, model_type="unigram", vocab_size=500, normalization_rule_name="identity",
                              byte_fallback=True, add_dummy_prefix=False, character_coverage=0.98),
    }


def learn(name, options):
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(text()), model_writer=out, **options)
    (FOLDER / (name + ".model")).write_bytes(out.getvalue())


def cases(name):
    processor = sentencepiece.SentencePieceProcessor()
    processor.LoadFromSerializedProto((FOLDER / (name + ".model")).read_bytes())
    draw = random.Random(3)
    random_ids = [[draw.randrange(processor.vocab_size()) for _ in range(draw.randrange(12))] for _ in range(60)]
    return {"name": name,
            "size": processor.vocab_size(),
            "lines": [{"line": line, "ids": processor.encode(line), "text": processor.decode(processor.encode(line))}
                      for line in lines()],
            "ids": [{"ids": ids, "text": processor.decode(ids)} for ids in random_ids]}


def random_codes(draw, version):
    """Merges in an order that no learner gives: what is merged first decides."""
    symbols = ["a", "b", "c", "ä"]
    ends = [s + "</w>" for s in symbols] if version == 2 else ["</w>"]
    merges = []
    for _ in range(40):
        left, right = draw.choice(symbols), draw.choice(symbols + ends)
        merges.append("%s %s" % (left, right))
        (ends if right.endswith("</w>") else symbols).append(left + right)
    return ("#version: 0.2\n" if version == 2 else "") + "\n".join(merges + merges[:3]) + "\n"


def subword_cases():
    learned = io.StringIO()
    learn_bpe(io.StringIO("\n".join(text()) + "\n"), learned, 150)
    draw = random.Random(4)
    found = []
    words = ["".join(draw.choice("aaabbcä") for _ in range(draw.randrange(1, 14))) for _ in range(150)]
    for codes in [learned.getvalue()] + [random_codes(draw, version) for version in (1, 2, 1, 2, 1, 2)]:
        bpe = BPE(io.StringIO(codes))
        some = lines() if len(found) == 0 else [" ".join(words[i:i + 5]) for i in range(0, len(words), 5)]
        some = some + ["a</w> </w> a@@ b", "aaaa aaa aa a", "x" * 50]
        found.append({"codes": codes,
                      "lines": [{"line": line, "text": bpe.process_line(line)} for line in some]})
    return found


def dump(value):
    return json.dumps(value, ensure_ascii=True, indent=0) + "\n"


def main():
    check = "--check" in sys.argv
    FOLDER.mkdir(exist_ok=True, parents=True)
    if not check:
        with tempfile.TemporaryDirectory() as folder:
            for name, options in models(Path(folder)).items():
                learn(name, options)
    names = sorted(path.stem for path in FOLDER.glob("*.model"))
    texts = {"sentencepiece.json": dump([cases(name) for name in names]),
             "subword_nmt.json": dump(subword_cases()),
             "learning.txt": "\n".join(text()) + "\n"}
    for file, found in texts.items():
        if not check:
            (FOLDER / file).write_text(found, encoding="utf-8")
        elif (FOLDER / file).read_text(encoding="utf-8") != found:
            sys.exit("%s differs" % file)


if __name__ == "__main__":
    main()
