"""Writes data/translation_scores.json: BLEU and chrF of made-up translations by sacreBLEU (2.6.0).

The sentences are our own: captions as Multi30k has them, and lines that try the rules (entities, digits beside
stops and dashes, spaces of Unicode, marks, right-to-left text, empty lines, too short ones).
"""
import json
import pathlib
import re

from sacrebleu.metrics import BLEU, CHRF

PATH = pathlib.Path(__file__).parent / "data" / "translation_scores.json"

CAPTIONS = [
    ("Ein Mann mit einem orangefarbenen Hut starrt auf etwas.", "Ein Mann mit orangem Hut starrt etwas an."),
    ("Zwei Hunde rennen über eine Wiese.", "Zwei Hunde laufen über die grüne Wiese."),
    ("Eine Frau in rotem Kleid spielt Geige auf der Straße.", "Eine Frau im roten Kleid spielt auf der Straße Geige."),
    ("Drei Kinder bauen am Strand eine Burg aus Sand.", "Drei Kinder bauen am Strand eine Sandburg."),
    ("Ein Junge springt in den See.", "Ein Junge springt in den See."),
    ("Leute stehen vor einem Laden an.", "Menschen stehen vor einem Geschäft Schlange."),
    ("Ein alter Herr liest auf einer Bank die Zeitung.", "Ein älterer Herr sitzt auf einer Parkbank und liest Zeitung."),
    ("Die Köchin schneidet Gemüse in einer kleinen Küche.", "Eine Köchin schneidet in einer engen Küche Gemüse."),
    ("Ein Radfahrer fährt durch den Wald den Hügel hinab.", "Ein Mountainbiker fährt einen Hügel im Wald hinunter."),
    ("Zwei Frauen lachen , während sie Kaffee trinken .", "Zwei Frauen trinken Kaffee und lachen dabei."),
    ("Ein kleines Mädchen hält einen Luftballon.", "Ein kleines Mädchen mit einem Luftballon."),
    ("Mehrere Männer arbeiten auf einem Dach.", "Einige Männer arbeiten an einem Dach."),
    ("Der Schiedsrichter zeigt die gelbe Karte.", "Der Schiedsrichter zeigt dem Spieler die gelbe Karte."),
    ("Eine Katze schläft auf dem Fensterbrett in der Sonne.", "Auf dem Fensterbrett schläft eine Katze in der Sonne."),
    ("Man sieht viele Boote im Hafen.", "Im Hafen liegen viele Boote."),
]
RULES = [
    ("Sie zahlt 3.50 Euro, nicht 1,000.25!", "Sie zahlt 3,50 Euro, nicht 1,000.25."),
    ("Das war 1990-1999, also 9-10 Jahre (etwa).", "Das war von 1990-1999 , also 9 - 10 Jahre (etwa)."),
    ("&quot;Ja&quot; &amp; nein &lt;b&gt; &amp;lt;", '"Ja" & nein <b> <'),
    ("ein <skipped>Wort", "ein Wort"),
    ("U.S.A. und z.B. so ... ,, ende", "USA, z. B. so... , ende"),
    ("a\u00a0b\u2009c\u3000d\u2028e", "a b c d e"),
    ("Tür mit zwei Punkten", "Tu\u0308r mit zwei Punkten"),
    ("שלום, עולם! 12%", "שלום עולם! 12 %"),
    ("他说：“你好”。 ok", "他说：“您好”。 ok"),
    ("e-mail-adresse und schwarz-weiß-rot", "E-Mail-Adresse und schwarz-weiß-rotes"),
    ("x_y [z] {w} ~ ^ `q` \\ | @home #1 $5 50% a+b=c a*b a/b", "x_y [z] {w} ~ ^ `q` \\ | @ home # 1 $ 5 50 % a + b = c"),
    ("ganz kurz", "ganz kurz"),
    ("", "Hier fehlt alles."),
    ("Zu viel.", ""),
    ("so so so so so so", "so la la so"),
    ("\tvorn und hinten  ", "vorn  und hinten"),
    ("Er sagte: „Gut – sehr gut!‘", "Er sagte: „Gut – sehr gut!“"),
    ("😀 👍🏽 ok", "😀 👍 ok"),
]
CORPORA = {
    "captions": CAPTIONS,
    "rules": RULES,
    "all": CAPTIONS + RULES,
    "too short for four": [("ein Hund", "ein Hund"), ("rot", "rot")],
    "nothing right": [("abc def", "ghi jkl mno pqr"), ("stu", "vwx")],
    "two orders without": [("a b c d e f", "a x b y c z"), ("g h", "h g")],
    "one order without": [("a b c q d e f", "a b c r d e f"), ("g h", "h g")],
    "long enough": [("a b c d e f g h", "a b c d")],
    "empty": [("", "")],
    "empty system": [("", "a b c d e")],
}


def split(line):
    return re.sub(rb"(\S)-(\S)", rb"\1 ##AT##-##AT## \2", line.encode()).decode()


def main():
    plain = BLEU(tokenize="none", smooth_method="none", force=True)
    result = {"corpora": [], "tokens": [], "split": []}
    for name, pairs in CORPORA.items():
        system, reference = [s for s, _ in pairs], [r for _, r in pairs]
        bleu, chrf = BLEU(), CHRF()
        score = bleu.corpus_score(system, [reference])
        characters = chrf.corpus_score(system, [reference])
        # Without tokeniser and smoothing; a line of one order less has no logarithm of 0 in its way.
        tokenised = plain.corpus_score(system, [reference])
        halves = plain.corpus_score([split(s) for s in system], [[split(r) for r in reference]])
        result["corpora"].append({
            "name": name, "system": system, "reference": reference,
            "bleu": score.score, "counts": score.counts, "totals": score.totals,
            "system_words": score.sys_len, "reference_words": score.ref_len,
            "chrf": characters.score, "tokenised": tokenised.score, "split": halves.score,
            "sentence_chrf": [chrf.sentence_score(s, [r]).score for s, r in pairs]})
        result["signature"] = str(bleu.get_signature())
        result["chrf_signature"] = str(chrf.get_signature())
    for line in sorted({line for pair in CAPTIONS + RULES for line in pair}):
        result["tokens"].append({"line": line, "tokens": BLEU()._preprocess_segment(line)})
    for line in ["a-b", "a-b-c", "a - b", "-a b- --", "ab-cd-ef gh-i", "schwarz-weiß-rot", "", "-", "a-", "---"]:
        result["split"].append({"line": line, "split": split(line)})
    PATH.write_text(json.dumps(result, ensure_ascii=True, indent=0) + "\n")


if __name__ == "__main__":
    main()
