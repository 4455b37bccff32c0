"use strict";
// Looks for the words of `?q=` in the index that search_index.js holds; works from files, too.
(() => {
  const MOST = 30;
  const results = document.getElementById("mkdocs-search-results");
  const query = document.getElementById("mkdocs-search-query");
  if (!results) return;

  const asked = (new URLSearchParams(location.search).get("q") || "").trim();
  const words = asked.toLowerCase().split(/\s+/).filter(Boolean);
  if (query) query.value = asked;

  const count = (text, word) => text.split(word).length - 1;

  /** How well a section fits: 0 unless every word is in it; words of titles count most. */
  function score(section) {
    const title = section.title.toLowerCase();
    const text = section.text.toLowerCase();
    let sum = 0;
    for (const word of words) {
      const found = 20 * count(title, word) + Math.min(count(text, word), 10);
      if (!found) return 0;
      sum += found + (title === word || title === `wavescope ${word}` ? 100 : 0);
    }
    return sum;
  }

  /** The text around the first word. */
  function excerpt(text) {
    const at = Math.max(0, text.toLowerCase().indexOf(words[0]) - 80);
    return (at ? "... " : "") + text.slice(at, at + 240).trim() + (at + 240 < text.length ? " ..." : "");
  }

  function shown(section) {
    const article = document.createElement("article");
    const link = document.createElement("a");
    link.href = section.location;
    link.textContent = section.title;
    const heading = document.createElement("h3");
    heading.append(link);
    const words_around = document.createElement("p");
    words_around.textContent = excerpt(section.text);
    article.append(heading, words_around);
    return article;
  }

  function show() {
    const scored = searchIndex.docs.map((section) => ({ section, score: words.length ? score(section) : 0 }));
    const found = scored.filter((each) => each.score).sort((a, b) => b.score - a.score);
    results.replaceChildren(...found.slice(0, MOST).map((each) => shown(each.section)));
    const summary = document.createElement("p");
    summary.textContent = found.length ? `${found.length} sections` : "Nothing was found.";
    results.prepend(summary);
  }

  const script = document.createElement("script");
  script.src = "search/search_index.js";
  script.addEventListener("load", show);
  document.head.append(script);
})();
