// One translator's answers: for each sentence its translations, the best first, and, for the word that has the pointer
// or the focus, the words of the source that it looks at.
import * as api from "./api.js";
import { percent } from "./bars.js";
import { looksOf, placed, wordsOf } from "./words.js";

const STEPS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -Infinity, End: Infinity };
const NAMED = 3;  // words of the source that are named at most
const LEAST = 0.01;  // share of one that is

function element(name, properties = {}, ...children) {
  const one = Object.assign(document.createElement(name), properties);
  one.append(...children);
  return one;
}

export class TranslationPanel {
  // models: by name, as the server describes them; trouble(problem) tells people; changed(panel): another model was
  // chosen.
  constructor(models, chosen, { trouble, changed }) {
    this.models = models;
    this.trouble = trouble;
    this.element = document.getElementById("translation").content.firstElementChild.cloneNode(true);
    const find = (selector) => this.element.querySelector(selector);
    this.select = find("select");
    this.languages = find(".languages");
    this.sentences = find(".sentences");
    this.looks = find(".looks");
    this.took = find(".took");
    for (const name of models.keys()) this.select.add(new Option(name, name));
    this.select.value = chosen;
    this.select.addEventListener("change", () => changed(this));
    this.best = "";
    this.nameLanguages();
  }

  nameLanguages() {
    const { source, target } = this.models.get(this.select.value);
    this.languages.textContent = source && target ? `${source} → ${target}` : "";
  }

  // wish: {lines, best}. What was asked before is not answered any more.
  async show(wish) {
    this.asked?.abort();
    const asked = this.asked = new AbortController();
    this.best = "";
    this.nameLanguages();
    if (!wish || wish.lines.length === 0) return this.fill(null);
    this.element.setAttribute("aria-busy", "true");
    try {
      const start = performance.now();
      const told = await api.translate(this.models.get(this.select.value), wish, asked.signal);
      if (asked.signal.aborted) return;
      this.fill(told);
      this.took.textContent = `${Math.round(performance.now() - start)} ms from question to answer`;
    } catch (problem) {
      if (asked.signal.aborted) return;
      this.fill(null);
      this.trouble(problem);
    } finally {
      if (asked === this.asked) this.element.removeAttribute("aria-busy");
    }
  }

  fill(told) {
    this.looks.textContent = this.took.textContent = "";
    const lines = told?.translations ?? [];
    this.best = lines.map((line) => line.text).join(" ");
    this.sentences.replaceChildren(...lines.map((line) => this.sentence(told, line)));
    if (lines.length > 0) this.looks.textContent = "Point at a word to see where it looks.";
  }

  // The source's words, which are tinted by how much of the attention they get, and the translations below them.
  sentence(told, line) {
    const words = wordsOf(line.source_pieces ?? [], told.pieces);
    const spans = words.map((word) => element("span", { textContent: word.text }));
    const source = element("p", { className: "source", lang: told.source, dir: "auto" });
    spans.forEach((span, i) => source.append(i === 0 ? "" : " ", span));
    const all = [line, ...(line.others ?? [])];
    const list = element("ol", { className: "best" }, ...all.map((one, i) => {
      const name = i === 0 ? "Words of the best translation" : `Words of translation ${i + 1}`;
      return element("li", {}, this.target(one, told, { words, spans }, name),
        element("span", { className: "score", textContent: one.score.toFixed(2), title: "Mean log-probability of a piece" }));
    }));
    list.setAttribute("aria-label", "Translations, the best first");
    return element("li", {}, source, list);
  }

  // One translation, word by word: a list of options, of which the one in the focus or under the pointer is chosen.
  target(one, told, source, name) {
    const box = element("div", { className: "target", lang: told.target, dir: "auto" });
    box.setAttribute("role", "listbox");
    box.setAttribute("aria-orientation", "horizontal");
    box.setAttribute("aria-label", name);
    const options = placed(one.text, wordsOf(one.pieces, told.pieces)).map(({ before, word }, i) => {
      const option = element("span", { textContent: word.text, tabIndex: i === 0 ? 0 : -1 });
      option.setAttribute("role", "option");
      option.setAttribute("aria-selected", "false");
      const look = (on) => {
        option.setAttribute("aria-selected", String(on));
        this.look(on ? word : null, one, source);
      };
      for (const event of ["focus", "pointerenter"]) option.addEventListener(event, () => look(true));
      for (const event of ["blur", "pointerleave"]) option.addEventListener(event, () => look(false));
      box.append(before, option);
      return option;
    });
    box.addEventListener("keydown", (event) => step(event, options));
    return box;
  }

  look(word, { attention }, { words, spans }) {
    const looks = word && attention ? looksOf(word, words, attention) : null;
    const most = looks ? Math.max(...looks.words, 1e-6) : 1;
    spans.forEach((span, i) => span.style.setProperty("--look", looks ? (looks.words[i] / most).toFixed(3) : "0"));
    if (!looks) return;
    const named = looks.words.map((share, i) => ({ text: words[i].text, share }))
      .concat({ text: "the end", share: looks.end })
      .filter(({ share }) => share >= LEAST).sort((a, b) => b.share - a.share).slice(0, NAMED);
    this.looks.textContent = `${word.text}: looks at ${named.map(({ text, share }) => `${text} ${percent(share)}`).join(", ")}`;
  }
}

// From word to word; Tab goes on to what follows.
function step(event, options) {
  const from = options.indexOf(document.activeElement);
  if (from < 0 || !(event.key in STEPS)) return;
  event.preventDefault();
  const to = options[Math.min(Math.max(from + STEPS[event.key], 0), options.length - 1)];
  for (const option of options) option.tabIndex = option === to ? 0 : -1;
  to.focus();
}
