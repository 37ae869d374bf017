// Makes words of the pieces that a translator works with, so that people see where a word looks and not where a half of
// one does.

const SILENT = new Set(["<s>", "<pad>", "</s>"]);

// Of each word its text and the numbers of its pieces. kind: how the server's vocabulary cuts. The end of the sentence
// is no word.
export function wordsOf(pieces, kind) {
  const words = [];
  const add = (text, piece) => words.push({ text, pieces: [piece] });
  const go = (text, piece) => {
    const word = words[words.length - 1];
    word.text += text;
    word.pieces.push(piece);
  };
  let open = false;  // whether what comes belongs to the last word
  pieces.forEach((piece, i) => {
    if (SILENT.has(piece)) return;
    if (kind === "sentencepiece") {
      if (piece.startsWith("▁") || words.length === 0) add(piece.replace(/^▁/, ""), i);
      else go(piece, i);
    } else {
      const more = kind === "bpe" && piece.endsWith("@@");
      const text = more ? piece.slice(0, -2) : piece;
      if (open) go(text, i);
      else add(text, i);
      open = more;
    }
  });
  const spoken = words.filter((word) => word.text !== "");
  // Languages without spaces: a piece is as good as a word.
  if (kind === "sentencepiece" && spoken.length === 1 && pieces.length > 4)
    return pieces.map((piece, i) => ({ text: piece.replaceAll("▁", ""), pieces: [i] }))
      .filter(({ text }) => text !== "" && !SILENT.has(text));
  return spoken;
}

// Of one word of the translation the shares of the source's words, and what goes to the end of the source, by adding
// up pieces; the mean over the word's own.
export function looksOf(word, sourceWords, attention) {
  const rows = word.pieces.map((piece) => attention[piece]);
  const share = (piece) => rows.reduce((sum, row) => sum + row[piece], 0) / rows.length;
  const words = sourceWords.map((one) => one.pieces.reduce((sum, piece) => sum + share(piece), 0));
  return { words, end: share(rows[0].length - 1) };
}

// The text in turns of what stands between words and words, or the words with spaces where they are written otherwise
// in it.
export function placed(text, words) {
  const parts = [];
  let at = 0;
  for (const word of words) {
    const found = text.indexOf(word.text, at);
    if (found < 0) return words.map((one, i) => ({ before: i === 0 ? "" : " ", word: one }));
    parts.push({ before: text.slice(at, found), word });
    at = found + word.text.length;
  }
  return parts;
}
